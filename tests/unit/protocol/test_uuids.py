"""Kafka's uuids: text form, reserved values, random ones."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.uuids import METADATA_TOPIC_ID, ZERO_UUID, from_text, random_uuid, to_text


def test_reserved_uuids_have_the_text_of_kafka() -> None:
    """Zero and one are what Kafka prints for "none" and for the metadata topic."""
    assert to_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert to_text(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_text_is_url_safe() -> None:
    """The two characters of base64 beyond letters and digits are "-" and "_"."""
    assert to_text(UUID(bytes=b"\xfb\xff" + bytes(14))) == "-_8AAAAAAAAAAAAAAAAAAA"


@given(st.uuids())
def test_text_goes_both_ways(value: UUID) -> None:
    """Every uuid is read back from its own text, which has 22 characters."""
    assert len(to_text(value)) == 22
    assert from_text(to_text(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAA=",
        "AAAAAAAAAAAAAAAAAAAA==",
        "AAAAAAAAAAA+AAAAAAAAAA",
        "AAAAAAAAAAA/AAAAAAAAAA",
        "AAAAAAAAAAA AAAAAAAAAA",
        "AAAAAAAAAAAéAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAB",
        "00000000-0000-0000-0000-000000000000",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    """Padding, other alphabets, other lengths and bits beyond the 128th are no uuid."""
    with pytest.raises(ValueError, match="is not a uuid"):
        from_text(text)


def test_random_uuids_avoid_the_reserved_ones_and_a_leading_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn again: a text that a command would take for an option."""
    dash = UUID(bytes=b"\xf8" + bytes(15), version=4)
    good = UUID(bytes=b"\x01" + bytes(15), version=4)
    draws = iter([dash.bytes, good.bytes])
    monkeypatch.setattr("odradek.protocol.uuids.os.urandom", lambda size: next(draws))
    assert to_text(dash).startswith("-")
    assert random_uuid() == good


def test_random_uuids_differ() -> None:
    """They are random, and of version 4."""
    drawn = {random_uuid() for _ in range(100)}
    assert len(drawn) == 100
    assert {value.version for value in drawn} == {4}
