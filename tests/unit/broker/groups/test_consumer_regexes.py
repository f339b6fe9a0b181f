"""Regular expressions of subscriptions: RE2's syntax, the whole name, and no expression that stops the broker."""

from __future__ import annotations

import re
import string
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.groups.consumer import regexes
from odradek.broker.groups.consumer.regex_syntax import InvalidExpressionError
from odradek.broker.groups.consumer.regexes import Expression


def matches(expression: str, *names: str) -> list[str]:
    """Return those of the names that match."""
    matching = Expression(expression).matching(names)
    while True:
        try:
            next(matching)
        except StopIteration as done:
            return [name for name in names if name in done.value]


@pytest.mark.parametrize(
    ("expression", "matching", "others"),
    [
        ("foo.*", ["foo", "foobar"], ["xfoo", "fo"]),
        ("a|b", ["a", "b"], ["ab", ""]),
        ("", [""], ["a"]),
        ("(?i)ABC", ["abc", "ABC"], ["ab"]),
        ("a(?i:b)c", ["abc", "aBc"], ["ABc", "abC"]),
        ("[a-c]{2,3}", ["ab", "abc"], ["a", "abcd", "abd"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaa"], ["a"]),
        ("a{,2}", ["a{,2}"], ["a", "aa"]),
        ("x{0}y", ["y"], ["xy"]),
        ("^x$", ["x"], ["xx"]),
        ("^(a|^b)$", ["a", "b"], ["ab"]),
        (r"\bfoo\b.*", ["foo.bar", "foo"], ["foobar"]),
        (r"a\B.*", ["ab"], ["a", "a.b"]),
        (r"[^.]+\.\d+", ["a.1", "topic.42"], ["a.b", ".1"]),
        (r"\D\w\W\S", ["ab.c"], ["1b.c", "abcc"]),
        (r"[[:alpha:]]+\Q.x\E", ["ab.x"], ["abyx", "1.x"]),
        ("[[:^digit:]]", ["a"], ["1"]),
        (r"\pL\p{Nd}\P{L}\p{^L}", ["a1-_"], ["11-_", "a1b-"]),
        (r"\p{Latin}+", ["abc"], ["1"]),
        (r"\x61\x{62}\141", ["aba"], ["xab"]),
        ("(?P<name>a)(?<other>b)(?:c)", ["abc"], ["ab"]),
        ("(a+)+b", ["ab", "aaab"], ["a"]),
        ("a*?b??", ["", "a", "aab"], ["abb"]),
        ("[]a]+", ["]a"], ["b"]),
        ("[a-]+", ["a-"], ["b"]),
        ("[^a]", ["b"], ["a"]),
        (r"[\w.]+", ["a.b_c"], ["a-b"]),
        ("(a|)", ["a", ""], ["b"]),
        ("a)".replace(")", "") + "(?s).", ["ab"], ["a"]),
    ],
)
def test_whole_names_match(expression: str, matching: list[str], others: list[str]) -> None:
    """The names that RE2 says match, and no others."""
    assert matches(expression, *matching, *others) == matching


@pytest.mark.parametrize(
    "expression",
    [
        *("(", ")", "a)", "[", "[a", "*", "+a", "?", "a**", "a+*", "a|*", "(?", "(?<n", "(?P<>a)", "(?P<a"),
        *("a{1001}", "a{2,1}", "(?=a)", "(?!a)", "(?<=a)", r"\1", r"\8", r"\k", "\\", r"\pQ", r"\p{Foo}", r"\p{L"),
        *("[b-a]", "[[:foo:]]", r"\xg1", r"\x{110000}", r"\x{", "(?z)", "(?-)a", "(" * 200 + ")" * 200),
        "a" * 5_000,
        "(.{100}){100}",
        "((a{100}){100}){100}",
        "((){1000}){1000}",
    ],
)
def test_what_is_no_expression_is_refused(expression: str) -> None:
    """Neither what RE2 does not know nor what is too large to be meant."""
    with pytest.raises(InvalidExpressionError):
        Expression(expression)


def test_expression_that_makes_others_backtrack_is_matched_at_once() -> None:
    """Matching takes time in proportion to the name, however the expression is nested."""
    assert not matches("(a*)*(a*)*(a*)*b", "a" * 249)


def test_expression_that_costs_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is bounded: a client cannot keep the broker busy with names and states."""
    monkeypatch.setattr(regexes, "MAX_WORK", 1_000)
    with pytest.raises(InvalidExpressionError, match="expensive"):
        matches("(?:x?){100}y", "x" * 100 + "y")


@pytest.mark.parametrize("expression", ["(?:x?){600}y", r"(?i)\pL{900}", "(?:[a-z]{0,9}){60}", ".*"])
def test_others_get_their_turn_while_an_expression_is_matched(expression: str) -> None:
    """However dear it is, a slice of the work is a few thousand states or characters: some milliseconds."""
    names = ["x" * 200 + str(number) for number in range(2000)]
    compiled = Expression(expression)
    matching, slices, most = compiled.matching(names), 0, 0
    with suppress(StopIteration, InvalidExpressionError):
        while True:
            before = compiled._work_left
            next(matching)
            slices += 1
            most = max(most, before - compiled._work_left)
    assert slices >= 100
    assert most <= 3 * regexes.MAX_STATES


ATOMS = st.sampled_from(("a", "b", ".", "[ab]", "[^a]", r"\w", r"\d", "(?:ab)", "(a|b)"))


@given(
    st.recursive(
        ATOMS,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
            st.tuples(inner, st.sampled_from(("*", "+", "?", "{2}", "{0,2}"))).map(lambda two: f"(?:{two[0]}){two[1]}"),
        ),
        max_leaves=6,
    ),
    st.text("ab1", max_size=8),
)
def test_agrees_with_another_engine(expression: str, name: str) -> None:
    """On what the two have in common, Python's engine finds the same names."""
    assert bool(matches(expression, name)) == (re.fullmatch(expression, name) is not None)


@given(st.text(string.printable, max_size=30), st.text(string.ascii_letters + string.digits + "._-", max_size=20))
def test_any_text_is_either_refused_or_matched(expression: str, name: str) -> None:
    """Whatever a client sends, nothing but InvalidExpressionError comes of it."""
    with suppress(InvalidExpressionError):
        matches(expression, name)
