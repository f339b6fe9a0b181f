"""Taking the records out of a batch, to see that they are what its header says: the slow part of a check."""

from __future__ import annotations

from odradek.logs.dump import MAX_DECODED_BATCH
from odradek.logs.verify.findings import VerifyFindings
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import CURRENT_MAGIC, BatchHeader
from odradek.protocol.records.reading import iter_entry_records
from odradek.storage.files import OpenFile
from odradek.storage.segment.entry_walk import Fields


def check_records(file: OpenFile, path: str, position: int, fields: Fields, findings: VerifyFindings) -> None:
    """Add what is wrong with the records of the batch at `position`, whose checksum is right."""
    header = BatchHeader._make(fields)
    if header.size > MAX_DECODED_BATCH:
        findings.note(path, f"the batch of {header.size} bytes was not taken apart", position, header.base_offset)
        return
    is_old = header.magic < CURRENT_MAGIC
    previous, latest = (-1 if is_old else header.base_offset - 1), -1
    try:
        for record in iter_entry_records(file.pread(header.size, position)):
            if not previous < record.offset <= header.last_offset:
                reason = (
                    f"a record has offset {record.offset}, behind {previous} and up to {header.last_offset} is right"
                )
                findings.error(path, reason, position, header.base_offset)
                return
            previous, latest = record.offset, max(latest, record.timestamp)
    except KafkaError as error:
        findings.error(path, f"the records cannot be read: {error}", position, header.base_offset)
        return
    if header.magic and header.records_count and latest > header.max_timestamp:
        reason = f"a record has the timestamp {latest}, later than the largest that the batch says"
        findings.error(path, f"{reason} ({header.max_timestamp})", position, header.base_offset)
