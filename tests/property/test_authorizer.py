"""The authorizer against a model that looks at every ACL each time."""

from collections.abc import Sequence
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.authorization.standard_authorizer import StandardAuthorizer
from odradek.broker.metadata.acls import AclDraft, AclImage, acl_record
from odradek.protocol.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    decide,
)
from odradek.protocol.messages.metadata_records import RemoveAccessControlEntryRecord

NAMES = st.text("ab*", min_size=1, max_size=4)
PRINCIPALS = st.sampled_from(["User:a", "User:b", WILDCARD_PRINCIPAL, "Group:a"])
HOSTS = st.sampled_from(["10.0.0.1", "::1", WILDCARD])
OPERATIONS = st.sampled_from([one for one in AclOperation if one > AclOperation.ANY])
TYPES = st.sampled_from([AclResourceType.TOPIC, AclResourceType.GROUP])
ACLS = st.builds(
    Acl,
    resource_type=TYPES,
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    resource_name=NAMES,
    principal=PRINCIPALS,
    host=HOSTS,
    operation=OPERATIONS,
    permission_type=st.sampled_from([AclPermission.ALLOW, AclPermission.DENY]),
)
LISTS = st.lists(ACLS, max_size=12, unique=True)


def image_of(acls: Sequence[Acl], removed: Sequence[int] = ()) -> AclImage:
    """Return an image to which the ACLs were added, and from which some were removed."""
    draft = AclDraft(AclImage())
    for index, acl in enumerate(acls):
        draft.apply(acl_record(UUID(int=index), acl))
    draft = AclDraft(draft.finish())
    for index in removed:
        draft.apply(RemoveAccessControlEntryRecord(id=UUID(int=index)))
    return draft.finish()


@given(LISTS, PRINCIPALS, HOSTS, OPERATIONS, TYPES, NAMES, st.booleans(), st.data())
def test_decision_is_that_of_all_acls_looked_at_one_by_one(
    acls: list[Acl],
    principal: str,
    host: str,
    operation: int,
    resource_type: int,
    name: str,
    allow_without: bool,
    data: st.DataObject,
) -> None:
    """Whatever the index of the image looks like after changes."""
    removed = data.draw(st.sets(st.sampled_from(range(len(acls))))) if acls else set()
    authorizer = StandardAuthorizer(image_of(acls, sorted(removed)), allow_without=allow_without)
    left = [acl for index, acl in enumerate(acls) if index not in removed]
    covering = [acl for acl in left if acl.covers(resource_type, name)]
    expected = decide(covering, principal, host, operation, allow_without)
    found = authorizer.decide(principal, host, operation, resource_type, name)
    assert (found.allowed, found.reason) == (expected.allowed, expected.reason)
    if found.acl is not None:
        assert found.acl in covering
        assert found.acl.concerns(principal, host, operation)


@given(LISTS, PRINCIPALS, HOSTS, OPERATIONS, TYPES)
def test_who_may_do_something_to_any_resource_may_do_it_to_one_that_can_be_named(
    acls: list[Acl], principal: str, host: str, operation: int, resource_type: int
) -> None:
    """A yes needs an ACL that allows; a no means that no name of the ACLs' own kind is allowed."""
    authorizer = StandardAuthorizer(image_of(acls))
    plain = [
        acl for acl in acls if acl.operation in (operation, AclOperation.ALL) and acl.resource_type == resource_type
    ]
    longer = [f"{acl.resource_name}~" for acl in plain if acl.pattern_type == PatternType.PREFIXED]
    names = [*(acl.resource_name for acl in plain), *longer, "hardcode"]
    plainly = StandardAuthorizer(image_of(plain))
    expected = any(plainly.decide(principal, host, operation, resource_type, name).allowed for name in names)
    assert authorizer.decide_any(principal, host, operation, resource_type).allowed == (
        expected or authorizer.decide(principal, host, operation, resource_type, "hardcode").allowed
    )


@given(LISTS, HOSTS, OPERATIONS, TYPES, NAMES)
def test_super_users_may_everything(acls: list[Acl], host: str, operation: int, resource_type: int, name: str) -> None:
    """Also what is denied to everybody."""
    authorizer = StandardAuthorizer(image_of(acls), frozenset({"User:root"}))
    assert authorizer.decide("User:root", host, operation, resource_type, name).allowed
    assert authorizer.decide_any("User:root", host, operation, resource_type).allowed
