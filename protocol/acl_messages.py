"""ACLs in the messages about them: what a client asks for or is told, as the values of `protocol.acls`."""

from __future__ import annotations

from odradek.protocol.acls import Acl
from odradek.protocol.messages.create_acls import AclCreation
from odradek.protocol.messages.delete_acls import DeleteAclsMatchingAcl
from odradek.protocol.messages.describe_acls import DescribeAclsResponse


def acl_to_create(one: AclCreation) -> Acl:
    """Return the ACL that a CreateAcls request wants made."""
    return Acl(
        one.resource_type,
        one.resource_pattern_type,
        one.resource_name,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )


def removed_acl(one: DeleteAclsMatchingAcl) -> Acl:
    """Return the ACL that a DeleteAcls response tells of."""
    return Acl(
        one.resource_type,
        one.pattern_type,
        one.resource_name,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )


def described_acls(response: DescribeAclsResponse) -> list[Acl]:
    """Return the ACLs of a DescribeAcls response, in its order."""
    return [
        Acl(
            of.resource_type,
            of.pattern_type,
            of.resource_name,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        )
        for of in response.resources
        for one in of.acls
    ]
