"""DescribeAcls, CreateAcls and DeleteAcls: what is made, found and removed, and what Kafka says where it cannot be."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from odradek.broker.controller.acls import MAX_CHANGES
from odradek.broker.controller.controller import Controller
from odradek.broker.handlers.acls import AclHandlers
from odradek.broker.handlers.converting import Converter
from odradek.broker.metadata.acl_filters import AclFilter
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.acl_messages import described_acls
from odradek.protocol.acls import Acl, AclOperation, AclPermission, AclResourceType, PatternType
from odradek.protocol.codec import decode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from odradek.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from odradek.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from tests.support.deferred import now
from tests.support.manual_loop import ManualLoop
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.metadata.support import NODE, ONE_BROKER, RULES, MemorySource

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
LITERAL, PREFIXED, ANY, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.ANY, PatternType.MATCH


def acl(name: str, pattern: int = LITERAL, kind: int = TOPIC, principal: str = "User:a", **changed: Any) -> Acl:
    """Return an ACL that lets a user read something."""
    found = Acl(kind, pattern, name, principal, "*", AclOperation.READ, AclPermission.ALLOW)
    return found._replace(**changed)


class World:
    """A node with an authorizer, and handlers."""

    def __init__(self, loop: Any = None, *, is_on: bool = True) -> None:
        self.source = MemorySource()
        loop = loop or ManualLoop()
        controller = Controller(self.source, RULES, BrokerConfigs(self.source, NODE, {}), ONE_BROKER)
        converter = Converter(loop, RequestMemory(1 << 20, loop.call_soon))
        self.handlers = AclHandlers(loop, self.source, controller, lambda: converter, is_on=is_on)

    def create(self, *acls: Acl) -> list[int]:
        """Return the code of each."""
        return [one.error_code for one in now(self.handlers.create_acls(at(3), creations(acls))).results]

    async def create_later(self, *acls: Acl) -> None:
        """Make so many that it takes a while."""
        outcome = self.handlers.create_acls(at(3), creations(acls))
        if isinstance(outcome, Deferred):
            await outcome

    def describe(self, wanted: AclFilter) -> list[Acl]:
        """Return the ACLs that a filter finds."""
        found = self.handlers.describe_acls(at(3), DescribeAclsRequest(**of_filter(wanted)))
        assert isinstance(found, DescribeAclsResponse)
        return described_acls(found)

    def delete(self, *wanted: AclFilter) -> list[tuple[int, list[str]]]:
        """Return the code of each filter, and the names of what it removed."""
        request = DeleteAclsRequest(filters=[DeleteAclsFilter(**of_filter(one)) for one in wanted])
        response: Any = now(self.handlers.delete_acls(at(3), request))
        return [(one.error_code, [acl.resource_name for acl in one.matching_acls]) for one in response.filter_results]


def creations(acls: Sequence[Acl]) -> CreateAclsRequest:
    """Return a request that makes ACLs."""
    return CreateAclsRequest(
        creations=[
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
    )


def of_filter(wanted: AclFilter) -> Any:
    """Return the fields of a request with a filter."""
    return {
        "resource_type_filter": wanted.resource_type,
        "pattern_type_filter": wanted.pattern_type,
        "resource_name_filter": wanted.resource_name,
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": wanted.operation,
        "permission_type": wanted.permission_type,
    }


def test_acls_that_were_made_are_found_and_removed() -> None:
    """One that is there already is made again without a record."""
    world = World()
    assert world.create(acl("a"), acl("p", PREFIXED), acl("a")) == [0, 0, 0]
    assert world.create(acl("a")) == [0]
    assert [len(batch) for batch in world.source.batches] == [2]
    assert world.describe(AclFilter()) == [acl("a"), acl("p", PREFIXED)]
    assert world.delete(AclFilter(resource_name="a", resource_type=TOPIC), AclFilter(), AclFilter(principal="?")) == [
        (0, ["a"]),
        (0, ["a", "p"]),
        (0, []),
    ]
    assert [len(batch) for batch in world.source.batches] == [2, 2]
    assert world.describe(AclFilter()) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclFilter(TOPIC, LITERAL, "orders"), ["orders"]),
        (AclFilter(TOPIC, PREFIXED, "ord"), ["ord"]),
        (AclFilter(TOPIC, ANY, "ord"), ["ord"]),
        (AclFilter(TOPIC, MATCH, "orders"), ["orders", "*", "ord"]),
        (AclFilter(TOPIC, MATCH), ["orders", "ord", "*", "other"]),
        (AclFilter(AclResourceType.ANY, ANY, "orders"), ["orders", "orders"]),
        (AclFilter(AclResourceType.ANY, MATCH, "orders"), ["orders", "ord", "*", "orders"]),
        (AclFilter(GROUP), ["orders"]),
        (AclFilter(principal="User:b"), ["other"]),
        (AclFilter(host="10.0.0.1"), []),
        (AclFilter(operation=AclOperation.ALL), []),
        (AclFilter(permission_type=AclPermission.DENY), []),
    ],
)
def test_filters_let_through_what_kafkas_do(wanted: AclFilter, found: list[str]) -> None:
    """Null and ANY are for anything, MATCH for all that applies to a name; ALL means the operation of this name."""
    world = World()
    world.create(
        acl("orders"), acl("ord", PREFIXED), acl("*"), acl("other", principal="User:b"), acl("orders", kind=GROUP)
    )
    assert sorted(one.resource_name for one in world.describe(wanted)) == sorted(found)


def test_what_makes_no_sense_is_refused_for_itself() -> None:
    """The others are made."""
    world = World()
    codes = world.create(
        acl(""), acl("x", kind=CLUSTER), acl("good"), acl("x", principal="anna"), acl("kafka-cluster", kind=CLUSTER)
    )
    assert codes == [42, 42, 0, 42, 0]
    assert len(world.source.image.acls) == 2


@pytest.mark.parametrize(
    "changed",
    [{"resource_type": 1}, {"pattern_type": 1}, {"pattern_type": 2}, {"operation": 1}, {"permission_type": 1}],
)
def test_what_stands_for_more_than_one_fails_the_whole_request(changed: dict[str, Any]) -> None:
    """Kafka cannot read such a request; it answers every entry with -1."""
    world = World()
    assert world.create(acl("a"), acl("b", **changed)) == [-1, -1]
    assert world.source.batches == []


@pytest.mark.parametrize("field", ["resource_type", "pattern_type", "operation", "permission_type"])
@pytest.mark.parametrize("number", [0, 99, -1])
def test_numbers_that_mean_nothing_end_the_connection(field: str, number: int) -> None:
    """Only 0 does: an ACL or a filter with another one is refused, and nothing is found for it."""
    world = World()
    bad = acl("a")._replace(**{field: number})  # type: ignore[arg-type]  # numbers alone
    wanted = AclFilter()._replace(**{field: number})  # type: ignore[arg-type]  # numbers alone
    if number == 0:
        for ask in (lambda: world.create(bad), lambda: world.describe(wanted), lambda: world.delete(wanted)):
            with pytest.raises(CloseConnectionError):
                ask()
    else:
        assert world.create(bad, acl("good")) == [42, 0]
        assert world.describe(wanted) == []
        assert world.delete(wanted, AclFilter()) == [(42, []), (0, ["good"])]


def test_without_an_authorizer_there_are_no_acls() -> None:
    """SECURITY_DISABLED, in every place."""
    world = World(is_on=False)
    assert world.create(acl("a"), acl("")) == [54, 54]
    assert world.delete(AclFilter(), AclFilter()) == [(54, []), (54, [])]
    found = world.handlers.describe_acls(at(3), DescribeAclsRequest(**of_filter(AclFilter())))
    assert isinstance(found, DescribeAclsResponse)
    assert found.error_code == ErrorCode.SECURITY_DISABLED


def test_oldest_version_knows_literal_names_alone() -> None:
    """There are no pattern types on its wire."""
    world = World()
    world.create(acl("a"), acl("a", PREFIXED))
    request = DescribeAclsRequest(resource_type_filter=1, resource_name_filter=None, operation=1, permission_type=1)
    request.principal_filter = request.host_filter = None
    found = world.handlers.describe_acls(at(0), request)
    assert isinstance(found, DescribeAclsResponse)
    assert described_acls(found) == [acl("a")]


def test_changes_that_cannot_be_stored_are_refused() -> None:
    """Each with the error of the disk."""
    world = World()
    world.create(acl("a"))
    world.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full")
    assert world.create(acl("b")) == [56]
    assert world.delete(AclFilter()) == [(56, [])]


def test_requests_are_bounded() -> None:
    """As Kafka's controller bounds what one operation of a user may write; filters, by what they have to look at."""
    world = World()
    assert set(world.create(*(acl(f"t{index}") for index in range(MAX_CHANGES + 1)))) == {44}
    assert world.delete(*[AclFilter(TOPIC, LITERAL, "x")] * (MAX_CHANGES + 1))[0] == (44, [])
    assert world.source.batches == []


