"""Which records are wanted, and which are the newest."""

import re

import pytest

from odradek.records.consumed import Consumed
from odradek.records.matching import RecordMatch, header_match, newest


def _record(partition: int, offset: int, time: int | None = 0, **what: object) -> Consumed:
    fields: dict[str, object] = {"key": None, "value": None, "headers": (), **what}
    return Consumed("t", partition, offset, time, "create", **fields)  # type: ignore[arg-type]


def test_all_conditions_hold_together() -> None:
    """Key, every header and the expression; what has no key or value matches none that asks for it."""
    record = _record(0, 0, key=b"k", value=b"some words", headers=[("a", b"1"), ("a", b"2"), ("b", None)])
    for match, is_wanted in (
        (RecordMatch(), True),
        (RecordMatch(key=b"k", headers=[("a", b"2"), ("b", None)], pattern=re.compile(b"wor")), True),
        (RecordMatch(key=b"K"), False),
        (RecordMatch(headers=[("a", b"3")]), False),
        (RecordMatch(headers=[("c", None)]), False),
        (RecordMatch(pattern=re.compile(b"^k$")), True),
        (RecordMatch(pattern=re.compile(b"x")), False),
    ):
        assert match.matches(record) is is_wanted
    assert not RecordMatch(key=b"").matches(_record(0, 0))
    assert not RecordMatch(pattern=re.compile(b"")).matches(_record(0, 0))
    assert RecordMatch().is_everything
    assert not RecordMatch(key=b"").is_everything


def test_headers_are_asked_for_by_name_or_with_a_value() -> None:
    """An empty value is another thing than any value; a name there must be."""
    assert header_match("a") == ("a", None)
    assert header_match("a=") == ("a", b"")
    assert header_match("a=b=c") == ("a", b"b=c")
    with pytest.raises(ValueError, match="names no header"):
        header_match("=b")


def test_the_newest_of_all_partitions() -> None:
    """By time, then by place; those without a time are the oldest."""
    records = [_record(0, 5, 30), _record(1, 0, 10), _record(1, 1, 30), _record(0, 4, 20), _record(2, 9, None)]
    assert [(each.partition, each.offset) for each in newest(records, 3)] == [(0, 4), (0, 5), (1, 1)]
    assert newest(records, 9)[0].timestamp_ms is None
