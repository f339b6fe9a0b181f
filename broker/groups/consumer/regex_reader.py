"""Reads a regular expression into its tree: recursive descent over the text.

Owns: the grammar of `regex_syntax`. Must not know: how a tree is matched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from odradek.broker.groups.consumer.regex_syntax import (
    ASSERTIONS,
    CONTROL_ESCAPES,
    LINE_END,
    LINE_START,
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_REPEAT,
    PERL_CLASSES,
    POSIX_CLASSES,
    Accepts,
    Character,
    Choice,
    Flags,
    InvalidExpressionError,
    Node,
    Repeat,
    Sequence,
    one_of,
    unicode_class,
)

_OCTAL: Final = "01234567"
_HEX: Final = "0123456789abcdefABCDEF"


def read(text: str) -> Node:
    """Return the expression as a tree; raises InvalidExpressionError."""
    if len(text) > MAX_LENGTH:
        raise InvalidExpressionError(f"an expression may have at most {MAX_LENGTH} characters")
    reader = _Reader(text)
    node = reader.choice(Flags(), 0)
    if reader.at < len(text):
        raise InvalidExpressionError("unexpected )")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self, ahead: str) -> bool:
        return self.text.startswith(ahead, self.at)

    def skip(self, ahead: str) -> bool:
        if not self.text.startswith(ahead, self.at):
            return False
        self.at += len(ahead)
        return True

    def next(self, what: str) -> str:
        if self.at >= len(self.text):
            raise InvalidExpressionError(f"{what} has no end")
        self.at += 1
        return self.text[self.at - 1]

    def choice(self, flags: Flags, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise InvalidExpressionError(f"groups may be nested at most {MAX_DEPTH} deep")
        options: list[Node] = []
        parts: list[Node] = []
        while self.at < len(self.text) and not self.peek(")"):
            if self.skip("|"):
                options.append(Sequence(tuple(parts)))
                parts = []
            elif (changed := self.inline_flags(flags)) is not None:
                flags = changed
            else:
                parts.append(self.repeated(flags, depth))
        options.append(Sequence(tuple(parts)))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def inline_flags(self, flags: Flags) -> Flags | None:
        """Take in `(?i)`, which holds until the end of the group it is in."""
        end = self.text.find(")", self.at)
        inside = self.text[self.at + 2 : end] if end >= 0 and self.peek("(?") else ""
        if not inside or not set(inside) <= set("imsU-"):
            return None
        self.at = end + 1
        return _flags(inside, flags)

    def repeated(self, flags: Flags, depth: int) -> Node:
        node = self.single(flags, depth)
        repeated = False
        while (bounds := self.bounds()) is not None:
            if repeated:
                raise InvalidExpressionError("invalid nested repetition operator")
            self.skip("?")
            node = Repeat(node, *bounds)
            repeated = True
        return node

    def bounds(self) -> tuple[int, int | None] | None:
        if self.skip("*"):
            return 0, None
        if self.skip("+"):
            return 1, None
        if self.skip("?"):
            return 0, 1
        if not self.peek("{"):
            return None
        end = self.text.find("}", self.at)
        least, comma, most = self.text[self.at + 1 : max(end, self.at)].partition(",")
        if end < 0 or not _is_number(least) or not (most == "" or _is_number(most)):
            return None  # a brace like any other character
        self.at = end + 1
        low = int(least)
        high = low if not comma else int(most) if most else None
        if low > MAX_REPEAT or (high is not None and (high > MAX_REPEAT or high < low)):
            raise InvalidExpressionError("invalid repeat count")
        return low, high

    def single(self, flags: Flags, depth: int) -> Node:
        c = self.next("the expression")
        if c == "(":
            return self.group(flags, depth)
        if c == "[":
            return self.char_class(flags)
        if c == ".":
            return Character((lambda _: True) if flags.dot_all else (lambda found: found != "\n"))
        if c == "^":
            return LINE_START if flags.multi_line else ASSERTIONS["A"]
        if c == "$":
            return LINE_END if flags.multi_line else ASSERTIONS["z"]
        if c in "*+?":
            raise InvalidExpressionError(f"missing argument to repetition operator: {c}")
        if c == "\\":
            return self.escape(flags)
        return one_of(c.__eq__, flags.ignore_case)

    def group(self, flags: Flags, depth: int) -> Node:
        if self.skip("?P<") or self.skip("?<"):
            name = self.text[self.at :].partition(">")[0]
            if not name or not all(c.isascii() and (c.isalnum() or c == "_") for c in name):
                raise InvalidExpressionError("invalid named capture")
            self.at += len(name)
            if not self.skip(">"):
                raise InvalidExpressionError("invalid named capture")
        elif self.skip("?"):
            letters, colon, _ = self.text[self.at :].partition(":")
            if not colon or not set(letters) <= set("imsU-"):
                raise InvalidExpressionError("invalid or unsupported Perl syntax: (?")
            self.at += len(letters) + 1
            flags = _flags(letters, flags)
        node = self.choice(flags, depth + 1)
        if not self.skip(")"):
            raise InvalidExpressionError("missing closing )")
        return node

    def escape(self, flags: Flags) -> Node:
        if self.skip("Q"):
            quoted, _, _ = self.text[self.at :].partition("\\E")
            self.at = min(len(self.text), self.at + len(quoted) + 2)
            return Sequence(tuple(one_of(c.__eq__, flags.ignore_case) for c in quoted))
        c = self.next("trailing \\")
        if c in ASSERTIONS:
            return ASSERTIONS[c]
        if c == "C":
            return Character(lambda _: True)
        found = self.escaped_class(c)
        if found is None:
            found = self.escaped_character(c).__eq__
        return one_of(found, flags.ignore_case)

    def escaped_class(self, c: str) -> Accepts | None:
        if c in PERL_CLASSES:
            return PERL_CLASSES[c]
        if c not in "pP":
            return None
        name = self.next("\\p")
        if name == "{":
            name, closed, _ = self.text[self.at :].partition("}")
            if not closed:
                raise InvalidExpressionError("invalid character class range: \\p{")
            self.at += len(name) + 1
        negated = (c == "P") != name.startswith("^")
        wanted = unicode_class(name.removeprefix("^"))
        return (lambda found: not wanted(found)) if negated else wanted

    def escaped_character(self, c: str) -> str:
        if c in CONTROL_ESCAPES:
            return CONTROL_ESCAPES[c]
        if c == "x":
            return self.hex_character()
        if c == "0" or (c in _OCTAL and self.text[self.at : self.at + 1] in tuple(_OCTAL)):
            digits = c
            while len(digits) < 3 and self.text[self.at : self.at + 1] in tuple(_OCTAL):
                digits += self.next("\\0")
            return chr(int(digits, 8))
        if c.isascii() and not c.isalnum():
            return c
        raise InvalidExpressionError(f"invalid escape sequence: \\{c}")

    def hex_character(self) -> str:
        if self.skip("{"):
            digits, closed, _ = self.text[self.at :].partition("}")
            self.at += len(digits) + 1
        else:
            digits, closed = self.text[self.at : self.at + 2], "}"
            self.at += 2
            if len(digits) < 2:
                closed = ""
        if not closed or not 0 < len(digits) <= 6 or not set(digits) <= set(_HEX) or int(digits, 16) > 0x10FFFF:
            raise InvalidExpressionError("invalid escape sequence: \\x")
        return chr(int(digits, 16))

    def char_class(self, flags: Flags) -> Node:
        negated = self.skip("^")
        wanted: list[Accepts] = []
        while not wanted or not self.peek("]"):
            if self.at >= len(self.text):
                raise InvalidExpressionError("missing closing ]")
            wanted.append(self.class_item())
        self.at += 1
        either = one_of(lambda c: any(accepts(c) for accepts in wanted), flags.ignore_case)
        return Character(lambda c: not either.accepts(c)) if negated else either

    def class_item(self) -> Accepts:
        if self.peek("[:"):
            name, closed, _ = self.text[self.at + 2 :].partition(":]")
            if closed:
                self.at += len(name) + 4
                negated = name.startswith("^")
                posix = POSIX_CLASSES.get(name.removeprefix("^"))
                if posix is None:
                    raise InvalidExpressionError(f"invalid character class range: [:{name}:]")
                return (lambda c: not posix(c)) if negated else posix
        low = self.next("a character class")
        if low == "\\":
            escaped = self.next("trailing \\")
            known = self.escaped_class(escaped)
            if known is not None:
                return known
            low = self.escaped_character(escaped)
        if not self.peek("-") or self.text[self.at + 1 : self.at + 2] in ("]", ""):
            return low.__eq__
        self.at += 1
        high = self.next("a character class")
        if high == "\\":
            high = self.escaped_character(self.next("trailing \\"))
        if high < low:
            raise InvalidExpressionError(f"invalid character class range: {low}-{high}")
        return lambda c: low <= c <= high


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5


def _flags(letters: str, flags: Flags) -> Flags:
    """`U` (ungreedy) changes nothing about whether a whole text matches."""
    on, minus, off = letters.partition("-")
    if "-" in off or (minus and not off):
        raise InvalidExpressionError("invalid or unsupported Perl syntax: (?")
    names = {"i": "ignore_case", "s": "dot_all", "m": "multi_line"}
    wanted = {names[c]: True for c in on if c in names} | {names[c]: False for c in off if c in names}
    return replace(flags, **wanted)
