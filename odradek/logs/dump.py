"""What a file of Kafka holds, as rows: the data behind `log dump`, for every kind of file that Kafka keeps.

Rows come one by one, so that a file of any size takes little memory. A file that is being written to is read as far as
it reached at the start; a last batch that is not whole yet is told in the last row, and no error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, starmap
from typing import NamedTuple, TypeAlias

from odradek.logs.batch_values import APPEND_TIME, CREATE_TIME, NO_TIME
from odradek.logs.decoding import (
    ControlNote,
    Decoded,
    decode_control,
    decode_group_record,
    decode_metadata_record,
    decode_transaction_record,
)
from odradek.logs.index_entries import ABORTED_ENTRY, OFFSET_ENTRY, TIME_ENTRY, IndexEntries
from odradek.logs.kinds import Contents, LogFileKind, base_offset_of, contents_of, kind_of, snapshot_end_of
from odradek.logs.message_json import Json
from odradek.logs.small_files import small_file_rows
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import CURRENT_MAGIC, NO_SEQUENCE, BatchHeader
from odradek.protocol.records.legacy import compute_message_crc, iter_inner, read_message, unwrap
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem, OpenFile
from odradek.storage.segment.entry_walk import Ending, EntryWalk, Fields, Progress

MAX_DECODED_BATCH = 256 << 20
"""Largest batch that is taken into memory to look at its records; no broker takes such from a client."""
_SEQUENCES = 1 << 31
_DECODERS = {
    Contents.OFFSETS: decode_group_record,
    Contents.TRANSACTIONS: decode_transaction_record,
    Contents.METADATA: decode_metadata_record,
}


class DumpOptions(NamedTuple):
    """How much of a log is shown."""

    deep: bool = False
    """Show records, too."""
    data: bool = False
    """Show their keys and values, too."""
    contents: Contents | None = None
    """What the records are; None goes by the name of the directory."""


class RecordRow(NamedTuple):
    """A record of a batch."""

    record: Record
    time_type: str
    sequence: int | None
    """None in messages of version 0 and 1, which have none."""
    checksum: tuple[bool, int] | None
    """Whether the message's own is right, and what it says; only messages of version 0 and 1 have one."""
    control: ControlNote | None
    decoded: Decoded | None
    """Where the records are not plain."""
    with_data: bool


class BatchRow(NamedTuple):
    """A batch, or a message of version 0 or 1."""

    position: int
    fields: Fields
    valid: bool
    records: Iterator[RecordRow | str] | None = None
    """None where records are not asked for. A string says why there are no more."""


class EndRow(NamedTuple):
    """What stands behind the last batch of a log, or the last entry of an index."""

    position: int
    left: int
    """Bytes behind it."""
    ending: Ending
    reason: str


class EntryRow(NamedTuple):
    """A line of any other file: values by their name."""

    values: dict[str, Json]


Row: TypeAlias = "BatchRow | EntryRow | EndRow"


class Dump(NamedTuple):
    """A file, opened."""

    path: str
    kind: LogFileKind
    head: dict[str, Json]
    """What its name says."""
    rows: Iterator[Row]
    """May raise OSError and CorruptFile."""
    size: int


def open_dump(fs: FileSystem, path: str, options: DumpOptions, on_bytes: Progress | None = None) -> Dump:
    """Open a file for its dump. Raises OSError, and CorruptFile where no file of Kafka has such a name."""
    name = os.path.basename(path)
    kind = kind_of(name)
    if kind is None:
        fs.size(path)  # what is not there is told as that, whatever it is called
        raise CorruptFile(path, "Kafka has no file of such a name, so there is no telling what it holds")
    file = fs.open(path, writable=False)
    size, base = file.size(), base_offset_of(name)
    head: dict[str, Json] = {}
    match kind:
        case LogFileKind.LOG:
            head = {"start_offset": base}
            rows: Iterator[Row] = _log_rows(file, path, options, on_bytes)
        case LogFileKind.METADATA_SNAPSHOT:
            end = snapshot_end_of(name)
            head = {"end_offset": end[0], "epoch": end[1]} if end else {}
            rows = _log_rows(file, path, options, on_bytes)
        case LogFileKind.OFFSET_INDEX:
            rows = _offset_rows(file, base)
        case LogFileKind.TIME_INDEX:
            rows = _time_rows(file, base)
        case LogFileKind.TRANSACTION_INDEX:
            rows = _aborted_rows(file)
        case _:
            rows = map(EntryRow, small_file_rows(fs, path, kind))
    return Dump(path, kind, head, rows, size)


