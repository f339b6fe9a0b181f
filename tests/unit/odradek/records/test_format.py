"""Format strings."""

import pytest

from odradek.records.consumed import Consumed
from odradek.records.format import parse_format

RECORD = Consumed("orders", 3, 42, 1_700_000_000_000, "create", b"k", b"va\xff", [("a", b"1"), ("b", None)])
EMPTY = Consumed("orders", 0, 0, None, "none", None, None, [])


@pytest.mark.parametrize(
    ("text", "record", "expected"),
    [
        (r"%t[%p]@%o %T %k=%s\n", RECORD, b"orders[3]@42 1700000000000 k=va\xff\n"),
        ("%K %S %R|%h", RECORD, b"1 3 \0\0\0\x03|a=1,b=NULL"),
        ("%K %S %R|%T|%k%s%h|", EMPTY, b"-1 -1 \xff\xff\xff\xff|-1||"),
        (r"100%%\t\\\x00\x7f", RECORD, b"100%\t\\\0\x7f"),
        ("", RECORD, b""),
        ("ü\n", RECORD, "ü\n".encode()),
    ],
)
def test_fields_and_escapes(text: str, record: Consumed, expected: bytes) -> None:
    """Each field and each escape stands for what kcat lets it stand for."""
    assert parse_format(text)(record) == expected


@pytest.mark.parametrize("text", ["%q", "%", "\\", "\\q", "\\x1", "\\xzz"])
def test_what_is_no_field(text: str) -> None:
    """An unknown field or escape is refused, not printed."""
    with pytest.raises(ValueError):
        parse_format(text)
