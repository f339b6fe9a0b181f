"""A JAAS entry, as `sasl.jaas.config` has it: a login module, a flag, and options, up to a semicolon.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b" user_c="d";

Read as Kafka reads it (`JaasConfig`, with Java's StreamTokenizer): one entry, comments of Java, strings in either
quotes with Java's escapes. A value without quotes may hold anything but white space, quotes, `;` and `=`, numbers too.
The one parser for the broker's file and for that of clients. Sentences name no value: they are passwords.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from odradek.config.errors import HIDDEN, ConfigError

FLAGS: Final = ("required", "requisite", "sufficient", "optional")
MAX_LENGTH: Final = 1 << 20
"""Characters of an entry: some ten thousand users."""

_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_MARKS: Final = "=;"
_QUOTES: Final = "\"'"

USER_PREFIX: Final = "user_"


class JaasEntry(NamedTuple):
    """One entry; options may be passwords, so none of them is shown."""

    module: str
    """Java's class, with its package."""
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<JAAS entry of {self.module}>"

    @property
    def module_name(self) -> str:
        """The class without its package: "PlainLoginModule"."""
        return self.module.rpartition(".")[2]

    @property
    def users(self) -> dict[str, str]:
        """The passwords of `user_NAME` options, by NAME."""
        length = len(USER_PREFIX)
        return {name[length:]: value for name, value in self.options.items() if name.startswith(USER_PREFIX)}


class _Token(NamedTuple):
    text: str
    is_mark: bool
    """Whether it is `=` or `;`, and not a word that looks so."""


def parse_jaas(text: str, key: str, origin: str | None = None) -> JaasEntry:
    """Return the entry in the value of `key`; ConfigError where it is none, or more than one."""

    def wrong(reason: str) -> ConfigError:
        return ConfigError(
            f'{reason}; expected: the class of a login module, required, and name="value" pairs up to a semicolon',
            key=key,
            value=HIDDEN,
            origin=origin,
        )

    if len(text) > MAX_LENGTH:
        raise wrong(f"has more than {MAX_LENGTH} characters")
    try:
        tokens = list(_tokens(text))
    except ValueError as bad:
        raise wrong(str(bad)) from None
    if not tokens or tokens[0].is_mark:
        raise wrong("names no login module")
    if len(tokens) < 2 or tokens[1].text.lower() not in FLAGS:
        raise wrong("has no flag (required) behind the login module")
    options: dict[str, str] = {}
    at = 2
    while at < len(tokens) and not tokens[at].is_mark:
        name = tokens[at].text
        has_value = at + 2 < len(tokens) and tokens[at + 1] == _Token("=", True) and not tokens[at + 2].is_mark
        if not has_value:
            raise wrong(f"option {name[:40]} has no value" if name.isidentifier() else "an option has no value")
        options[name] = tokens[at + 2].text
        at += 3
    if at >= len(tokens) or tokens[at].text != ";":
        raise wrong("does not end with a semicolon")
    if at + 1 < len(tokens):
        raise wrong("has something behind its semicolon, and one login module is the most")
    return JaasEntry(tokens[0].text, options)


def _tokens(text: str) -> Iterator[_Token]:
    """Split an entry; ValueError where a string or a comment has no end."""
    at, end = 0, len(text)
    while at < end:
        character = text[at]
        if character.isspace():
            at += 1
        elif text.startswith("//", at):
            at = _end_of_line(text, at)
        elif text.startswith("/*", at):
            closed = text.find("*/", at + 2)
            if closed < 0:
                raise ValueError("has a comment without an end")
            at = closed + 2
        elif character in _MARKS:
            yield _Token(character, True)
            at += 1
        elif character in _QUOTES:
            value, at = _string(text, at)
            yield _Token(value, False)
        else:
            begin = at
            while at < end and not text[at].isspace() and text[at] not in _MARKS + _QUOTES:
                at += 1
            yield _Token(text[begin:at], False)


def _end_of_line(text: str, at: int) -> int:
    found = [place for mark in "\r\n" if (place := text.find(mark, at)) >= 0]
    return min(found, default=len(text))


def _string(text: str, at: int) -> tuple[str, int]:
    """Read a string from its opening quote on; return it and the position behind its closing one."""
    quote = text[at]
    at += 1
    value: list[str] = []
    while at < len(text) and text[at] not in "\r\n":
        character = text[at]
        if character == quote:
            return "".join(value), at + 1
        if character == "\\" and at + 1 < len(text):
            escaped, at = _escape(text, at + 1)
            value.append(escaped)
        else:
            value.append(character)
            at += 1
    raise ValueError("has a string without a closing quote on its line")


def _escape(text: str, at: int) -> tuple[str, int]:
    """Read what stands behind a backslash: up to three octal digits, a letter of Java's, or the character itself."""
    digits = ""
    while at < len(text) and text[at] in "01234567" and len(digits) < 3 and int(digits + text[at], 8) < 256:
        digits += text[at]
        at += 1
    if digits:
        return chr(int(digits, 8)), at
    return _ESCAPES.get(text[at], text[at]), at + 1


def jaas_value(text: str) -> str:
    """Return a value as it stands in an entry, in quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
