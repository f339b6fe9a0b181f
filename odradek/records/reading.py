"""From lines of input to records: plain lines, with or without keys, or JSON objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import BinaryIO, NamedTuple, TypeAlias

from odradek.records.json_lines import parse_record

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


class NewRecord(NamedTuple):
    """A record to produce; what is None is left to the producer."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


LineReader: TypeAlias = Callable[[bytes], NewRecord]


def plain_lines(separator: bytes | None) -> LineReader:
    """Return a reader of lines that are values, or key, separator and value; ValueError for a line without it."""
    if not separator:
        return lambda line: NewRecord(None, line)

    def read(line: bytes) -> NewRecord:
        key, found, value = line.partition(separator)
        if not found:
            raise ValueError(f"the key separator {separator.decode('utf-8', 'replace')!r} is not in it")
        return NewRecord(key, value)

    return read


def json_line(line: bytes) -> NewRecord:
    """Read a line as `consume --json` writes it; ValueError says what is wrong with it."""
    found = parse_record(line)
    return NewRecord(found.key, found.value, found.headers, found.partition, found.timestamp_ms)


def read_records(lines: BinaryIO, read: LineReader, headers: Headers, max_bytes: int) -> Iterator[NewRecord]:
    """Read records from lines, add headers to each; ValueError names the line, counted from 1.

    A line ends with a line feed, which is not part of the record; nothing else is taken off. One of more than
    `max_bytes` is refused before it is read to its end.
    """
    for number in count(1):
        line = lines.readline(max_bytes + 1)
        if not line:
            return
        line = line.removesuffix(b"\n")
        if len(line) > max_bytes:
            raise ValueError(f"line {number}: longer than {max_bytes} bytes, the most that a record can have")
        try:
            record = read(line)
        except ValueError as wrong:
            raise ValueError(f"line {number}: {wrong}") from None
        yield record._replace(headers=[*record.headers, *headers]) if headers else record
