"""Patterns for names of topics, as Spark's own source takes them: regular expressions of Java that match a whole name.

What is usual means the same in Python. What is written otherwise is translated: `(?<name>...)`, `\\k<name>`,
`\\Q...\\E`, `\\p{Alpha}` and the other classes of POSIX, `\\h`, `\\z`, `[a-c[x-z]]`, `[a-z&&[^bc]]`, and flags that
begin in the middle. The names of topics are ASCII, so classes of Unicode have only their ASCII part, and `$`, `\\b`
and flags that concern lines or other letters make no difference. Everything else that Python does not know is refused.
"""

from __future__ import annotations

import re
import warnings
from typing import Final

from pyspark_odradek.errors import OptionError

_LONGEST: Final = 10_000
_CLASSES: Final = {
    "lower": "a-z",
    "upper": "A-Z",
    "ascii": r"\x00-\x7f",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "punct": r"!-/:-@\[-`{-~",
    "graph": "!-~",
    "print": " -~",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "xdigit": "0-9a-fA-F",
    "space": r" \t\n\x0b\f\r",
    "l": "a-zA-Z",
    "lu": "A-Z",
    "ll": "a-z",
    "n": "0-9",
    "nd": "0-9",
    "islatin": "a-zA-Z",
    "isalphabetic": "a-zA-Z",
    "isdigit": "0-9",
    "isletter": "a-zA-Z",
    "isuppercase": "A-Z",
    "islowercase": "a-z",
    "javaletterordigit": "a-zA-Z0-9",
}
_PROPERTY: Final = re.compile(r"\{(\w+)\}|([A-Za-z])")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_FLAGS: Final = re.compile(r"\(\?([idmsuxU]*)(?:-[idmsuxU]*)?([:)])")


class _UnknownConstructError(Exception):
    """A part of a pattern that cannot be translated."""


def topic_pattern(text: str, option: str) -> re.Pattern[str]:
    """Return a pattern for whole names of topics. Raises OptionError for what is none, or cannot be understood here."""
    pattern = text.strip()
    if len(pattern) > _LONGEST:
        raise OptionError(f"{option} has {len(pattern)} characters, more than {_LONGEST}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # what Python may come to read otherwise
            return re.compile(_Translation(pattern).whole())
    except (re.error, _UnknownConstructError, FutureWarning, OverflowError, RecursionError) as wrong:
        why = str(wrong) or "it is nested too deeply"
        raise OptionError(f"{option} {text!r} is no regular expression that is understood here: {why}") from wrong


class _Translation:
    """One pass over a pattern of Java's."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> str:
        """Return the pattern in Python's form."""
        found = self._group()
        if self._at < len(self._text):
            raise _UnknownConstructError(f"the ) at {self._at} closes nothing")
        return found

    def _group(self) -> str:
        """Translate up to the end of a group; a flag in the middle holds for the rest of it."""
        parts: list[str] = []
        ends = ""
        while self._at < len(self._text) and self._text[self._at] != ")":
            begun = _FLAGS.match(self._text, self._at)
            if begun and begun[2] == ")":
                self._at = begun.end()
                parts.append(f"(?{_flags(begun[0])}:")
                ends += ")"
            else:
                parts.append(self._part())
        return "".join(parts) + ends

    def _part(self) -> str:
        char = self._text[self._at]
        if char == "\\":
            return self._escape(inside=False)
        if char == "[":
            return self._set()
        if char != "(":
            self._at += 1
            return char
        opening = self._opening()
        body = self._group()
        if self._at >= len(self._text):
            raise _UnknownConstructError("a ( is not closed")
        self._at += 1
        return f"{opening}{body})"

    def _opening(self) -> str:
        """Translate what a group begins with."""
        text = self._text
        if begun := _FLAGS.match(text, self._at):
            self._at = begun.end()
            return f"(?{_flags(begun[0])}:"
        for opening in ("(?=", "(?!", "(?<=", "(?<!", "(?>"):
            if text.startswith(opening, self._at):
                self._at += len(opening)
                return opening
        if text.startswith("(?<", self._at):
            self._at += 3
            return f"(?P<{self._name()}>"
        if text.startswith("(?", self._at):
            raise _UnknownConstructError(f"{text[self._at : self._at + 3]} is not known")
        self._at += 1
        return "("

    def _name(self) -> str:
        found = _NAME.match(self._text, self._at)
        if found is None or not self._text.startswith(">", found.end()):
            raise _UnknownConstructError("a group has no name that ends with >")
        self._at = found.end() + 1
        return found[0]

    def _escape(self, inside: bool) -> str:
        """Translate what begins with a backslash; `inside` a class of characters there are no brackets around it."""
        kind = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if kind == "Q":
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at : end if end >= 0 else None]
            self._at = len(self._text) if end < 0 else end + 2
            return re.escape(quoted)
        if kind in "pP" and kind:
            return self._property(negated=kind == "P", inside=inside)
        if kind == "k" and self._text.startswith("<", self._at):
            self._at += 1
            return f"(?P={self._name()})"
        if kind in "hH" and kind:
            return r" \t" if inside and kind == "h" else _in_brackets(r" \t", kind == "H", inside)
        if kind in "zZ" and kind:
            return r"\Z"
        if kind in ("E", ""):
            raise _UnknownConstructError(f"a \\{kind} stands alone")
        return f"\\{kind}"

    def _property(self, negated: bool, inside: bool) -> str:
        found = _PROPERTY.match(self._text, self._at)
        name = (found[1] or found[2]).lower() if found else ""
        if found is None or name not in _CLASSES:
            raise _UnknownConstructError(f"the class \\p{self._text[self._at : self._at + 12]} is not known")
        self._at = found.end()
        return _in_brackets(_CLASSES[name], negated, inside)

    def _set(self) -> str:
        """Translate a class of characters with all that is in it."""
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        members, others, first = "", [], True
        while first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise _UnknownConstructError("a [ is not closed")
            if self._text.startswith("&&", self._at):
                self._at += 2
                others.append(self._rest_of_set())
                break
            members += self._member()
            first = False
        self._at += 1
        both = "".join(f"(?={each})" for each in others)
        plain = f"[{members}]" if members else "[^\\x00-\\U0010ffff]"
        if both:
            return f"(?!{both}{plain})[\\s\\S]" if negated else f"(?:{both}{plain})"
        return f"[^{members}]" if negated else plain

    def _rest_of_set(self) -> str:
        """Translate what follows &&, up to the end of the class."""
        begun = self._at
        if self._text.startswith("[", begun):
            found = self._set()
            if self._text.startswith("]", self._at):
                return found
        raise _UnknownConstructError(f"&& at {begun} is only understood with one [...] after it")

    def _member(self) -> str:
        char = self._text[self._at]
        if char == "\\":
            return self._escape(inside=True)
        if char == "[":
            nested = self._set()
            if not nested.startswith("[") or nested.startswith("[^"):
                raise _UnknownConstructError("a class within a class cannot be negated or cut here")
            return nested[1:-1]
        self._at += 1
        return f"\\{char}" if char in "&|~" else char


def _flags(begun: str) -> str:
    """Return Python's form of flags; only whether capitals count and whether blanks do matter in names of topics."""
    on, _, off = begun.strip("(?:)").partition("-")
    if "x" in on:
        raise _UnknownConstructError("the flag x (comments) is not known")
    return ("i" if "i" in on else "") + ("-i" if "i" in off else "")


def _in_brackets(members: str, negated: bool, inside: bool) -> str:
    if inside and negated:
        raise _UnknownConstructError("a negated class within a class is not known")
    return members if inside else f"[{'^' if negated else ''}{members}]"
