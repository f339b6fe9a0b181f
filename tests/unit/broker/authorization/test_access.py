"""What clients may do is remembered, and forgotten when the ACLs change or too much is remembered."""

from uuid import UUID

import pytest

from odradek.broker.authorization import access as module
from odradek.broker.authorization.access import Authorizer
from odradek.broker.authorization.standard_authorizer import StandardAuthorizer
from odradek.broker.metadata.acls import NO_ACLS, AclDraft, AclImage, acl_record
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.protocol.acls import Acl, AclOperation, AclPermission, AclResourceType, PatternType, Reason

TOPIC, CLUSTER = AclResourceType.TOPIC, AclResourceType.CLUSTER


def acls(*some: Acl) -> AclImage:
    """Return an image of ACLs."""
    draft = AclDraft(NO_ACLS)
    for index, one in enumerate(some):
        draft.apply(acl_record(UUID(int=index), one))
    return draft.finish()


def allow(name: str, operation: AclOperation, principal: str = "User:anna") -> Acl:
    """Return an ACL about a topic."""
    return Acl(TOPIC, PatternType.LITERAL, name, principal, "*", operation, AclPermission.ALLOW)


def context(name: str = "anna", host: str = "10.0.0.7") -> RequestContext:
    """Return a request's context."""
    found = RequestContext(f"{host}:1", host, "PLAINTEXT", "127.0.0.1", 9092)
    found.principal = KafkaPrincipal("User", name)
    return found


def test_connections_of_one_client_share_what_they_may() -> None:
    """The same principal from the same host, and nobody else."""
    authorizer = Authorizer(StandardAuthorizer())
    assert authorizer.access_of(context()) is authorizer.access_of(context())
    assert authorizer.access_of(context()) is not authorizer.access_of(context("bert"))
    assert authorizer.access_of(context()) is not authorizer.access_of(context(host="10.0.0.8"))


def test_a_client_is_known_again_by_a_look() -> None:
    """Each connection that logs in has a principal of its own, which becomes that of the others."""
    authorizer = Authorizer(StandardAuthorizer())
    one, other = context(), context()
    assert one.principal is not other.principal
    assert authorizer.access_of(one) is authorizer.access_of(other)
    assert one.principal is other.principal


def test_other_acls_make_what_is_remembered_out_of_date() -> None:
    """The old object goes on saying what it said, and shows that it is not current."""
    authorizer = Authorizer(StandardAuthorizer())
    client = context()
    before = authorizer.access_of(client)
    assert not before.may(AclOperation.READ, TOPIC, "orders")
    authorizer.follow(acls(allow("orders", AclOperation.READ)))
    assert before.rules is not authorizer.rules
    after = authorizer.access_of(client)
    assert client.access is after
    assert after.may(AclOperation.READ, TOPIC, "orders")
    assert after.decide(AclOperation.READ, TOPIC, "orders").reason is Reason.MATCHING_ACL


def test_same_acls_change_nothing() -> None:
    """Most images have the ACLs of the one before."""
    authorizer = Authorizer(StandardAuthorizer())
    access = authorizer.access_of(context())
    authorizer.follow(NO_ACLS)
    assert access.rules is authorizer.rules


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks for ever new names cannot fill the memory."""
    monkeypatch.setattr(module, "MOST_DECISIONS", 10)
    authorizer = Authorizer(StandardAuthorizer())
    client = context()
    for index in range(100):
        access = authorizer.access_of(client)
        access.may(AclOperation.READ, TOPIC, f"t{index}")
        assert len(access._decisions) <= 11


def test_operations_are_bits_of_what_is_allowed() -> None:
    """KIP-430: bit n stands for the operation of that number; what is implied is among them."""
    rules = StandardAuthorizer(acls(allow("orders", AclOperation.READ), allow("all", AclOperation.ALL)))
    access = Authorizer(rules).access_of(context())
    assert access.operations(TOPIC, "orders") == 1 << AclOperation.READ | 1 << AclOperation.DESCRIBE
    assert access.operations(TOPIC, "all") == 3576
    assert access.operations(CLUSTER, "kafka-cluster") == 0


def test_rule_is_told_in_kafkas_words() -> None:
    """The audit log of Kafka has it so."""
    rules = StandardAuthorizer(acls(allow("orders", AclOperation.READ)), frozenset({"User:root"}))
    assert rules.decide("User:anna", "h", AclOperation.READ, TOPIC, "orders").rule == (
        "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=orders, patternType=LITERAL, "
        "principal=User:anna, host=*, operation=READ, permissionType=ALLOW))"
    )
    assert rules.decide("User:root", "h", AclOperation.READ, TOPIC, "orders").rule == "SuperUser"
    assert rules.decide("User:bert", "h", AclOperation.READ, TOPIC, "orders").rule == "DefaultDeny"
