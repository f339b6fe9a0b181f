"""One segment of a log with its indexes and batches, and one batch taken apart to the byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import quote

from starlette.responses import Response
from starlette.routing import Route

from odradek.console.hex_rows import hex_rows, hex_text
from odradek.console.log_access import NamedLog, named_log, named_segment, reading, whole_number
from odradek.console.pictures.index_map import MOST_MARKS, index_map
from odradek.console.routes import PageRefusedError, view
from odradek.console.visit import Visit
from odradek.logs.batch_bytes import FieldBytes, header_fields, iter_record_bytes
from odradek.logs.batch_places import batch_around, batches_from
from odradek.logs.batch_values import CODEC_NAMES
from odradek.logs.decoding import (
    Decoded,
    decode_control,
    decode_group_record,
    decode_metadata_record,
    decode_transaction_record,
)
from odradek.logs.dump_text import printable
from odradek.logs.index_marks import index_marks
from odradek.logs.kinds import Contents, contents_of
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import ATTRIBUTES_AT, CURRENT_MAGIC, HEADER_SIZE, BatchHeader
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.compression import decompress
from odradek.protocol.records.legacy import compute_message_crc
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record, iter_body
from odradek.storage.names import LOG_SUFFIX, file_name
from odradek.terminal.human import time_text

BATCHES_ON_A_PAGE: Final = 50
RECORDS_ON_A_PAGE: Final = 25
LARGEST_BATCH: Final = 64 << 20
"""Bytes of a batch that is taken apart, as they are stored and without compression."""
LAST_RECORD: Final = 200_000
"""Records of a batch that are gone through: a few kilobytes may stand for a hundred times as many."""
SHOWN_BYTES: Final = 512
"""Of a key, a value or a header."""

_DECODERS = {
    Contents.OFFSETS: decode_group_record,
    Contents.TRANSACTIONS: decode_transaction_record,
    Contents.METADATA: decode_metadata_record,
}
_SECRET_RECORDS: Final = frozenset(
    {"USER_SCRAM_CREDENTIAL_RECORD", "DELEGATION_TOKEN_RECORD", "CONFIG_RECORD", "UNKNOWN"}
)
"""Records of the cluster's metadata that may hold what logs somebody in."""


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field as it is shown."""

    name: str
    first: int
    last: int
    digits: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record as it is shown."""

    record: Record
    title: str
    decoded: str
    """What it says, where it is not a user's; empty otherwise."""
    fields: Sequence[FieldView]
    """Empty where they are not told: in old messages, and of secrets."""
    is_secret: bool = False


def show_segment(visit: Visit) -> Response:
    """Show a segment's file with its indexes, and batches from a byte on."""
    log = named_log(visit)
    with reading(str(log.partition)):
        outline = log.outline()
        base = named_segment(visit, outline)
        segment = next(each for each in outline.segments if each.base_offset == base)
        position = _wanted_byte(visit)
        begin = 0
        problem = ""
        if position:
            found, _ = batch_around(log.fs, log.directory, base, position)
            if found is None:
                problem = f"no batch is found at byte {position}"
            begin = found.position if found else 0
        page = batches_from(log.fs, log.directory, base, begin, BATCHES_ON_A_PAGE)
        marks = index_marks(log.fs, log.directory, base, MOST_MARKS)
    return visit.page(
        "log_segment.html",
        404 if problem else 200,
        log=outline,
        address=_address(log),
        segment=segment,
        picture=index_map(marks, segment.size),
        page=page,
        begin=begin,
        codecs=CODEC_NAMES,
        problem=problem or page.problem,
    )


def show_batch(visit: Visit) -> Response:
    """Show a batch to the byte."""
    log = named_log(visit)
    with reading(str(log.partition)):
        base = named_segment(visit, log.outline())
        position = whole_number(visit.path("position"), "byte of a file")
        found, before = batch_around(log.fs, log.directory, base, position)
        if found is None:
            raise PageRefusedError(f"no batch is found at byte {position} of {file_name(base, LOG_SUFFIX)}", 404)
        if found.position != position:
            return visit.go(
                f"{_address(log)}/{base}/{found.position}",
                notice=f"Byte {position} is inside the batch that begins at byte {found.position}.",
            )
        header = found.header
        if header.size > LARGEST_BATCH:
            raise PageRefusedError(
                f"the batch of {header.size} bytes is not taken apart; `odradek log dump --deep` does it", 413
            )
        file = log.fs.open(f"{log.directory}/{file_name(base, LOG_SUFFIX)}", writable=False)
        batch = file.pread(header.size, position)
        behind = position + header.size
        is_last = behind >= file.size()
        fields = [_field_view(each, batch, position) for each in header_fields(batch)]
    first = visit.number("record", 0, 0, LAST_RECORD)
    contents = contents_of(f"{log.directory}/{file_name(base, LOG_SUFFIX)}")
    records, problem, more = _records(batch, header, contents, first, position)
    return visit.page(
        "log_batch.html",
        partition=log.partition,
        address=_address(log),
        base=base,
        header=header,
        position=position,
        before=before,
        behind=None if is_last else behind,
        fields=fields[:5] if header.magic != CURRENT_MAGIC else fields,
        header_rows=hex_rows(batch[:HEADER_SIZE] if header.magic == CURRENT_MAGIC else batch[:18], position),
        checksum_is_right=_checksum_is_right(batch, header),
        codec=CODEC_NAMES[header.codec],
        records=records,
        problem=problem,
        first=first,
        next_record=first + RECORDS_ON_A_PAGE if more else None,
    )


