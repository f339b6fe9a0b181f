"""sasl.kerberos.principal.to.local.rules: a user's name out of a Kerberos principal (Kafka's KerberosShortNamer, after
Hadoop's auth_to_local).

    DEFAULT                                     the first part of a principal of this host's realm
    RULE:[2:$1](expression)s/from/to/g/L        of principals with two parts before the realm: a text of those parts
                                                ($0 is the realm), which has to match, is changed, in small letters

Pure. The first rule that fits counts; what comes out may have no `/` and no `@`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.tls.errors import TlsError
from odradek.tls.principal_mapping import BoundedExpression

_PRINCIPAL: Final = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)", re.DOTALL)
_RULE: Final = re.compile(
    r"(DEFAULT)|RULE:\[(\d+):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?/?([LU])?", re.DOTALL
)
_PART: Final = re.compile(r"\$(\d*)")
MAX_PRINCIPAL_LENGTH: Final = 1024


class RuleError(ValueError):
    """A rule cannot be read; the message says which."""


class _LocalRule(NamedTuple):
    parts: int
    form: str
    expression: BoundedExpression | None
    source: BoundedExpression | None
    target: str
    is_global: bool
    case: str | None

    def apply(self, parts: Sequence[str]) -> str | None:
        """Return the user's name, None where the rule is about other principals. `parts` begin with the realm."""
        if len(parts) - 1 != self.parts:
            return None
        base = _PART.sub(lambda found: parts[int(found[1])] if found[1] else "", self.form)
        if self.expression is not None and not self.expression.matches(base):
            return None
        if self.source is None:
            return base
        return self.source.replaced(base, self.target, 0 if self.is_global else 1)


class LocalNames:
    """The rules, ready to be used."""

    def __init__(self, rules: Sequence[str], realm: str) -> None:
        """`realm` is that of this host, which DEFAULT is about; RuleError for what is no rule."""
        self._realm = realm
        self._rules = [_parsed(rule.strip()) for rule in rules or ("DEFAULT",)]

    def user_of(self, principal: str) -> str | None:
        """Return the user behind a principal; None where it is none, or no rule fits."""
        found = _PRINCIPAL.fullmatch(principal) if len(principal) <= MAX_PRINCIPAL_LENGTH else None
        if found is None:
            return None
        service, host, realm = found.groups()
        parts = [realm, service] if host is None else [realm, service, host]
        for rule in self._rules:
            try:
                user = self._default(parts) if rule is None else rule.apply(parts)
            except TimeoutError:
                return None
            if user is None:
                continue
            if not user or "/" in user or "@" in user:
                return None
            case = None if rule is None else rule.case
            return user.lower() if case == "L" else user.upper() if case == "U" else user
        return None

    def _default(self, parts: Sequence[str]) -> str | None:
        return parts[1] if parts[0] == self._realm else None


def _parsed(rule: str) -> _LocalRule | None:
    """Return a rule, None for DEFAULT."""
    found = _RULE.fullmatch(rule)
    if found is None:
        raise RuleError(f"cannot read {rule!r}: expected DEFAULT or RULE:[parts:form](expression)s/from/to/[g]/[L|U]")
    is_default, count, form, expression, source, target, is_global, case = found.groups()
    if is_default:
        return None
    parts = int(count) if len(count) == 1 else 0
    if parts not in (1, 2):
        raise RuleError(f"{rule!r} is about principals of {count} parts; they have 1 or 2")
    if any(int(number) > parts for number in _PART.findall(form) if number):
        raise RuleError(f"{rule!r} names a part that its principals do not have")
    try:
        return _LocalRule(
            parts,
            form,
            None if expression is None else BoundedExpression(expression),
            None if source is None else BoundedExpression(source),
            target or "",
            is_global is not None,
            case,
        )
    except TlsError as wrong:
        raise RuleError(str(wrong)) from None
