"""From lines of input to records: plain lines, with or without keys, or JSON objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import BinaryIO, NamedTuple, TypeAlias

from odradek.records.json_lines import check_json, parse_record

_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "0": "\0", "\\": "\\"}
_ESCAPE = re.compile(r"\\([tnr0\\])")

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


class NewRecord(NamedTuple):
    """A record to produce; what is None is left to the producer."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


LineReader: TypeAlias = Callable[[bytes], NewRecord]


def plain_lines(separator: bytes | None, *, empty_is_null: bool = False) -> LineReader:
    """Return a reader of lines that are values, or key, separator and value; ValueError for a line without it.

    An empty value is an empty one, or none at all.
    """

    def value_of(text: bytes) -> bytes | None:
        return None if empty_is_null and not text else text

    if not separator:
        return lambda line: NewRecord(None, value_of(line))

    def read(line: bytes) -> NewRecord:
        key, found, value = line.partition(separator)
        if not found:
            raise ValueError(f"the key separator {separator.decode('utf-8', 'replace')!r} is not in it")
        return NewRecord(key, value_of(value))

    return read


def tombstone(line: bytes) -> NewRecord:
    """Read a line that is the key of a record that is to go from a compacted topic."""
    return NewRecord(line, None)


def with_fixed(read: LineReader, key: bytes | None, timestamp_ms: int | None) -> LineReader:
    """Return a reader whose records have this key and this time; None leaves them as they are."""
    if key is None and timestamp_ms is None:
        return read

    def fixed(line: bytes) -> NewRecord:
        record = read(line)
        return record._replace(
            key=record.key if key is None else key,
            timestamp_ms=record.timestamp_ms if timestamp_ms is None else timestamp_ms,
        )

    return fixed


def read_whole(source: BinaryIO, read: LineReader, headers: Headers, max_bytes: int) -> Iterator[NewRecord]:
    """Read everything that there is as one record; ValueError where it is more than a record can have."""
    data = source.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"the file is longer than {max_bytes} bytes, the most that a record can have")
    record = read(data)
    yield record._replace(headers=[*record.headers, *headers])


def json_line(line: bytes) -> NewRecord:
    """Read a line as `consume --json` writes it; ValueError says what is wrong with it."""
    found = parse_record(line)
    return NewRecord(found.key, found.value, found.headers, found.partition, found.timestamp_ms)


def json_value(line: bytes) -> NewRecord:
    """Read a line that is a value as it stands, if it is JSON; ValueError says what is wrong with it."""
    check_json(line)
    return NewRecord(None, line)


def unescaped(text: str) -> str:
    """Return what a person means by a text in which tab, line feed, zero and backslash are written as in Python."""
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], text)


def read_records(
    lines: BinaryIO, read: LineReader, headers: Headers, max_bytes: int, first: int = 1
) -> Iterator[NewRecord]:
    """Read records from lines, add headers to each; ValueError names the line, the first of which has number `first`.

    A line ends with a line feed, which is not part of the record; nothing else is taken off. One of more than
    `max_bytes` is refused before it is read to its end.
    """
    for number in count(first):
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
