"""FindCoordinator: where the partitions of groups and of transactional ids lead, nobody for the rest."""

from collections.abc import AsyncIterator

import pytest

from odradek.broker.handlers.coordinator import CoordinatorHandler, CoordinatorLookup
from odradek.broker.handlers.known_brokers import OnlyThisBroker
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.support.clock import ManualClock
from tests.support.deferred import now
from tests.unit.broker.groups.coordinator_world import Cluster, MemoryLogs, RunningBroker
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.metadata.support import SlowSource


def no_transactions() -> CoordinatorLookup:
    raise AssertionError("the coordinator of transactions is not needed")


@pytest.fixture
async def broker() -> AsyncIterator[RunningBroker]:
    running = RunningBroker(Cluster.new(), is_prepared=False)
    yield running
    running.stop()


@pytest.fixture
def handler(broker: RunningBroker) -> CoordinatorHandler:
    return CoordinatorHandler(OnlyThisBroker(broker.node), broker.coordinator, no_transactions)


async def test_this_broker_coordinates_groups(handler: CoordinatorHandler) -> None:
    """From the first request on, in the form with one key and in the form with many."""
    one = now(handler.find_coordinator(at(3), FindCoordinatorRequest(key="g")))
    assert (one.error_code, one.error_message) == (ErrorCode.NONE, "NONE")
    assert (one.node_id, one.host, one.port) == (1, "192.0.2.1", 9092)
    many = now(handler.find_coordinator(at(4), FindCoordinatorRequest(coordinator_keys=["a", "", "a"])))
    assert [(c.key, c.error_code, c.error_message, c.node_id) for c in many.coordinators] == [
        ("a", ErrorCode.NONE, "", 1),
        ("", ErrorCode.NONE, "", 1),
        ("a", ErrorCode.NONE, "", 1),
    ]


async def test_who_asks_first_is_answered_when_the_topic_is_there() -> None:
    """All who ask meanwhile, too; a client that asks nobody who coordinates is told to, as by Kafka."""
    source = SlowSource()
    broker = RunningBroker(Cluster(source, MemoryLogs(), ManualClock()), is_prepared=False)
    handler = CoordinatorHandler(OnlyThisBroker(broker.node), broker.coordinator, no_transactions)
    told: list[FindCoordinatorResponse] = []
    for _ in range(2):
        found = handler.find_coordinator(at(3), FindCoordinatorRequest(key="g"))
        assert isinstance(found, Deferred)
        found.on_done(told.append)
    with pytest.raises(KafkaError) as refused:
        broker.coordinator.shard("g")
    assert refused.value.code is ErrorCode.NOT_COORDINATOR
    assert told == []
    source.finish()
    assert [(one.error_code, one.node_id) for one in told] == [(ErrorCode.NONE, 1)] * 2
    assert now(handler.find_coordinator(at(3), FindCoordinatorRequest(key="g"))).error_code is ErrorCode.NONE
    broker.stop()


async def test_without_its_topic_there_is_no_coordinator(broker: RunningBroker, handler: CoordinatorHandler) -> None:
    """The client asks again."""
    broker.cluster.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    found = now(handler.find_coordinator(at(3), FindCoordinatorRequest(key="g")))
    assert (found.error_code, found.node_id, found.port) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)


class Transactions:
    """A coordinator of transactions: that of `a` is this broker, that of all others nobody at present."""

    unavailable: KafkaError | None = None

    def prepare(self) -> KafkaError | None:
        """See that the topic is there."""
        return self.unavailable

    def leader_for(self, name: str, /) -> int:
        """Say where an id lives."""
        return 1 if name == "a" else -1


async def test_the_coordinator_of_a_transactional_id_is_where_its_partition_leads(broker: RunningBroker) -> None:
    """In both forms; where nobody leads it, or there is no topic, the client asks again."""
    transactions = Transactions()
    handler = CoordinatorHandler(OnlyThisBroker(broker.node), broker.coordinator, lambda: transactions)
    one = now(handler.find_coordinator(at(3), FindCoordinatorRequest(key="a", key_type=1)))
    assert (one.error_code, one.node_id, one.host, one.port) == (ErrorCode.NONE, 1, "192.0.2.1", 9092)
    many = now(handler.find_coordinator(at(4), FindCoordinatorRequest(coordinator_keys=["a", "b"], key_type=1)))
    assert [(c.key, c.error_code, c.node_id) for c in many.coordinators] == [
        ("a", ErrorCode.NONE, 1),
        ("b", ErrorCode.COORDINATOR_NOT_AVAILABLE, -1),
    ]
    transactions.unavailable = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no topic")
    one = now(handler.find_coordinator(at(3), FindCoordinatorRequest(key="a", key_type=1)))
    assert (one.error_code, one.error_message) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "no topic")


@pytest.mark.parametrize(
    ("version", "key_type", "key", "code"),
    [
        (4, 7, "g", ErrorCode.INVALID_REQUEST),
        (5, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", ErrorCode.INVALID_REQUEST),
        (6, 2, "g", ErrorCode.INVALID_REQUEST),
        (6, 2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
async def test_kinds_of_keys_are_those_of_the_version(
    handler: CoordinatorHandler, version: int, key_type: int, key: str, code: ErrorCode
) -> None:
    """Share groups came with version 6, and their keys name a partition."""
    request = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
    (coordinator,) = now(handler.find_coordinator(at(version), request)).coordinators
    assert coordinator.error_code == code