def _wanted_byte(visit: Visit) -> int:
    text = visit.query("byte")
    return whole_number(text, "byte of a file") if text else 0


def _records(
    batch: bytes, header: BatchHeader, contents: Contents, first: int, position: int
) -> tuple[list[RecordView], str, bool]:
    """Return a page of records, why there are no more of them, and whether another page follows."""
    found: list[RecordView] = []
    try:
        for each in islice(_each_record(batch, header, contents, position), first, first + RECORDS_ON_A_PAGE + 1):
            if len(found) == RECORDS_ON_A_PAGE:
                return found, "", True
            found.append(each)
    except KafkaError as error:
        return found, f"the records from here on cannot be read: {error}", False
    return found, "", False


def _each_record(batch: bytes, header: BatchHeader, contents: Contents, position: int) -> Iterator[RecordView]:
    if header.magic != CURRENT_MAGIC:
        for record in islice(iter_entry_records(batch, LARGEST_BATCH), LAST_RECORD):
            yield _record_view(record, header, contents, ())
        return
    body = decompress(header.codec, memoryview(batch)[HEADER_SIZE:], LARGEST_BATCH)
    start = 0 if header.is_compressed else position + HEADER_SIZE
    taken_apart = iter_record_bytes(body, min(header.records_count, LAST_RECORD))
    for told, record in zip(taken_apart, iter_body(body, header), strict=False):
        yield _record_view(record, header, contents, [_field_view(each, body, start) for each in told.fields])


def _record_view(record: Record, header: BatchHeader, contents: Contents, fields: Sequence[FieldView]) -> RecordView:
    time = "no time" if record.timestamp < 0 else time_text(record.timestamp)
    title = f"offset {record.offset}, {time}"
    if header.is_control:
        note = decode_control(record)
        return RecordView(record, f"{title}, {note.kind}", json.dumps(note.data, indent=2), fields)
    decoder = _DECODERS.get(contents)
    if decoder is None:
        return RecordView(record, title, "", fields)
    decoded = decoder(record)
    if contents is Contents.METADATA and _is_secret(decoded):
        kind = decoded.value["type"] if isinstance(decoded.value, dict) else "UNKNOWN"
        bare = record._replace(key=None, value=None, headers=())
        return RecordView(bare, f"{title}, {kind}", "", (), is_secret=True)
    return RecordView(record, title, _decoded_text(decoded), fields)


def _is_secret(decoded: Decoded) -> bool:
    """Say whether a record of the metadata is not shown; one that is not understood is not, to be safe."""
    return not isinstance(decoded.value, dict) or decoded.value.get("type") in _SECRET_RECORDS


def _decoded_text(decoded: Decoded) -> str:
    parts = {"key": decoded.key, "value": decoded.value}
    return json.dumps({name: part for name, part in parts.items() if part is not None}, indent=2, ensure_ascii=False)


def _field_view(field: FieldBytes, data: bytes, start: int) -> FieldView:
    """Return a field of `data`, whose first byte is shown as number `start`."""
    value = field.value
    meaning = field.meaning
    if isinstance(value, bytes):
        shown = printable(value[:SHOWN_BYTES]) + ("…" if len(value) > SHOWN_BYTES else "")
    elif value is None:
        shown = "null"
    else:
        shown = str(value)
        if field.name in ("baseTimestamp", "maxTimestamp", "timestamp") and 0 <= value < 253_402_300_800_000:
            meaning = f"{time_text(value)}; {meaning}" if meaning else time_text(value)
    digits = hex_text(data[field.start : field.end])
    return FieldView(field.name, start + field.start, start + field.end - 1, digits, shown, meaning)


def _checksum_is_right(batch: bytes, header: BatchHeader) -> bool:
    if header.magic != CURRENT_MAGIC:
        return compute_message_crc(batch) == header.crc
    return crc32c(memoryview(batch)[ATTRIBUTES_AT:], 0) == header.crc


def _address(log: NamedLog) -> str:
    return f"/logs/{quote(log.partition.topic, safe='')}/{log.partition.partition}"


ROUTES: Final[Sequence[Route]] = (
    view("/logs/{topic}/{partition}/{segment}", show_segment),
    view("/logs/{topic}/{partition}/{segment}/{position}", show_batch),
)
