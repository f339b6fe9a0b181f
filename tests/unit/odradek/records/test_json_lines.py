"""Records as lines of JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.records.consumed import Consumed
from odradek.records.json_lines import parse_record, record_line

DATA = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)
RECORDS = st.builds(
    Consumed,
    topic=st.just("t"),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp_ms=st.none() | st.integers(0, 2**63 - 1),
    timestamp_type=st.just("create"),
    key=DATA,
    value=DATA,
    headers=st.lists(st.tuples(st.text(max_size=5), DATA), max_size=3),
)


@given(RECORDS)
def test_nothing_is_lost(record: Consumed) -> None:
    """What a line is read back to is what was written, whatever bytes it has, and it is one line."""
    line = record_line(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    found = parse_record(line)
    assert (found.key, found.value, found.headers) == (record.key, record.value, record.headers)
    assert (found.partition, found.timestamp_ms) == (record.partition, record.timestamp_ms)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (None, []),
        ([], []),
        ([["a", "1"], ["a", None]], [("a", b"1"), ("a", None)]),
        ({"a": "1", "b": {"base64": "/w=="}}, [("a", b"1"), ("b", b"\xff")]),
    ],
)
def test_headers_are_pairs_or_an_object(headers: object, expected: list[tuple[str, bytes | None]]) -> None:
    """A person may write headers as an object; pairs can name one twice."""
    assert parse_record(json.dumps({"headers": headers}).encode()).headers == expected


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"x",
        b"5",
        b"\xff",
        b"[" * 100_000,
        b'{"key": 5}',
        b'{"key": ["a"]}',
        b'{"value": {"base64": "?"}}',
        b'{"value": {"base64": "AA==", "more": 1}}',
        b'{"headers": [["a"]]}',
        b'{"headers": [[1, "a"]]}',
        b'{"headers": "ab"}',
        b'{"partition": 1.5}',
        b'{"partition": true}',
        b'{"timestamp": 99999999999999999999}',
        b'{"key": "k", "vaule": "v"}',
    ],
)
def test_what_is_no_record(line: bytes) -> None:
    """It is refused with a reason, whatever it is."""
    with pytest.raises(ValueError):
        parse_record(line)
