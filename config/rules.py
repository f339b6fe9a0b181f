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
from typing import NamedTuple

from odradek.config.values import ConfigType, Value

Accepts = Callable[[Value], bool]

# Compiled on first use: hardly a start needs them.
_THROTTLED = r"(\d+:\d+)?\Z"
_DURATION = r"(?i)by_duration:P(?!\Z)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{1,9})?S)?)?\Z"
_ANY_CASE = "(case insensitive) "

THROTTLED_REPLICAS = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
PLAIN_LISTS = (THROTTLED_REPLICAS, "non-empty list")
OFFSET_RESET = "[latest, earliest, by_duration:PnDTnHnMn.nS]"


class ConfigValidator(NamedTuple):
    """Whether a value is accepted, and what is, in words that follow "expected"."""

    accepts: Accepts
    expected: str


def check(valid: str, kind: ConfigType, value: Value) -> str | None:
    """Return what was expected when `valid` does not accept the value, else None."""
    if kind is ConfigType.LIST and valid not in PLAIN_LISTS and isinstance(value, tuple) and "" in value:
        return "expected a list without empty elements"
    rule = _rule(valid)
    return None if rule.accepts(value) else f"expected {rule.expected}"


def describe(valid: str) -> str:
    """Return in words what the notation accepts; "" when it accepts everything."""
    return _rule(valid).expected


@lru_cache(maxsize=128)
def _rule(valid: str) -> ConfigValidator:
    if valid in ("", "non-null string", "non-empty list"):
        return ConfigValidator(lambda _: True, "")
    if valid == "non-empty string":
        return ConfigValidator(lambda value: value != "", "some text")
    if valid == THROTTLED_REPLICAS:
        return ConfigValidator(_accepts_throttled, "partition:broker pairs such as 0:1,1:2, or *")
    if valid == OFFSET_RESET:
        return ConfigValidator(
            _accepts_offset_reset, "latest, earliest or by_duration: with an ISO-8601 duration, not negative"
        )
    bounds, _, other = valid.partition(" or ")
    low, dots, high = bounds.strip("[]").partition(",...")
    if dots:
        return _range_rule(low, high.lstrip(","), other)
    return _words_rule(tuple(valid.removeprefix(_ANY_CASE).strip("[]").split(", ")), valid.startswith(_ANY_CASE))


def _range_rule(low: str, high: str, other: str) -> ConfigValidator:
    lowest, highest = int(low), float(high or "inf")
    exception = int(other) if other else None

    def accepts(value: Value) -> bool:
        return not isinstance(value, (int, float)) or lowest <= value <= highest or value == exception

    expected = f"a number from {low} to {high}" if high else f"at least {low}"
    return ConfigValidator(accepts, f"{expected}, or {other}" if other else expected)


def _words_rule(words: tuple[str, ...], any_case: bool) -> ConfigValidator:
    def accepts(value: Value) -> bool:
        given = value if isinstance(value, tuple) else (value,)
        return all(not isinstance(one, str) or (one.upper() if any_case else one) in words for one in given)

    shown = [word.lower() if any_case else word for word in words]
    return ConfigValidator(accepts, f"{', '.join(shown[:-1])} or {shown[-1]}")


def _accepts_throttled(value: Value) -> bool:
    if not isinstance(value, tuple) or value[:1] == ("*",):
        return True
    return all(map(re.compile(_THROTTLED).match, value))


def _accepts_offset_reset(value: Value) -> bool:
    if not isinstance(value, str) or value in ("latest", "earliest"):
        return True
    return re.match(_DURATION, value) is not None
