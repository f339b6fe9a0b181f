"""What several commands take in the same form."""

import pytest

from odradek.cli.arguments import assignment, pairs, topic_partitions
from odradek.terminal.errors import WrongUsageError


def test_pairs() -> None:
    """A value may hold anything, also `=`; a name may come twice."""
    assert pairs(["a=1", "b=x=y", "a="], "--config") == [("a", "1"), ("b", "x=y"), ("a", "")]
    for wrong in ("a", "=1", " =1", ""):
        with pytest.raises(WrongUsageError, match="--config"):
            pairs([wrong], "--config")


def test_assignments() -> None:
    """Partitions with commas, replicas with colons between them."""
    assert assignment("1:2,2:3") == [[1, 2], [2, 3]]
    for wrong in ("", "1,", "a", "1:1", "1:2,3"):
        with pytest.raises(WrongUsageError, match="--replica-assignment"):
            assignment(wrong)


def test_topics_with_partitions() -> None:
    """No partitions means all of them."""
    assert topic_partitions("orders") == ("orders", [])
    assert topic_partitions("orders:2,0,2") == ("orders", [0, 2])
    for wrong in ("orders:", "orders:x", "orders:1,"):
        with pytest.raises(WrongUsageError, match="--topic"):
            topic_partitions(wrong)
