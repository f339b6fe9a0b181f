"""Dumps as one JSON document, written piece by piece: `{"files": [{"path": ..., "batches": [...]}, ...]}`.

Each file has its rows in a list, and behind it what was found at its end, or the error that it could not be read with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from odradek.logs.batch_values import BatchForm
from odradek.logs.dump import BatchRow, Dump, EndRow, EntryRow, RecordRow
from odradek.logs.kinds import LogFileKind
from odradek.logs.message_json import Json
from odradek.records.json_lines import bytes_to_json

DOCUMENT_BEGIN, DOCUMENT_END = '{"files": [', "\n]}\n"

_BATCH = BatchForm(
    '{"base_offset": %%s, "last_offset": %%s, "count": %%s, "base_sequence": %%s, "last_sequence": %%s, '
    '"producer_id": %d, "producer_epoch": %d, "partition_leader_epoch": %d, "is_transactional": %s, "is_control": %s, '
    '"delete_horizon_ms": %%s, "position": %%s, "timestamp_type": "%s", "max_timestamp": %%s, "size": %%s, '
    '"magic": %d, "codec": "%s", "crc": %%s, "is_valid": %s',
    '{"offset": %d, "position": %d, "timestamp_type": "%s", "timestamp": %d, "size": %d, "magic": %d, "codec": "%s", '
    '"crc": %d, "is_valid": %s',
    "%d",
    "null",
)


def dump_pieces(dump: Dump) -> Iterator[str]:
    """Yield the object of one file; raises what reading the file raises, after which `close_failed` ends the object."""
    head: dict[str, Json] = {"path": dump.path, "kind": dump.kind.value, "size": dump.size, **dump.head}
    is_log = dump.kind in (LogFileKind.LOG, LogFileKind.METADATA_SNAPSHOT)
    yield json.dumps(head, ensure_ascii=False)[:-1] + (', "batches": [' if is_log else ', "entries": [')
    separator, end, show = "\n", None, _BATCH.show
    for row in dump.rows:
        if type(row) is BatchRow:
            position, fields, valid, records = row
            if records is None:
                yield separator + show(position, fields, valid) + "}"
            else:
                yield separator + show(position, fields, valid)
                yield from _records(records)
                yield "}"
        elif isinstance(row, EntryRow):
            yield separator + json.dumps(row.values, ensure_ascii=False)
        elif isinstance(row, EndRow):
            end = row
            continue
        separator = ",\n"
    yield "\n]"
    if end is not None:
        last = {"position": end.position, "left": end.left, "status": end.ending.value, "reason": end.reason}
        yield f', "end": {json.dumps(last, ensure_ascii=False)}'
    yield "}"


def failed_object(path: str, reason: str) -> str:
    """Return the object of a file that could not be opened."""
    return json.dumps({"path": path, "error": reason}, ensure_ascii=False)


def close_failed(reason: str) -> str:
    """Return the end of an object whose file could not be read on between two of its rows."""
    return f'\n], "error": {json.dumps(reason, ensure_ascii=False)}}}'


def _records(rows: Iterator[RecordRow | str]) -> Iterator[str]:
    separator, error = ', "records": [\n  ', None
    empty = True
    for row in rows:
        if isinstance(row, str):
            error = row
            continue
        yield separator + json.dumps(_record(row), ensure_ascii=False)
        separator, empty = ",\n  ", False
    yield ', "records": []' if empty else "]"
    if error is not None:
        yield f', "error": {json.dumps(error, ensure_ascii=False)}'


def _record(row: RecordRow) -> dict[str, Json]:
    record = row.record
    found: dict[str, Json] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key_size": None if record.key is None else len(record.key),
        "value_size": None if record.value is None else len(record.value),
    }
    if row.sequence is not None:
        found["sequence"] = row.sequence
    if row.checksum is not None:
        found["is_valid"], found["crc"] = row.checksum
    if row.control is not None:
        found["control"] = {"type": row.control.kind, "data": row.control.data}
    elif not row.with_data:
        found["header_keys"] = [name.decode("utf-8", "replace") for name, _ in record.headers]
    else:
        found["key"] = bytes_to_json(record.key) if row.decoded is None else row.decoded.key
        found["value"] = bytes_to_json(record.value) if row.decoded is None else row.decoded.value
        found["headers"] = [[name.decode("utf-8", "replace"), bytes_to_json(value)] for name, value in record.headers]
    return found
