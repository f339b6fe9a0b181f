"""Filters of ACLs, as administrators give them (KIP-140, KIP-290).

Owns: what a filter lets through, and finding that without looking at every ACL where its resource is named. Pure. Must
not know: requests. Source: Kafka's AclBindingFilter and ResourcePatternFilter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from odradek.broker.metadata.acls import AclImage
from odradek.protocol.acls import WILDCARD, Acl, AclOperation, AclPermission, AclResourceType, PatternType


class AclFilter(NamedTuple):
    """What an ACL must be like; None, and the numbers named ANY, stand for anything."""

    resource_type: int = AclResourceType.ANY
    pattern_type: int = PatternType.ANY
    resource_name: str | None = None
    principal: str | None = None
    host: str | None = None
    operation: int = AclOperation.ANY
    permission_type: int = AclPermission.ANY

    @property
    def scans(self) -> bool:
        """Whether every ACL has to be looked at to find those that are let through."""
        return self.resource_name is None or self.resource_type == AclResourceType.ANY

    def lets_through(self, acl: Acl) -> bool:
        """Whether an ACL is one of those that are meant."""
        return (
            (self.principal is None or self.principal == acl.principal)
            and (self.host is None or self.host == acl.host)
            and self.operation in (AclOperation.ANY, acl.operation)
            and self.permission_type in (AclPermission.ANY, acl.permission_type)
            and self._is_about(acl)
        )

    def _is_about(self, acl: Acl) -> bool:
        if self.resource_type not in (AclResourceType.ANY, acl.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        name = self.resource_name
        if name is None or self.pattern_type != PatternType.MATCH:
            return name is None or name == acl.resource_name
        if acl.pattern_type == PatternType.PREFIXED:
            return name.startswith(acl.resource_name)
        return acl.pattern_type == PatternType.LITERAL and acl.resource_name in (name, WILDCARD)


def matching(acls: AclImage, wanted: AclFilter) -> Iterator[tuple[UUID, Acl]]:
    """Return the ACLs that a filter lets through, with their ids."""
    if wanted.resource_name is None or wanted.scans:
        for acl_id, acl in acls.items():
            if wanted.lets_through(acl):
                yield acl_id, acl
        return
    for acl_id, acl in acls.named(wanted.resource_type, wanted.resource_name):
        if wanted.lets_through(acl):
            yield acl_id, acl
