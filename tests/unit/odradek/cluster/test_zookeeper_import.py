"""What becomes of offsets from ZooKeeper."""

from odradek.cluster.offsets import Offsets, Partition
from odradek.cluster.zookeeper_import import changes_of, planned

EXISTING = {("t", number) for number in range(5)}
STORED = {("t", 0): 5, ("t", 1): 50, ("t", 2): 7, ("t", 3): 7, ("gone", 0): 3}
BEFORE = {("t", 2): 9, ("t", 3): 7}


def _within(wanted: Offsets) -> dict[Partition, int]:
    return {each: min(offset, 10) for each, offset in wanted.items()}


def test_offsets_are_brought_over_and_never_back() -> None:
    """What lies outside of a partition is moved in, what the cluster has further stays, what it lacks is left out."""
    rows = planned("g", STORED, BEFORE, EXISTING, _within, overwrite=False)
    assert {(each.topic, each.partition): each.after for each in rows} == {
        ("t", 0): 5,
        ("t", 1): 10,
        ("t", 2): 9,
        ("t", 3): 7,
        ("gone", 0): None,
    }
    assert changes_of(rows, "g") == {("t", 0): 5, ("t", 1): 10}
    assert changes_of(rows, "other") == {}


def test_overwriting_sets_what_zookeeper_says() -> None:
    """Who asks for it may go back."""
    rows = planned("g", STORED, BEFORE, EXISTING, _within, overwrite=True)
    assert changes_of(rows, "g") == {("t", 0): 5, ("t", 1): 10, ("t", 2): 7}
