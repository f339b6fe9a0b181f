"""What becomes of a group's offsets in a copy of its topics."""

from collections.abc import Mapping

import pytest

from odradek.cluster.group_translation import changes_of, planned, renamed, topic_rename
from odradek.cluster.offsets import Partition
from odradek.terminal.errors import WrongUsageError

EXISTING = {("t", 0), ("t", 1), ("all", 0)}


def _places(originals: Mapping[Partition, int], target: Partition) -> int:
    return min(originals.values()) + target[1]


def test_offsets_are_translated_and_never_back() -> None:
    """What the copy lacks is left out, and what the group has further there stays unless that is not wanted."""
    committed = {("t", 0): 5, ("t", 1): 7, ("t", 2): 9}
    before = {("t", 0): 20, ("t", 1): 8}
    rows = planned("g", committed, str, before, EXISTING, _places, overwrite=False)
    assert [(row.source[1], row.before, row.after) for row in rows] == [(0, 20, 20), (1, 8, 8), (2, None, None)]
    assert changes_of(rows, "g") == {}
    rows = planned("g", committed, str, before, EXISTING, _places, overwrite=True)
    assert changes_of(rows, "g") == {("t", 0): 5}
    assert changes_of(rows, "other") == {}


def test_topics_that_become_one_go_on_from_the_first_place() -> None:
    """A record of either that was not read yet is not left out."""
    rows = planned("g", {("a", 0): 50, ("b", 0): 4}, lambda _: "all", {}, EXISTING, _places, overwrite=False)
    assert [row.after for row in rows] == [4, 4]
    assert changes_of(rows, "g") == {("all", 0): 4}


def test_names_in_the_copy() -> None:
    """The first rename that is for the whole name counts, and a name that none is for stays."""
    renames = [topic_rename("orders-(.*)", "eu.orders-$1"), topic_rename(".*-de", "german")]
    assert [renamed(name, renames) for name in ("orders-de", "x-de", "my-orders-1")] == [
        "eu.orders-de",
        "german",
        "my-orders-1",
    ]


@pytest.mark.parametrize(
    ("pattern", "becomes", "said"),
    [("(", "x", "no regular expression"), ("a", "b-$1", "no group 1"), ("a" * 2000, "b", "more than 1000")],
)
def test_what_is_no_rename_is_refused(pattern: str, becomes: str, said: str) -> None:
    """The sentence says which of the two is wrong."""
    with pytest.raises(WrongUsageError, match=said):
        topic_rename(pattern, becomes)
