"""ACLs: who may do what."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from odradek.cluster.acls import (
    AclQuery,
    Resource,
    check_principal,
    create_acls,
    delete_acls,
    list_acls,
    parse_operation,
    word_of,
)
from odradek.console.pages.asking import told
from odradek.console.routes import action, view
from odradek.console.visit import Visit
from odradek.protocol.acls import (
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    name_of,
)
from odradek.terminal.errors import WrongUsageError

MOST_SHOWN: Final = 500
PATH: Final = "/security/acls"
_RESOURCES: Final = [word_of(each) for each in AclResourceType if each > AclResourceType.ANY]
_OPERATIONS: Final = [word_of(each) for each in AclOperation if each > AclOperation.ANY]


def show_acls(visit: Visit) -> Response:
    """Show the ACLs, those whose principal or resource has a text in it where one is given."""
    text = visit.query("q")
    with visit.cluster() as cluster:
        found = told(lambda: list_acls(cluster, AclQuery()))
    rows = [
        each
        for each in found.value or ()
        if text.lower() in each.principal.lower() or text.lower() in each.resource_name.lower()
    ]
    return visit.page(
        "security_acls.html",
        problem=found.problem,
        text=text,
        acls=rows[:MOST_SHOWN],
        found=len(rows),
        fields=_fields,
        words=_words,
        resources=_RESOURCES,
        operations=_OPERATIONS,
    )


def create_acl(visit: Visit) -> Response:
    """Make an ACL."""
    acl = _acl_of(visit)
    with visit.cluster() as cluster:
        create_acls(cluster, [acl])
    return visit.go(PATH, f"{_told(acl)}: set")


def delete_acl(visit: Visit) -> Response:
    """Delete the one ACL that the form names in full."""
    acl = _acl_of(visit)
    wanted = AclQuery(
        Resource(AclResourceType(acl.resource_type), acl.resource_name),
        PatternType(acl.pattern_type),
        acl.principal,
        acl.host,
        AclOperation(acl.operation),
        AclPermission(acl.permission_type),
    )
    with visit.cluster() as cluster:
        gone = delete_acls(cluster, wanted)
    return visit.go(PATH, f"{_told(acl)}: {'deleted' if gone else 'was not there (any more)'}")


def _acl_of(visit: Visit) -> Acl:
    """Return the ACL that a form has; WrongUsageError where it has none."""
    try:
        kind = AclResourceType[visit.field("resource").replace("-", "_").upper()]
        pattern = PatternType[visit.field("pattern").upper()]
        permission = AclPermission[visit.field("permission").upper()]
    except KeyError as unknown:
        raise WrongUsageError(f"an ACL has no {unknown}") from None
    if kind <= AclResourceType.ANY or pattern < PatternType.LITERAL or permission <= AclPermission.ANY:
        raise WrongUsageError("an ACL is of one kind of resource, literal or prefixed, and allows or denies")
    name = CLUSTER_NAME if kind is AclResourceType.CLUSTER else visit.field("name").strip()
    if not name:
        raise WrongUsageError(f"say which {word_of(kind)}; {WILDCARD} stands for all")
    return Acl(
        kind,
        PatternType.LITERAL if kind is AclResourceType.CLUSTER else pattern,
        name,
        check_principal(visit.field("principal").strip()),
        visit.field("host").strip() or WILDCARD,
        parse_operation(visit.field("operation")),
        permission,
    )


def _fields(acl: Acl) -> dict[str, str]:
    """Return an ACL as the fields of a form, empty where it has a value that is not known here."""
    try:
        return {
            "resource": word_of(AclResourceType(acl.resource_type)),
            "name": acl.resource_name,
            "pattern": word_of(PatternType(acl.pattern_type)),
            "principal": acl.principal,
            "host": acl.host,
            "operation": word_of(AclOperation(acl.operation)),
            "permission": word_of(AclPermission(acl.permission_type)),
        }
    except ValueError:
        return {}


def _words(acl: Acl) -> dict[str, str]:
    """Return the numbers of an ACL as words."""
    kinds = {
        "resource": (AclResourceType, acl.resource_type),
        "pattern": (PatternType, acl.pattern_type),
        "operation": (AclOperation, acl.operation),
        "permission": (AclPermission, acl.permission_type),
    }
    return {name: name_of(kind, value).lower().replace("_", "-") for name, (kind, value) in kinds.items()}


def _told(acl: Acl) -> str:
    words = _words(acl)
    return f"{acl.principal}, {words['permission']} {words['operation']} on {words['resource']} {acl.resource_name}"


ROUTES: Final = (
    view(PATH, show_acls),
    action(f"{PATH}/create", create_acl),
    action(f"{PATH}/delete", delete_acl),
)
