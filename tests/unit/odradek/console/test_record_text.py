"""Keys and values as text for people."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.console.record_text import LONGEST_TEXT, PREVIEW, hex_dump, shown_bytes, shown_record
from odradek.records.consumed import Consumed


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (None, "null", ""),
        (b"", "empty", ""),
        (b"hello", "text", "hello"),
        ("é\u202e and then \x00".encode(), "text", "é\\u{202e} and then \\u{0}"),
        (b"\xff\x00", "binary", "000000  ff 00                                            .."),
        (b'{"a":1.10,"a":[],"b":{"c":12345678901234567890}}', "JSON", None),
        (b"{not json", "text", "{not json"),
        (b"[" * 100_000, "text", None),
    ],
)
def test_what_bytes_are_shown_as(data: bytes | None, kind: str, text: str | None) -> None:
    """JSON, other text and bytes are told apart, and what has no shape is written as its code."""
    shown = shown_bytes(data)
    assert shown.kind == kind
    assert text is None or shown.text == text


def test_json_keeps_what_stands_there() -> None:
    """Numbers, escapes and names that come twice are not changed by the lines that are put in."""
    shown = shown_bytes(b'{"a":1.10,"a":[],"b":{"c":12345678901234567890,"d":"\\u00e9,[\\""}}')
    assert shown.text == (
        '{\n  "a": 1.10,\n  "a": [],\n  "b": {\n    "c": 12345678901234567890,\n    "d": "\\u00e9,[\\""\n  }\n}'
    )


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_json_means_the_same(value: object) -> None:
    """JSON with its lines is the same JSON, but for characters that are written as their code."""
    shown = shown_bytes(json.dumps(value).encode())
    assert shown.kind == "JSON"
    assert json.loads(shown.text) == value


@given(st.binary(max_size=300))
def test_any_bytes_are_shown(data: bytes) -> None:
    """Whatever the bytes are, they become text without control characters."""
    shown = shown_bytes(data)
    assert shown.size == len(data)
    assert all(each >= " " or each in "\n\r\t" for each in shown.text + shown.preview)


def test_what_is_long_is_cut() -> None:
    """The preview and the text have their bounds, and say how many bytes are not there; no character is halved."""
    shown = shown_bytes("é".encode() * LONGEST_TEXT)
    assert len(shown.preview) == PREVIEW + 1
    assert len(shown.text.encode()) + shown.cut == shown.size
    assert shown_bytes(b"\xff" * 10_000).cut == 10_000 - 4096


def test_record_with_many_headers() -> None:
    """Of many headers some are shown, and the others counted."""
    headers = [(f"h{number}", b"v") for number in range(150)]
    shown = shown_record(Consumed("t", 0, 1, None, "none", None, None, headers))
    assert (len(shown.headers), shown.more_headers) == (100, 50)


def test_hex_dump() -> None:
    """Sixteen bytes a line, with their place and their letters."""
    assert hex_dump(b"0123456789abcdefg").splitlines() == [
        "000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef",
        "000010  67                                               g",
    ]
