"""From lines to records."""

import pytest

from odradek.records.reading import NewRecord, json_line, plain_lines, read_records


def test_plain_lines() -> None:
    """Only the line feed at the end goes; without a separator there is no key."""
    lines = [b"a\n", b"\n", b" b\r\n", b"last"]
    assert [each.value for each in read_records(lines, plain_lines(None), [])] == [b"a", b"", b" b\r", b"last"]


def test_a_separator_ends_the_key_where_it_first_stands() -> None:
    """The rest of the line is the value, separators and all."""
    read = plain_lines(b"::")
    assert read(b"k::v::w") == NewRecord(b"k", b"v::w")
    assert read(b"::") == NewRecord(b"", b"")


def test_headers_are_added_to_those_of_the_line() -> None:
    """Each record gets them, after its own."""
    lines = [b'{"value": "v", "headers": [["a", "1"]]}']
    [record] = read_records(lines, json_line, [("b", b"2")])
    assert list(record.headers) == [("a", b"1"), ("b", b"2")]


def test_a_line_that_cannot_be_read_is_counted() -> None:
    """The error names the line from 1 on, after the records before it."""
    found = read_records([b"k:v\n", b"kv\n"], plain_lines(b":"), [])
    assert next(found).key == b"k"
    with pytest.raises(ValueError, match="line 2: the key separator ':' is not in it"):
        next(found)
