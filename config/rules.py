"""Which values a configuration accepts, written in Kafka's own notation and checked as Kafka checks them.

The notation is that of Kafka's reference and of the tables of this package:

    [1,...]                     a number of at least 1
    [0,...,1]                   a number within the range
    [1,...,9] or -1             the same, or the one other number
    [compact, delete]           one of the words; for a list, each element
    (case insensitive) [A, B]   one of the words in any case
    non-empty string            not ""
    non-null string             anything but null
    non-empty list              a list of any length (Kafka's own, misleading, name for the two quorum lists)

An empty notation accepts everything. Elements of a list are not empty and count once (KIP-1161), except in the lists of
throttled replicas and of the quorum; whether a list may be empty is a flag of the definition, because Kafka's notation
does not say it.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from config.values import ConfigType, Value

Rule = Callable[[Value], str | None]  # what was expected, or None when the value is fine

# Compiled on first use: hardly a start needs them.
_THROTTLED = r"(\d+:\d+)?\Z"
_DURATION = r"(?i)by_duration:P(?!\Z)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{1,9})?S)?)?\Z"
_ANY_CASE = "(case insensitive) "

THROTTLED_REPLICAS = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
PLAIN_LISTS = (THROTTLED_REPLICAS, "non-empty list")
OFFSET_RESET = "[latest, earliest, by_duration:PnDTnHnMn.nS]"


def check(valid: str, kind: ConfigType, value: Value) -> str | None:
    """Return what was expected when `valid` does not accept the value, else None."""
    if kind is ConfigType.LIST and valid not in PLAIN_LISTS and isinstance(value, tuple) and "" in value:
        return "expected a list without empty elements"
    return _rule(valid)(value)


def _accept(_: Value) -> str | None:
    return None


@lru_cache(maxsize=128)
def _rule(valid: str) -> Rule:
    if valid in ("", "non-null string", "non-empty list"):
        return _accept
    if valid == "non-empty string":
        return lambda value: "expected some text" if value == "" else None
    if valid == THROTTLED_REPLICAS:
        return _check_throttled
    if valid == OFFSET_RESET:
        return _check_offset_reset
    bounds, _, other = valid.partition(" or ")
    low, dots, high = bounds.strip("[]").partition(",...")
    if dots:
        return _range_rule(low, high.lstrip(",") or None, other or None)
    return _words_rule(tuple(valid.removeprefix(_ANY_CASE).strip("[]").split(", ")), valid.startswith(_ANY_CASE))


def _range_rule(low: str, high: str | None, other: str | None) -> Rule:
    lowest, highest = int(low), float(high) if high else None
    expected = f"expected at least {low}" if high is None else f"expected a number from {low} to {high}"
    if other is not None:
        expected += f", or {other}"

    def rule(value: Value) -> str | None:
        if not isinstance(value, (int, float)) or (other is not None and value == int(other)):
            return None
        return None if value >= lowest and (highest is None or value <= highest) else expected

    return rule


def _words_rule(words: tuple[str, ...], any_case: bool) -> Rule:
    expected = f"expected {', '.join(words[:-1])} or {words[-1]}"

    def rule(value: Value) -> str | None:
        given = value if isinstance(value, tuple) else (value,)
        for word in given:
            if isinstance(word, str) and (word.upper() if any_case else word) not in words:
                return expected
        return None

    return rule


def _check_throttled(value: Value) -> str | None:
    if not isinstance(value, tuple) or value[:1] == ("*",) or all(re.match(_THROTTLED, one) for one in value):
        return None
    return "expected partition:broker pairs such as 0:1,1:2, or *"


def _check_offset_reset(value: Value) -> str | None:
    if not isinstance(value, str) or value in ("latest", "earliest") or re.match(_DURATION, value):
        return None
    return "expected latest, earliest or by_duration:P… (an ISO-8601 duration, not negative)"
