"""Declared classes behave as slotted dataclasses do: keywords, defaults, equality, repr."""

from uuid import UUID

import pytest

from odradek.protocol.codec.fields import LAST_VERSION, parse_versions
from tests.unit.protocol.codec.sample import Node, Pair, Sample


def test_every_field_has_a_default() -> None:
    """Kafka's default where one is declared, else the zero of the type; structs are there, unless they can be null."""
    message = Sample()
    assert (message.flag, message.number, message.big, message.ratio) == (False, -1, 0, 0.0)
    assert (message.id, message.text, message.note, message.blob) == (UUID(int=0), "", None, b"")
    assert (message.numbers, message.flags, message.nodes) == ([], None, [])
    assert (message.first, message.option, message.tag_node) == (Pair(left=-1), None, Node())


def test_mutable_defaults_are_not_shared() -> None:
    """Changing a list or a struct of one message changes no other."""
    Sample().numbers.append(1)
    Sample().first.left = 5
    assert Sample().numbers == []
    assert Sample().first.left == -1


def test_null_given_is_null() -> None:
    """A null list stays null, it does not become the default."""
    assert Sample(nodes=None).nodes is None


def test_messages_compare_by_value() -> None:
    """Equal class and fields make messages equal; another class does not."""
    assert Node(name="a") == Node(name="a")
    assert Node(name="a") != Node(name="b")
    assert Node() != Pair()


def test_messages_are_no_keys() -> None:
    """What can be changed in place has no hash."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(Pair())


def test_messages_show_their_fields() -> None:
    """A message in a log line says what it holds."""
    assert repr(Node(name="a")) == "Node(name='a', pair=Pair(left=-1, right=0))"


def test_unknown_fields_are_refused() -> None:
    """A misspelled field is an error when given, first and later, and when set."""
    for _ in range(2):
        with pytest.raises(TypeError, match="lefft"):
            Pair(lefft=1)  # type: ignore[call-arg]  # that is the point
    with pytest.raises(AttributeError):
        Pair().lefft = 1  # type: ignore[attr-defined]  # that is the point


def test_fields_are_given_by_keyword() -> None:
    """Positions would change with Kafka's versions."""
    Pair()
    with pytest.raises(TypeError):
        Pair(1, 2)  # type: ignore[call-arg]  # that is the point


@pytest.mark.parametrize(
    ("text", "first", "last"), [("0+", 0, LAST_VERSION), ("3+", 3, LAST_VERSION), ("1-4", 1, 4), ("5", 5, 5)]
)
def test_version_ranges_are_read_in_the_notation_of_kafka(text: str, first: int, last: int) -> None:
    """A range has both ends inside; "+" has no end; no range holds nothing."""
    versions = parse_versions(text)
    assert versions == (first, last)
    assert first in versions
    assert last in versions
    assert first - 1 not in versions
    assert last + 1 not in versions
    assert 0 not in parse_versions(None)