async def test_many_acls_are_told_and_removed_on_a_thread() -> None:
    """The event loop goes on meanwhile, and the answer comes as it goes out."""
    world, count = World(asyncio.get_running_loop()), 20_000
    for start in range(0, count, MAX_CHANGES):
        made = (acl(f"t{index}", principal=f"User:{index % 2}") for index in range(start, start + MAX_CHANGES))
        await world.create_later(*made)
    everything = DescribeAclsRequest(**of_filter(AclFilter()))
    told = world.handlers.describe_acls(at(3), everything)
    assert isinstance(told, Deferred)
    response, _ = decode(DescribeAclsResponse, await told, 3, 0)
    assert len(response.resources) == count
    one = AclFilter(TOPIC, ANY, principal="User:1", resource_name="t3")
    assert world.delete(one) == [(0, ["t3"])], "what is named is looked up, and not looked for"
    half = DeleteAclsRequest(filters=[DeleteAclsFilter(**of_filter(AclFilter(principal="User:1")))])
    removed = world.handlers.delete_acls(at(3), half)
    assert isinstance(removed, Deferred)
    answer, _ = decode(DeleteAclsResponse, await removed, 3, 0)
    assert len(answer.filter_results[0].matching_acls) == count // 2 - 1
    assert len(world.source.image.acls) == count // 2
