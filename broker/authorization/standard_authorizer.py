"""Who may do what by the ACLs of one image: Kafka's StandardAuthorizer (KIP-11, KIP-290, KIP-801).

Owns: the decision, without a cache. Pure: super users, the default and the ACLs in, a `Decision` out. Must not know:
connections, requests. An ACL is found by the resource's name, each of the lengths that prefixes have, and `*`; then by
principal and host, so that the number of all ACLs does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from odradek.broker.metadata.acls import NO_ACLS, AclImage, Client
from odradek.protocol.acls import (
    BY_SUPER_USER,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    AclOperation,
    AclPermission,
    Decision,
    PatternType,
    Reason,
)

_ANY_NAME: Final = "hardcode"
"""Kafka asks for a resource of this name to see who may do something to every resource of a kind."""
_DEFAULT_ALLOW: Final = Decision(True, Reason.DEFAULT_ALLOW)
_DEFAULT_DENY: Final = Decision(False, Reason.DEFAULT_DENY)


class StandardAuthorizer:
    """Decides by one set of ACLs."""

    __slots__ = ("acls", "allow_without", "super_users")

    def __init__(
        self, acls: AclImage = NO_ACLS, super_users: frozenset[str] = frozenset(), *, allow_without: bool = False
    ) -> None:
        """`super_users` are principals as text (super.users); `allow_without` says that everybody may do anything to a
        resource of which no ACL speaks (allow.everyone.if.no.acl.found)."""
        self.acls = acls
        self.super_users = super_users
        self.allow_without = allow_without

    def with_acls(self, acls: AclImage) -> StandardAuthorizer:
        """Return one that decides by other ACLs."""
        return StandardAuthorizer(acls, self.super_users, allow_without=self.allow_without)

    def decide(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> Decision:
        """Decide whether a principal (`User:anna`) may, from a host (the text of an IP address)."""
        if principal in self.super_users:
            return BY_SUPER_USER
        clients = _clients(principal, host)
        allowing: Acl | None = None
        are_any = False
        for by_client in self.acls.covering(resource_type, name):
            are_any = True
            for client in clients:
                for acl in by_client.get(client, {}):
                    if acl.concerns(principal, host, operation):
                        if acl.permission_type == AclPermission.DENY:
                            return Decision(False, Reason.MATCHING_ACL, acl)
                        if allowing is None and acl.permission_type == AclPermission.ALLOW:
                            allowing = acl
        if allowing is not None:
            return Decision(True, Reason.MATCHING_ACL, allowing)
        return _DEFAULT_ALLOW if self.allow_without and not are_any else _DEFAULT_DENY

    def decide_any(self, principal: str, host: str, operation: int, resource_type: int) -> Decision:
        """Decide whether a principal may do something to at least one resource of a kind, whatever its name is
        (`Authorizer.authorizeByResourceType`, KIP-679)."""
        of_every = self.decide(principal, host, operation, resource_type, _ANY_NAME)
        if of_every.allowed:
            return of_every
        allowing: list[Acl] = []
        denied_names: set[str] = set()
        denied_prefixes: set[str] = set()
        for acl in self.acls.of_type(resource_type, _clients(principal, host)):
            if acl.operation not in (operation, AclOperation.ALL):
                continue
            if acl.permission_type == AclPermission.ALLOW:
                allowing.append(acl)
            elif acl.permission_type == AclPermission.DENY:
                if acl.pattern_type == PatternType.PREFIXED:
                    denied_prefixes.add(acl.resource_name)
                elif acl.resource_name == WILDCARD:
                    return Decision(False, Reason.MATCHING_ACL, acl)
                else:
                    denied_names.add(acl.resource_name)
        for acl in allowing:
            name = acl.resource_name
            is_literal = acl.pattern_type == PatternType.LITERAL
            if is_literal and name == WILDCARD:
                return Decision(True, Reason.MATCHING_ACL, acl)
            if is_literal and name in denied_names:
                continue
            if not any(prefix in denied_prefixes for prefix in _prefixes(name)):
                return Decision(True, Reason.MATCHING_ACL, acl)
        return _DEFAULT_DENY


def _clients(principal: str, host: str) -> tuple[Client, ...]:
    """Return the clients that an ACL may name, for it to be about this one."""
    return (principal, host), (principal, WILDCARD), (WILDCARD_PRINCIPAL, host), (WILDCARD_PRINCIPAL, WILDCARD)


def _prefixes(name: str) -> Iterator[str]:
    return (name[:length] for length in range(1, len(name) + 1))
