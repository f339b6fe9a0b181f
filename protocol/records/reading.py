"""The records of one entry of a log, whatever its version: a batch (V2), a message or a wrapper (V0, V1).

The one way in which those who want records, and not bytes, read them; it knows the versions apart and nothing else.
"""

from collections.abc import Iterator

from odradek.protocol.records.batch import CURRENT_MAGIC, HEADER_SIZE_UP_TO_MAGIC, MAGIC_AT
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.compression import DEFAULT_LIMIT
from odradek.protocol.records.errors import CorruptRecord
from odradek.protocol.records.legacy import iter_message_records
from odradek.protocol.records.record import Record, iter_records


def iter_entry_records(entry: Buffer, limit: int = DEFAULT_LIMIT) -> Iterator[Record]:
    """Yield the records of the entry at the start of `entry`, with their offsets in the log and their own timestamps.

    At most `limit` bytes are decompressed. Checksums are not looked at. Raises CorruptRecord and InvalidRecord where
    something is malformed, DecompressionError, TooMuchData; records before the fault may have been yielded by then.
    """
    if len(entry) < HEADER_SIZE_UP_TO_MAGIC:
        raise CorruptRecord(f"No entry of a log has only {len(entry)} bytes")
    magic = entry[MAGIC_AT]
    if magic > CURRENT_MAGIC:
        raise CorruptRecord(f"Invalid magic found in record: {magic}")
    return iter_records(entry, limit) if magic == CURRENT_MAGIC else iter_message_records(entry, limit)
