"""ssl.principal.mapping.rules: a user's name out of the name in a certificate (KIP-371; Kafka's SslPrincipalMapper).

The rules are the operator's, the names those of whom a trusted authority gave a certificate: an expression may take for
ever on a name that was made for it. So expressions other than none at all are matched by `regex`, which is told how
long it may take; a name on which that does not suffice has no user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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


class _Rule(NamedTuple):
    fullmatch: Callable[[str], _Match | None]
    substitute: Callable[[Callable[[_Match], str], str], str]
    replacement: Callable[[_Match], str]
    case: str

    def apply(self, name: str) -> str | None:
        """Return the user's name, None where the rule does not match the whole of this one."""
        if self.fullmatch(name) is None:
            return None
        made = self.substitute(self.replacement, name)
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
        parsed.append(None if found[1] else _rule(found[2], found[3], found[4]))
    return parsed


def _rule(expression: str, replacement: str, case: str) -> _Rule:
    try:
        import regex
    except ImportError:
        raise TlsError("rules with expressions need one more package: pip install 'odradek[security]'") from None
    try:
        compiled = regex.compile(expression)
    except (regex.error, RecursionError, OverflowError) as wrong:
        raise TlsError(f"{expression!r} is no regular expression: {wrong}") from None
    groups = compiled.groups

    def replaced(match: _Match) -> str:
        return _REFERENCE.sub(lambda reference: _referred(reference, match, groups), replacement)

    return _Rule(
        lambda name: compiled.fullmatch(name, timeout=MATCH_TIMEOUT_S),
        lambda by, name: compiled.sub(by, name, timeout=MATCH_TIMEOUT_S),
        replaced,
        case,
    )


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
