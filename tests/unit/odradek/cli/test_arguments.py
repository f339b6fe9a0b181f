"""What several commands take in the same form."""

import pytest

from odradek.cli.arguments import assignment, config_value, pairs, topic_partitions
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


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("retention.ms", "7d", "604800000"),
        ("retention.ms", "1h30m", "5400000"),
        ("retention.ms", "-1", "-1"),
        ("retention.ms", "604800000", "604800000"),
        ("log.retention.hours", "7d", "168"),
        ("log.roll.jitter.hours", "soon", "soon"),
        ("offsets.retention.minutes", "2h", "120"),
        ("segment.bytes", "1GiB", "1073741824"),
        ("segment.bytes", "1 gb", "1000000000"),
        ("max.message.bytes", "10kib", "10240"),
        ("log.cleaner.dedupe.buffer.size", "128MiB", "134217728"),
        ("segment.bytes", "7d", "7d"),
        ("cleanup.policy", "7d", "7d"),
        ("retention.bytes", "-1", "-1"),
    ],
)
def test_values_of_configs_in_their_units(name: str, given: str, value: str) -> None:
    """A unit is understood where the name of the config says what it counts; anything else is the broker's to judge."""
    assert config_value(name, given) == value


def test_a_duration_is_a_whole_number_of_what_a_config_counts() -> None:
    """Half an hour is nothing that a number of hours could say."""
    with pytest.raises(WrongUsageError, match=r"log.retention.hours=30m: give a whole number of hours"):
        config_value("log.retention.hours", "30m")
