"""`odradek acls`: who may do what with a cluster, and what would be decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

from odradek.cli.command import group, online
from odradek.cluster.acls import (
    AclQuery,
    check_access,
    check_principal,
    create_acls,
    delete_acls,
    list_acls,
    parse_operation,
    parse_resource,
)
from odradek.cluster.connection import ClusterClients
from odradek.documents import acls as documents
from odradek.protocol.acls import Acl, AclOperation, AclPermission, AclResourceType, PatternType, name_of
from odradek.terminal.errors import WrongUsageError
from odradek.terminal.output import CommandOutput

app = group("acls", "List, create and delete ACLs, and ask what they decide.")

_RESOURCES = "topic:NAME, group:NAME, transactional-id:NAME, delegation-token:NAME, user:NAME or cluster."
On = Annotated[str | None, Option("--on", metavar="RESOURCE", help=_RESOURCES)]
Principal = Annotated[str | None, Option("--principal", metavar="PRINCIPAL", help="Those for this principal.")]
Host = Annotated[str | None, Option("--host", metavar="ADDRESS", help="From this IP address; * is any.")]
Operations = Annotated[
    list[str], Option("--operation", metavar="OPERATION", help="read, write, describe, all and so on; repeatable.")
]
Prefix = Annotated[bool, Option("--prefix", help="The name is the beginning of names.")]
_HEAD = ["RESOURCE", "PATTERN", "PRINCIPAL", "HOST", "OPERATION", "PERMISSION"]


@online(
    app,
    "list",
    document=documents.LISTED,
    examples="""\
    odradek acls list
    odradek acls list --on topic:orders                all that apply to the topic
    odradek acls list --on topic:orders --exact        those of just this name
    odradek acls list --principal User:anna --json""",
)
def list_(
    cluster: ClusterClients,
    output: CommandOutput,
    on: On = None,
    exact: Annotated[bool, Option("--exact", help="Not those of prefixes and of *.")] = False,
    principal: Principal = None,
) -> None:
    """Show the ACLs, all of them or those that apply to a resource."""
    resource = None if on is None else parse_resource(on)
    pattern = PatternType.ANY if exact or resource is None else PatternType.MATCH
    _show(output, list_acls(cluster, AclQuery(resource, pattern, principal)), "there are no such ACLs")


@online(
    app,
    "create",
    document=documents.CREATED,
    examples="""\
    odradek acls create User:anna --on topic:orders --operation read --operation write
    odradek acls create User:app --on group:app- --prefix --operation read
    odradek acls create User:bert --on topic:orders --operation all --deny
    odradek acls create User:ops --on cluster --operation alter --host 10.0.0.7""",
)
def create(
    cluster: ClusterClients,
    output: CommandOutput,
    principal: Annotated[
        str, Argument(metavar="PRINCIPAL", help="Whom it is about: User:NAME, or User:* for everybody.")
    ],
    on: Annotated[
        str, Option("--on", metavar="RESOURCE", help="topic:NAME, group:NAME, transactional-id:NAME or cluster.")
    ],
    operation: Operations,
    host: Host = None,
    prefix: Prefix = False,
    deny: Annotated[bool, Option("--deny", help="Deny it; that wins over whatever is allowed.")] = False,
) -> None:
    """Allow operations on a resource, or deny them. Those that are allowed already stay as they are."""
    resource = parse_resource(on)
    acls = [
        Acl(
            resource.resource_type,
            PatternType.PREFIXED if prefix else PatternType.LITERAL,
            resource.name,
            check_principal(principal),
            host or "*",
            parse_operation(one),
            AclPermission.DENY if deny else AclPermission.ALLOW,
        )
        for one in dict.fromkeys(operation)
    ]
    create_acls(cluster, acls)
    _show(output, acls, "")


@online(
    app,
    "delete",
    document=documents.DELETED,
    examples="""\
    odradek acls delete --on topic:orders --principal User:anna
    odradek acls delete --on group:app- --prefix
    odradek acls delete --principal User:bert --operation write""",
)
def delete(
    cluster: ClusterClients,
    output: CommandOutput,
    on: On = None,
    principal: Principal = None,
    operation: Annotated[str | None, Option("--operation", metavar="OPERATION", help="Those about this one.")] = None,
    host: Host = None,
    prefix: Prefix = False,
) -> None:
    """Remove the ACLs of a resource, of a principal, or both; shows what was removed."""
    if on is None and principal is None:
        raise WrongUsageError("give --on, --principal or both: nobody wants to remove all ACLs")
    resource = None if on is None else parse_resource(on)
    pattern = PatternType.PREFIXED if prefix else PatternType.ANY if resource is None else PatternType.LITERAL
    of = AclOperation.ANY if operation is None else parse_operation(operation)
    _show(output, delete_acls(cluster, AclQuery(resource, pattern, principal, host, of)), "there were no such ACLs")


@online(
    app,
    "check",
    document=documents.CHECKED,
    examples="""\
    odradek acls check User:anna read topic:orders
    odradek acls check User:anna read topic:orders --from 10.0.0.7
    odradek acls check User:ops alter cluster --json""",
)
def check(
    cluster: ClusterClients,
    output: CommandOutput,
    principal: Annotated[str, Argument(metavar="PRINCIPAL", help="Who asks, as User:anna.")],
    operation: Annotated[str, Argument(metavar="OPERATION", help="read, write, describe and so on.")],
    on: Annotated[str, Argument(metavar="RESOURCE", help=_RESOURCES)],
    source: Annotated[
        str | None, Option("--from", metavar="ADDRESS", help="The IP address that he comes from; any, if not given.")
    ] = None,
) -> None:
    """Say whether a principal may do something by the ACLs, and which of them decides it.

    Super users, and allow.everyone.if.no.acl.found, stand in the settings of brokers, which nobody can ask for: to a
    super user no ACL applies.
    """
    wanted = parse_resource(on)
    found = check_access(cluster, check_principal(principal), parse_operation(operation), wanted, source)
    if output.json:
        acl = None if found.acl is None else _document(found.acl)
        output.document({"allowed": found.allowed, "rule": found.reason.name.lower(), "acl": acl})
        return
    verb = "may" if found.allowed else "may not"
    because = "no ACL allows it" if found.acl is None else f"by the ACL {_sentence(found.acl)}"
    place = f" from {source}" if source else ""
    output.line(f"{principal} {verb} {operation} {on}{place}: {because}")


def _show(output: CommandOutput, acls: Sequence[Acl], nothing: str) -> None:
    if output.json:
        output.document({"acls": [_document(one) for one in acls]})
    elif acls:
        output.table(_HEAD, [_row(one) for one in acls])
    else:
        output.note(nothing)


def _document(acl: Acl) -> dict[str, object]:
    return {
        "resource_type": _word(AclResourceType, acl.resource_type),
        "resource_name": acl.resource_name,
        "pattern_type": _word(PatternType, acl.pattern_type),
        "principal": acl.principal,
        "host": acl.host,
        "operation": _word(AclOperation, acl.operation),
        "permission": _word(AclPermission, acl.permission_type),
    }


def _row(acl: Acl) -> tuple[str, ...]:
    told = _document(acl)
    of = acl.resource_type
    name = "cluster" if of == AclResourceType.CLUSTER else f"{told['resource_type']}:{acl.resource_name}"
    return (name, *(str(told[key]) for key in ("pattern_type", "principal", "host", "operation", "permission")))


def _sentence(acl: Acl) -> str:
    name, pattern, principal, host, operation, permission = _row(acl)
    verb = "allows" if permission == "allow" else "denies"
    many = " and all that begin so" if pattern == "prefixed" else ""
    return f"that {verb} {principal} {operation} on {name}{many} from {'any address' if host == '*' else host}"


def _word(kind: type[AclResourceType | PatternType | AclOperation | AclPermission], value: int) -> str:
    return name_of(kind, value).lower().replace("_", "-")
