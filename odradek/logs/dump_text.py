"""A dump as lines of text, in the form of Kafka's own inspector (kafka-dump-log), which people and scripts know.

One form differs: control characters in keys, values and names are shown as escapes, so that what a client wrote cannot
play with the terminal of who looks at it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from odradek.logs.batch_values import BOOL, BatchForm
from odradek.logs.decoding import DELETED, ControlNote
from odradek.logs.dump import BatchRow, Dump, EndRow, EntryRow, RecordRow
from odradek.logs.kinds import LogFileKind
from odradek.logs.message_json import Json
from odradek.storage.segment.entry_walk import Ending

_BATCH = BatchForm(
    "baseOffset: %%s lastOffset: %%s count: %%s baseSequence: %%s lastSequence: %%s producerId: %d producerEpoch: %d "
    "partitionLeaderEpoch: %d isTransactional: %s isControl: %s deleteHorizonMs: %%s position: %%s %s: %%s size: %%s "
    "magic: %d compresscodec: %s crc: %%s isvalid: %s\n",
    "offset: %d position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %s\n",
    "OptionalLong[%d]",
    "OptionalLong.empty",
)
_NAMES = {
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "coordinator_epoch": "coordinatorEpoch",
    "current_txn_first_offset": "currentTxnFirstOffset",
    "last_timestamp": "lastTimestamp",
    "first_sequence": "firstSequence",
    "last_sequence": "lastSequence",
    "last_offset": "lastOffset",
    "offset_delta": "offsetDelta",
    "first_offset": "firstOffset",
    "last_stable_offset": "lastStableOffset",
    "start_offset": "startOffset",
}
_ESCAPES = {
    **{number: f"\\x{number:02x}" for number in (*range(32), *range(127, 160))},
    9: "\\t",
    10: "\\n",
    13: "\\r",
}


def dump_lines(dump: Dump) -> Iterator[str]:
    """Yield the lines of a dump, each with its line end; raises what reading the file raises."""
    yield f"Dumping {dump.path}\n"
    if dump.kind is LogFileKind.LOG:
        yield f"Log starting offset: {dump.head['start_offset']}\n"
    elif dump.kind is LogFileKind.METADATA_SNAPSHOT:
        known = "Snapshot end offset: {end_offset}, epoch: {epoch}\n"
        yield known.format_map(dump.head) if dump.head else "KRaft bootstrap snapshot\n"
    show = _BATCH.show
    shown = 0
    for row in dump.rows:
        if type(row) is BatchRow:
            position, fields, valid, records = row
            yield show(position, fields, valid)
            if records is not None:
                yield from map(_record_line, records)
        elif isinstance(row, EntryRow):
            shown += 1
            yield " ".join(f"{_NAMES.get(name, name)}: {_plain(value)}" for name, value in row.values.items()) + "\n"
        elif isinstance(row, EndRow):
            yield from _end_lines(dump, row, shown)


def _record_line(row: RecordRow | str) -> str:
    if isinstance(row, str):
        return f"| {row}\n"
    record = row.record
    parts = [f"| offset: {record.offset} {row.time_type}: {record.timestamp}"]
    parts.append(f"keySize: {_size(record.key)} valueSize: {_size(record.value)}")
    if row.sequence is not None:
        names = ",".join(printable(name) for name, _ in record.headers)
        parts.append(f"sequence: {row.sequence} headerKeys: [{names}]")
    if row.checksum is not None:
        parts.append(f"isValid: {BOOL[row.checksum[0]]} crc: {row.checksum[1]}")
    if row.control is not None:
        parts.append(_control_text(row.control))
    elif row.with_data:
        key: Json | bytes = row.decoded.key if row.decoded else record.key
        value: Json | bytes = row.decoded.value if row.decoded else record.value
        parts += [f"key: {_content(key)}"] if key is not None else []
        parts += [f"payload: {_content(value)}"] if value is not None else []
    return " ".join(parts) + "\n"


def _control_text(note: ControlNote) -> str:
    match note.kind:
        case "ABORT" | "COMMIT":
            return f"endTxnMarker: {note.kind} coordinatorEpoch: {note.data['coordinatorEpoch']}"
        case "LeaderChange":
            return f"LeaderChange: {_compact(note.data)}"
        case "UNKNOWN":
            return f"controlType: UNKNOWN({note.data['type']})"
    return f"{note.kind} {_compact(note.data)}"


def _end_lines(dump: Dump, end: EndRow, shown: int) -> Iterator[str]:
    name = os.path.basename(dump.path)
    if dump.kind in (LogFileKind.LOG, LogFileKind.METADATA_SNAPSHOT):
        if end.left:
            yield f"Found {end.left} invalid bytes at the end of {name}\n"
            yield f"at byte {end.position}: {end.reason}\n"
    else:
        if not shown:
            yield f"{dump.path} is empty.\n"
        if end.ending is Ending.ZEROS:
            yield f"{end.left} bytes of zeros follow, allocated ahead for entries to come\n"
        elif end.left:
            yield f"Found {end.left} invalid bytes at the end of {name}: {end.reason}\n"


def _content(content: Json | bytes) -> str:
    if isinstance(content, bytes):
        return printable(content)
    if isinstance(content, str) and (content == DELETED or not content.startswith("{")):
        return printable(content.encode())
    return _compact(content)


def _plain(value: Json) -> str:
    if value is None:
        return "OptionalLong.empty"
    return printable(value.encode()) if isinstance(value, str) else json.dumps(value)


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def printable(content: bytes) -> str:
    """Return bytes as text that a terminal only shows: no control characters, and what is no UTF-8 replaced."""
    text = content.decode("utf-8", "replace")
    return text if text.isprintable() else text.translate(_ESCAPES)