def _log_rows(file: OpenFile, path: str, options: DumpOptions, on_bytes: Progress | None) -> Iterator[Row]:
    walk = EntryWalk(file, file.size(), on_bytes=on_bytes)
    if options.deep or options.data:
        return chain(_deep_rows(file, walk, options.contents or contents_of(path), options.data), _end_of(walk))
    return chain(starmap(BatchRow, walk), _end_of(walk))


def _deep_rows(file: OpenFile, walk: EntryWalk, contents: Contents, with_data: bool) -> Iterator[Row]:
    for position, fields, valid in walk:
        yield BatchRow(position, fields, valid, _record_rows(file, position, fields, contents, with_data))


def _end_of(walk: EntryWalk) -> Iterator[Row]:
    """Yield where the walk ended, once it has."""
    yield EndRow(walk.position, walk.end - walk.position, walk.ending, walk.reason)


def _record_rows(
    file: OpenFile, position: int, fields: Fields, contents: Contents, with_data: bool
) -> Iterator[RecordRow | str]:
    header = BatchHeader._make(fields)
    if header.size > MAX_DECODED_BATCH:
        yield f"a batch of {header.size} bytes is not taken apart"
        return
    entry = file.pread(header.size, position)
    try:
        checksums = iter(_old_checksums(entry)) if header.magic < CURRENT_MAGIC else None
        for record in iter_entry_records(entry):
            checksum = next(checksums, None) if checksums is not None else None
            control = decode_control(record) if header.is_control else None
            decoded = None
            if with_data and control is None:
                decoded = _decode(record, contents)
            yield RecordRow(record, time_type(header), _sequence(header, record), checksum, control, decoded, with_data)
    except KafkaError as error:
        yield f"the records from here on cannot be read: {error}"


def _decode(record: Record, contents: Contents) -> Decoded | None:
    decoder = _DECODERS.get(contents)
    return decoder(record) if decoder is not None else None


def time_type(header: BatchHeader) -> str:
    """Return Kafka's name for what the timestamps of the batch are."""
    if header.magic == 0:
        return NO_TIME
    return APPEND_TIME if header.is_log_append_time else CREATE_TIME


def _sequence(header: BatchHeader, record: Record) -> int | None:
    if header.magic < CURRENT_MAGIC:
        return None
    if header.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (header.base_sequence + record.offset - header.base_offset) % _SEQUENCES


def _old_checksums(entry: bytes) -> Iterator[tuple[bool, int]]:
    """Yield whether the checksum is right, and what it says, of a message or of each one that it wraps."""
    outer = read_message(entry)
    if not outer.is_wrapper:
        yield compute_message_crc(entry[: outer.size]) == outer.crc, outer.crc
        return
    content = unwrap(outer)
    for at in iter_inner(content):
        inner = read_message(content, at)
        yield compute_message_crc(content[at : at + inner.size]) == inner.crc, inner.crc


def _offset_rows(file: OpenFile, base: int) -> Iterator[Row]:
    entries = IndexEntries(file, OFFSET_ENTRY)
    for relative, position in entries:
        yield EntryRow({"offset": base + relative, "position": position})
    yield _index_end(entries, OFFSET_ENTRY.size)


def _time_rows(file: OpenFile, base: int) -> Iterator[Row]:
    entries = IndexEntries(file, TIME_ENTRY)
    for timestamp, relative in entries:
        yield EntryRow({"timestamp": timestamp, "offset": base + relative})
    yield _index_end(entries, TIME_ENTRY.size)


def _aborted_rows(file: OpenFile) -> Iterator[Row]:
    entries = IndexEntries(file, ABORTED_ENTRY)
    names = ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset")
    for entry in entries:
        yield EntryRow(dict(zip(names, entry, strict=True)))
    yield _index_end(entries, ABORTED_ENTRY.size)


def _index_end(entries: IndexEntries, size: int) -> EndRow:
    position = entries.count * size
    if entries.stray_bytes:
        return EndRow(position, entries.stray_bytes, Ending.CUT, f"an entry has {size} bytes")
    if entries.spare_bytes:
        return EndRow(position, entries.spare_bytes, Ending.ZEROS, "allocated ahead, for entries to come")
    return EndRow(position, 0, Ending.END, "")
