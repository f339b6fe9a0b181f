"""What several commands take in the same form."""

import pytest

from odradek.cli.arguments import assignment, config_value, duration_s, pairs, topic_partitions, units_told
from odradek.terminal.errors import CommandError, WrongUsageError


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


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("retention.ms", "7dd", "; retention.ms may be given as 90s, 2h30m or 7d, too"),
        ("segment.bytes", "lots", "; segment.bytes may be given as 512KiB, 10MB or 1GiB, too"),
        ("segment.bytes", "-5", ""),
        ("cleanup.policy", "compct", ""),
    ],
)
def test_a_value_that_is_refused_is_told_with_the_units_there_are(name: str, value: str, hint: str) -> None:
    """A broker knows nothing of units; who has misspelt one learns what may stand there."""
    with pytest.raises(CommandError) as caught, units_told([("min.insync.replicas", "1"), (name, value)]):
        raise CommandError("refused")
    assert str(caught.value) == f"refused{hint}"


def test_seconds_may_have_a_unit() -> None:
    """A number alone is seconds; what is neither is refused with both forms."""
    assert [duration_s(text, "--timeout") for text in ("30", "0.1", "500ms", "1m30s")] == [30.0, 0.1, 0.5, 90.0]
    for wrong in ("", "-1", "soon", "10 s", "1e3", "nan"):
        with pytest.raises(WrongUsageError, match=r"^--timeout .* is no time; give seconds"):
            duration_s(wrong, "--timeout")
