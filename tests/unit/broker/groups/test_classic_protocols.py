"""The protocol that members vote for is the one that Kafka's coordinator would choose."""

from collections.abc import Sequence

import pytest

from odradek.broker.groups.classic.protocols import select_protocol


def chosen(*members: Sequence[str]) -> str:
    """Return the protocol of a group of members that speak these, the preferred first."""
    common = set(members[0]).intersection(*members)
    return select_protocol(members, common.__contains__)


@pytest.mark.parametrize(
    ("members", "winner"),
    [
        ((["a", "b"], ["b", "a"]), "a"),
        ((["b", "a"], ["a", "b"]), "a"),
        ((["range", "cooperative"], ["cooperative", "range"]), "range"),
        ((["roundrobin", "range"], ["range", "roundrobin"]), "range"),
        ((["range", "roundrobin"], ["roundrobin", "range"]), "range"),
        ((["zz", "x", "m"], ["x", "zz", "m"], ["m", "x", "zz"]), "zz"),
        ((["m", "x", "zz"], ["x", "zz", "m"], ["zz", "x", "m"]), "zz"),
        ((["two", "one"], ["one", "two"]), "one"),
    ],
)
def test_of_two_with_as_many_votes_the_one_that_kafka_chooses_wins(members: Sequence[list[str]], winner: str) -> None:
    """Whoever votes first; answers of Apache Kafka 4.3."""
    assert chosen(*members) == winner


def test_the_most_votes_win() -> None:
    """Each member votes for the first it lists that all of them speak."""
    assert chosen(["z", "b", "a"], ["b", "a"], ["a", "b"]) == "b"


def test_many_protocols_are_ordered_as_in_a_larger_table() -> None:
    """A table of sixteen has `p` (112) first; with more than twelve candidates it has twice as many, and `a` (97)."""
    assert chosen(["p", "a"], ["a", "p"]) == "p"
    names = ["p", *"abcdefghijklm"]
    assert chosen(*([first, *names] for first in names)) == "a"
