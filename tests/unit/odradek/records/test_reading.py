"""From lines to records."""

from io import BytesIO

import pytest

from odradek.records.reading import NewRecord, json_line, plain_lines, read_records, read_whole, tombstone, with_fixed

LARGEST = 100


def test_plain_lines() -> None:
    """Only the line feed at the end goes; without a separator there is no key."""
    lines = BytesIO(b"a\n\n b\r\nlast")
    found = read_records(lines, plain_lines(None), [], LARGEST)
    assert [each.value for each in found] == [b"a", b"", b" b\r", b"last"]


def test_a_separator_ends_the_key_where_it_first_stands() -> None:
    """The rest of the line is the value, separators and all."""
    read = plain_lines(b"::")
    assert read(b"k::v::w") == NewRecord(b"k", b"v::w")
    assert read(b"::") == NewRecord(b"", b"")


def test_headers_are_added_to_those_of_the_line() -> None:
    """Each record gets them, after its own."""
    lines = BytesIO(b'{"value": "v", "headers": [["a", "1"]]}')
    [record] = read_records(lines, json_line, [("b", b"2")], LARGEST)
    assert list(record.headers) == [("a", b"1"), ("b", b"2")]


def test_a_line_that_cannot_be_read_is_counted() -> None:
    """The error names the line from 1 on, after the records before it."""
    found = read_records(BytesIO(b"k:v\nkv\n"), plain_lines(b":"), [], LARGEST)
    assert next(found).key == b"k"
    with pytest.raises(ValueError, match="line 2: the key separator ':' is not in it"):
        next(found)


def test_a_line_that_is_too_long_is_not_read_to_its_end() -> None:
    """What could never be a record takes no memory; one of just the size that a record can have is one."""
    lines = BytesIO(b"x" * LARGEST + b"\n" + b"y" * (LARGEST + 1) + b"z" * 1_000_000)
    found = read_records(lines, plain_lines(None), [], LARGEST)
    assert next(found).value == b"x" * LARGEST
    with pytest.raises(ValueError, match="line 2: longer than 100 bytes"):
        next(found)
    assert lines.tell() == 2 * LARGEST + 2


def test_no_value_instead_of_an_empty_one() -> None:
    """Where it is wanted; a line as a key has none either."""
    assert plain_lines(b":", empty_is_null=True)(b"k:") == NewRecord(b"k", None)
    assert plain_lines(None, empty_is_null=True)(b"") == NewRecord(None, None)
    assert plain_lines(None)(b"") == NewRecord(None, b"")
    assert tombstone(b"k:v") == NewRecord(b"k:v", None)


def test_what_all_records_have() -> None:
    """A key and a time go over those of the line; what is None leaves them."""
    read = with_fixed(json_line, b"fixed", 5)
    assert read(b'{"key": "k", "value": "v", "timestamp": 1}') == NewRecord(b"fixed", b"v", [], None, 5)
    assert with_fixed(json_line, None, None) is json_line
    assert with_fixed(plain_lines(None), None, 7)(b"v").timestamp_ms == 7


def test_a_whole_file_is_one_record() -> None:
    """Line feeds stay, and it is refused before more is read than a record can have."""
    [record] = read_whole(BytesIO(b"a\nb\n"), plain_lines(None), [("h", b"1")], LARGEST)
    assert record == NewRecord(None, b"a\nb\n", [("h", b"1")])
    with pytest.raises(ValueError, match="the file is longer than 100 bytes"):
        list(read_whole(BytesIO(bytes(101)), plain_lines(None), [], LARGEST))
