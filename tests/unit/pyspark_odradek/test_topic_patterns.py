"""Patterns for names of topics mean what they mean to Java."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_odradek.errors import OptionError
from pyspark_odradek.topic_patterns import topic_pattern

NAMES = ("orders", "orders-eu", "orders.v2", "Orders", "payments-7", "a_b", "x9", "abc", "d")


def _matched(pattern: str) -> set[str]:
    found = topic_pattern(pattern, "subscribePattern")
    return {name for name in NAMES if found.fullmatch(name)}


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("orders.*", {"orders", "orders-eu", "orders.v2"}),
        (" orders ", {"orders"}),
        (r"orders|abc", {"orders", "abc"}),
        (r"\Qorders.v2\E", {"orders.v2"}),
        (r"orders\Q.v\E\d", {"orders.v2"}),
        (r"(?i)ORDERS", {"orders", "Orders"}),
        (r"o(?i)RDERS", {"orders"}),
        (r"(?:o(?i)R)ders", {"orders"}),
        (r"(?i:O)rders", {"orders", "Orders"}),
        (r"\p{Lower}+", {"orders", "abc", "d"}),
        (r"\p{Upper}\p{Alpha}+", {"Orders"}),
        (r"\p{L}+\P{Alpha}\p{Alnum}+", {"orders-eu", "orders.v2", "payments-7", "a_b"}),
        (r"[\p{Lower}\p{Digit}]+", {"orders", "x9", "abc", "d"}),
        (r"[a-c[x-z]]\w*", {"a_b", "x9", "abc"}),
        (r"[a-z&&[^bc]]", {"d"}),
        (r"[^a-z&&[^bc]].*", {"Orders"}),
        (r"(?<first>a).(?<last>b)", {"a_b"}),
        (r"(?<w>x)9|abc\z", {"x9", "abc"}),
        (r"(?!orders).*", set(NAMES) - {"orders", "orders-eu", "orders.v2"}),
        (r"^orders$", {"orders"}),
        (r"or++ders", {"orders"}),
        (r"[a-z&]+", {"orders", "abc", "d"}),
    ],
)
def test_what_java_matches(pattern: str, names: set[str]) -> None:
    """Each pattern matches the names that `java.util.regex` matches as a whole."""
    assert _matched(pattern) == names


@pytest.mark.parametrize(
    "pattern",
    [
        "orders(",
        "orders)",
        "[a-",
        "*",
        r"\p{IsGreek}x",
        r"\p",
        "(?x)a b",
        "(?#comment)a",
        r"[a-z&&b-d]",
        r"[^a[^b]]",
        "\\",
        r"a\E",
        "(?<1>a)",
        "a{99999999999}",
        "(" * 5000,
        "a" * 10_001,
    ],
)
def test_what_is_not_understood_is_refused(pattern: str) -> None:
    """What is wrong, or would mean something else here, does not select topics by a guess."""
    with pytest.raises(OptionError, match="subscribePattern"):
        topic_pattern(pattern, "subscribePattern")


@given(st.text(alphabet="ab-.[]()^&\\pQEkz{}<>?:|+*L1", max_size=24))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    """No input ends otherwise."""
    try:
        found = topic_pattern(text, "subscribePattern")
    except OptionError:
        return
    assert isinstance(found, re.Pattern)
