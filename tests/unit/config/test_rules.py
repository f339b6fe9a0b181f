"""Kafka's notation of valid values, checked."""

import pytest

from odradek.config.definitions import broker_definitions, group_definitions, topic_definitions
from odradek.config.errors import ConfigError
from odradek.config.rules import OFFSET_RESET, THROTTLED_REPLICAS, check
from odradek.config.values import ConfigType, Value

INT, STRING, LIST, DOUBLE = ConfigType.INT, ConfigType.STRING, ConfigType.LIST, ConfigType.DOUBLE
COMPRESSION = "[uncompressed, zstd, lz4, snappy, gzip, producer]"

FINE: list[tuple[str, ConfigType, Value]] = [
    ("", STRING, "anything"),
    ("[1,...]", INT, 1),
    ("[-131072,...,22]", INT, -131072),
    ("[-131072,...,22]", INT, 22),
    ("[0,...,0.5]", DOUBLE, 0.5),
    ("[1,...,9] or -1", INT, -1),
    ("[1,...,9] or -1", INT, 9),
    ("[0,...]", INT, None),
    (COMPRESSION, STRING, "uncompressed"),
    ("(case insensitive) [DISABLED, UPGRADE]", STRING, "Upgrade"),
    ("[compact, delete]", LIST, ()),
    ("[compact, delete]", LIST, ("delete", "compact")),
    ("non-empty string", STRING, None),
    ("non-empty string", STRING, "x"),
    ("non-null string", STRING, ""),
    ("non-empty list", LIST, ()),
    (THROTTLED_REPLICAS, LIST, ()),
    (THROTTLED_REPLICAS, LIST, ("*",)),
    (THROTTLED_REPLICAS, LIST, ("0:1", "12:3")),
    (THROTTLED_REPLICAS, LIST, ("0:1", "")),
    (OFFSET_RESET, STRING, "earliest"),
    (OFFSET_RESET, STRING, "by_duration:PT1H30M"),
    (OFFSET_RESET, STRING, "by_duration:P2DT0.5S"),
]
NOT_FINE: list[tuple[str, ConfigType, Value, str]] = [
    ("[1,...]", INT, 0, "at least 1"),
    ("[-131072,...,22]", INT, 23, "from -131072 to 22"),
    ("[0,...,1]", DOUBLE, 1.1, "from 0 to 1"),
    ("[0,...,1]", DOUBLE, float("nan"), "from 0 to 1"),
    ("[1,...,9] or -1", INT, 0, "from 1 to 9, or -1"),
    (COMPRESSION, STRING, "GZIP", "snappy, gzip or producer"),
    ("[compact, delete]", LIST, ("delete", "keep"), "compact or delete"),
    ("[compact, delete]", LIST, ("delete", ""), "without empty elements"),
    ("(case insensitive) [ES256, RS256]", STRING, "HS256", "es256 or rs256"),
    ("non-empty string", STRING, "", "some text"),
    (THROTTLED_REPLICAS, LIST, ("0:1", "*"), "partition:broker"),
    (THROTTLED_REPLICAS, LIST, ("0:",), "partition:broker"),
    (OFFSET_RESET, STRING, "none", "latest, earliest or by_duration"),
    (OFFSET_RESET, STRING, "by_duration:P", "by_duration"),
    (OFFSET_RESET, STRING, "by_duration:PT", "by_duration"),
    (OFFSET_RESET, STRING, "by_duration:-PT1H", "by_duration"),
]


@pytest.mark.parametrize(("valid", "kind", "value"), FINE)
def test_what_the_notation_accepts(valid: str, kind: ConfigType, value: Value) -> None:
    """No complaint about a valid value."""
    assert check(valid, kind, value) is None


@pytest.mark.parametrize(("valid", "kind", "value", "expected"), NOT_FINE)
def test_what_the_notation_refuses(valid: str, kind: ConfigType, value: Value, expected: str) -> None:
    """The complaint says what was expected."""
    problem = check(valid, kind, value)
    assert problem is not None
    assert expected in problem


def test_every_notation_of_the_tables_is_understood() -> None:
    """Each valid-values text can be checked: a value of its type is accepted or refused with a reason."""
    samples: dict[ConfigType, Value] = {INT: 3, ConfigType.LONG: 3, ConfigType.SHORT: 3, DOUBLE: 3.0, LIST: ("x",)}
    for table in (broker_definitions(), topic_definitions(), group_definitions()):
        for definition in table.values():
            problem = check(definition.valid, definition.type, samples.get(definition.type, "x"))
            assert problem is None or problem.startswith("expected ")


def test_what_stands_twice_in_a_list_counts_once() -> None:
    """Duplicates in a list are dropped (KIP-1161), but not among throttled replicas."""
    assert topic_definitions()["cleanup.policy"].parse("compact,delete,compact") == ("compact", "delete")
    throttled = topic_definitions()["leader.replication.throttled.replicas"]
    assert throttled.parse("0:1,0:1") == ("0:1", "0:1")


@pytest.mark.parametrize("key", ["listeners", "log.dirs", "log.dir", "process.roles", "advertised.listeners"])
def test_lists_that_need_an_element_refuse_an_empty_text(key: str) -> None:
    """An empty value of such a key is refused."""
    with pytest.raises(ConfigError, match="at least one element"):
        broker_definitions()[key].parse("")


def test_an_empty_cleanup_policy_is_accepted() -> None:
    """Since Kafka 4.2 no policy at all is a policy."""
    assert topic_definitions()["cleanup.policy"].parse("") == ()
