"""The syntax of regular expressions that members subscribe with: that of RE2, as Kafka has it with RE2/J.

Owns: reading an expression into a small tree, and refusing what is none. Sizes are bounded: an expression comes from a
client. What stands for anything but characters, look-around and back-references, is not in RE2 and not here. Must not
know: how a tree is matched. Follows RE2's syntax page.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_LENGTH: Final = 4096
"""Characters of an expression: far more than anybody types, few enough to read in a millisecond or two."""
MAX_DEPTH: Final = 100
"""Groups inside groups; reading recurses."""
MAX_REPEAT: Final = 1000
"""RE2's own limit of `{n,m}`."""

Accepts = Callable[[str], bool]


class InvalidExpressionError(ValueError):
    """The text is not a regular expression of this syntax; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Character:
    """One character that `accepts` says yes to."""

    accepts: Accepts


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place rather than a character: `^`, `$`, a word's edge. Given the characters before and after, or ''."""

    holds: Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; matches nothing at all if empty."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of them."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """At least and at most so many times; None: any number."""

    part: Node
    least: int
    most: int | None


Node = Character | Assertion | Sequence | Choice | Repeat


@dataclass(frozen=True, slots=True)
class Flags:
    """What `(?i)`, `(?s)` and `(?m)` turn on."""

    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False


def one_of(wanted: Accepts, ignore_case: bool) -> Character:
    """Return a node for what is wanted, in either case if so asked."""
    if not ignore_case:
        return Character(wanted)
    return Character(lambda c: wanted(c) or wanted(c.lower()) or wanted(c.upper()))


def is_word(c: str) -> bool:
    """Whether `\\w` is it: ASCII only, as in RE2."""
    return c.isascii() and (c.isalnum() or c == "_")


def _is_digit(c: str) -> bool:
    return "0" <= c <= "9"


def _is_space(c: str) -> bool:
    return c in "\t\n\f\r "


PERL_CLASSES: Final[dict[str, Accepts]] = {
    "d": _is_digit,
    "D": lambda c: not _is_digit(c),
    "w": is_word,
    "W": lambda c: not is_word(c),
    "s": _is_space,
    "S": lambda c: not _is_space(c),
}

POSIX_CLASSES: Final[dict[str, Accepts]] = {
    "alnum": lambda c: c.isascii() and c.isalnum(),
    "alpha": lambda c: c.isascii() and c.isalpha(),
    "ascii": str.isascii,
    "blank": lambda c: c in "\t ",
    "cntrl": lambda c: c < " " or c == "\x7f",
    "digit": _is_digit,
    "graph": lambda c: "!" <= c <= "~",
    "lower": lambda c: "a" <= c <= "z",
    "print": lambda c: " " <= c <= "~",
    "punct": lambda c: "!" <= c <= "~" and not c.isalnum(),
    "space": lambda c: c in "\t\n\v\f\r ",
    "upper": lambda c: "A" <= c <= "Z",
    "word": is_word,
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}

CONTROL_ESCAPES: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

ASSERTIONS: Final[dict[str, Assertion]] = {
    "A": Assertion(lambda before, _: not before),
    "z": Assertion(lambda _, after: not after),
    "b": Assertion(lambda before, after: bool(before and is_word(before)) != bool(after and is_word(after))),
    "B": Assertion(lambda before, after: bool(before and is_word(before)) == bool(after and is_word(after))),
}
LINE_START: Final = Assertion(lambda before, _: before in ("", "\n"))
LINE_END: Final = Assertion(lambda _, after: after in ("", "\n"))

_SUBCATEGORIES: Final = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES: Final = frozenset(_SUBCATEGORIES) | {kind + sub for kind, subs in _SUBCATEGORIES.items() for sub in subs}
_SCRIPTS: Final = {"Latin": "LATIN", "Greek": "GREEK", "Cyrillic": "CYRILLIC", "Hebrew": "HEBREW", "Han": "CJK"}
"""Scripts by how the names of their characters begin. A topic's name is ASCII, so only Latin can ever match."""


def unicode_class(name: str) -> Accepts:
    """Return what `\\p{name}` stands for; raises InvalidExpressionError for an unknown name."""
    if name == "Any":
        return lambda _: True
    if name in _CATEGORIES:
        return lambda c: unicodedata.category(c).startswith(name)
    if name in _SCRIPTS:
        start = _SCRIPTS[name] + " "
        return lambda c: c.isalpha() and unicodedata.name(c, "").startswith(start)
    raise InvalidExpressionError(f"invalid character class range: \\p{{{name}}}")
