"""ACLs of a cluster: which there are, new ones, those that go, and what they would decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from odradek.cluster.broker_requests import check
from odradek.cluster.connection import ClusterClients
from odradek.protocol.acl_messages import described_acls, removed_acl
from odradek.protocol.acls import (
    CLUSTER_NAME,
    Acl,
    AclOperation,
    AclPermission,
    AclResourceType,
    Decision,
    PatternType,
    decide,
)
from odradek.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from odradek.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from odradek.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from odradek.terminal.errors import WrongUsageError

NO_ADDRESS: Final = "an address of which no ACL speaks"
_WHAT: Final = "ACLs"


class Resource(NamedTuple):
    """What an ACL is about."""

    resource_type: AclResourceType
    name: str


class AclQuery(NamedTuple):
    """Which ACLs are meant; None stands for any."""

    resource: Resource | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY


def parse_resource(text: str) -> Resource:
    """Return the resource that `topic:orders` or `cluster` means; WrongUsageError for what means none."""
    kind, colon, name = text.partition(":")
    try:
        found = AclResourceType[kind.replace("-", "_").upper()]
    except KeyError:
        found = AclResourceType.UNKNOWN
    if found == AclResourceType.CLUSTER and not colon:
        return Resource(found, CLUSTER_NAME)
    if found <= AclResourceType.ANY or not name:
        kinds = ", ".join(f"{word_of(one)}:NAME" for one in AclResourceType if one > AclResourceType.ANY)
        raise WrongUsageError(f"{text!r} is no resource; expected one of {kinds} or cluster")
    return Resource(found, name)


def parse_operation(text: str) -> AclOperation:
    """Return the operation of this name; WrongUsageError where there is none."""
    try:
        found = AclOperation[text.replace("-", "_").upper()]
    except KeyError:
        found = AclOperation.UNKNOWN
    if found <= AclOperation.ANY:
        words = ", ".join(word_of(one) for one in AclOperation if one > AclOperation.ANY)
        raise WrongUsageError(f"{text!r} is no operation; expected one of {words}")
    return found


def check_principal(text: str) -> str:
    """Return a principal; WrongUsageError where it has no type."""
    kind, _, name = text.partition(":")
    if not kind or not name:
        raise WrongUsageError(f"{text!r} is no principal; expected one as User:anna")
    return text


def word_of(value: AclResourceType | PatternType | AclOperation | AclPermission) -> str:
    """Return a number's name as the command has it."""
    return value.name.lower().replace("_", "-")


def list_acls(cluster: ClusterClients, wanted: AclQuery) -> list[Acl]:
    """Return the ACLs that are meant, in an order for people; CommandError where they cannot be had."""
    request = DescribeAclsRequest(**_filter_fields(wanted))
    answer = cluster.requests.ask(request, DescribeAclsResponse, _WHAT)
    check(answer.error_code, answer.error_message, _WHAT)
    return sorted(described_acls(answer))


def create_acls(cluster: ClusterClients, acls: Sequence[Acl]) -> None:
    """Make ACLs; CommandError for the first that cannot be made."""
    creations = [
        AclCreation(
            resource_type=one.resource_type,
            resource_name=one.resource_name,
            resource_pattern_type=one.pattern_type,
            principal=one.principal,
            host=one.host,
            operation=one.operation,
            permission_type=one.permission_type,
        )
        for one in acls
    ]
    answer = cluster.requests.ask(CreateAclsRequest(creations=creations), CreateAclsResponse, _WHAT)
    for result in answer.results:
        check(result.error_code, result.error_message, _WHAT)


def delete_acls(cluster: ClusterClients, wanted: AclQuery) -> list[Acl]:
    """Remove the ACLs that are meant, and return them; CommandError where they cannot be removed."""
    one = DeleteAclsFilter(**_filter_fields(wanted))
    answer = cluster.requests.ask(DeleteAclsRequest(filters=[one]), DeleteAclsResponse, _WHAT)
    removed = []
    for result in answer.filter_results:
        check(result.error_code, result.error_message, _WHAT)
        for match in result.matching_acls:
            check(match.error_code, match.error_message, _WHAT)
            removed.append(removed_acl(match))
    return sorted(removed)


def check_access(
    cluster: ClusterClients, principal: str, operation: AclOperation, resource: Resource, host: str | None
) -> Decision:
    """Return what the ACLs of a cluster say to a wish; from any address of which no ACL speaks, where none is given."""
    applying = list_acls(cluster, AclQuery(resource, PatternType.MATCH))
    return decide(applying, principal, host or NO_ADDRESS, operation, allow_without=False)


def _filter_fields(wanted: AclQuery) -> dict[str, Any]:
    """Return what says in a message which ACLs are meant."""
    resource = wanted.resource
    return {
        "resource_type_filter": AclResourceType.ANY if resource is None else resource.resource_type,
        "resource_name_filter": None if resource is None else resource.name,
        "pattern_type_filter": wanted.pattern_type,
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": wanted.operation,
        "permission_type": wanted.permission,
    }
