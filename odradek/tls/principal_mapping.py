"""ssl.principal.mapping.rules: a user's name out of the name in a certificate (KIP-371; Kafka's SslPrincipalMapper).

The rules are the operator's, the names those of whom a trusted authority gave a certificate: an expression may take for
ever on a name that was made for it. So expressions other than none at all are matched by `regex`, which is told how
long it may take; a name on which that does not suffice has no user.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from odradek.tls.errors import TlsError

DEFAULT: Final = "DEFAULT"
MATCH_TIMEOUT_S: Final = 0.05
"""Of one expression on one name; those that people write take some microseconds."""
MAX_RULES_LENGTH: Final = 64 * 1024

_RULE: Final = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|\Z)", re.DOTALL)
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d)|\$\{(\w+)\}", re.DOTALL)


class _Match(Protocol):
    def group(self, group: int | str) -> str | None: ...


class BoundedExpression:
    """A regular expression that is matched for a bounded time."""

    def __init__(self, expression: str) -> None:
        """Raises TlsError for what is no expression."""
        try:
            import regex
        except ImportError:
            raise TlsError("rules with expressions need one more package: pip install 'odradek[security]'") from None
        try:
            self._compiled = regex.compile(expression)
        except (regex.error, RecursionError, OverflowError) as wrong:
            raise TlsError(f"{expression!r} is no regular expression: {wrong}") from None

    def matches(self, name: str) -> bool:
        """Tell whether it matches the whole of a name; TimeoutError where that takes too long."""
        return self._compiled.fullmatch(name, timeout=MATCH_TIMEOUT_S) is not None

    def replaced(self, name: str, replacement: str, count: int = 0) -> str:
        """Replace what it matches, so often or (0) always, by a replacement as Java has it; TimeoutError likewise."""
        groups = self._compiled.groups

        def made(match: _Match) -> str:
            return _REFERENCE.sub(lambda reference: _referred(reference, match, groups), replacement)

        return self._compiled.sub(made, name, count, timeout=MATCH_TIMEOUT_S)


class _Rule(NamedTuple):
    expression: BoundedExpression
    replacement: str
    case: str

    def apply(self, name: str) -> str | None:
        """Return the user's name, None where the rule does not match the whole of this one."""
        if not self.expression.matches(name):
            return None
        made = self.expression.replaced(name, self.replacement)
        return made.lower() if self.case == "L" else made.upper() if self.case == "U" else made


class PrincipalMapper:
    """The rules, ready to be used."""

    def __init__(self, rules: str) -> None:
        """Raises TlsError for a text that has no rules, or an expression that is none."""
        self._rules: Sequence[_Rule | None] = [None] if rules.strip() in ("", DEFAULT) else _parse(rules)

    def user_of(self, name: str) -> str | None:
        """Return the user behind a distinguished name; None where no rule matches."""
        for rule in self._rules:
            try:
                user = name if rule is None else rule.apply(name)
            except TimeoutError:
                return None
            if user is not None:
                return user
        return None


def _parse(rules: str) -> list[_Rule | None]:
    if len(rules) > MAX_RULES_LENGTH:
        raise TlsError(f"rules of more than {MAX_RULES_LENGTH} characters")
    parsed: list[_Rule | None] = []
    position = 0
    while position < len(rules.rstrip()):
        found = _RULE.match(rules, position)
        if found is None:
            raise TlsError(
                f"cannot read {rules[position:].strip()!r}: expected DEFAULT or RULE:expression/replacement/[L|U], "
                "separated by commas"
            )
        position = found.end()
        parsed.append(None if found[1] else _Rule(BoundedExpression(found[2]), found[3], found[4]))
    return parsed


def _referred(reference: re.Match[str], match: _Match, groups: int) -> str:
    """Return what a part of a replacement stands for: `$1` a group, `\\$` a dollar, as in Java's replaceAll."""
    escaped, number, name = reference.groups()
    if escaped is not None:
        return str(escaped)
    if name is not None:
        return match.group(name) or ""
    if int(number) > groups:
        return reference[0]  # Kafka takes it literally
    return match.group(int(number)) or ""
