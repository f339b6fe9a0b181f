"""Clients that ask a broker which does not lead are told who does, and where (KIP-951)."""

from dataclasses import replace

import pytest

from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.produce import ProduceResponse
from tests.support.partitions import Reply, context, decoded
from tests.support.replicated_brokers import LISTENER, TOPIC, TOPIC_ID, ReplicatedBrokers
from tests.unit.broker.handlers.fetch_support import response as fetched
from tests.unit.broker.handlers.produce_support import HEAD, batch, request
from tests.unit.broker.handlers.test_replica_fetch import CONSUMER, asked, quiet

FETCH_HEAD = b"\0\0\0\7\0"


def on_listener(version: int) -> RequestContext:
    """Return the circumstances of a client of the listener that the brokers have."""
    return replace(context(version), listener=LISTENER)


def producing(cluster: ReplicatedBrokers, node: int, version: int) -> Reply:
    ref = TOPIC_ID if version >= 13 else TOPIC
    return Reply(cluster[node].produce(on_listener(version), request((ref, 0, batch(b"a")), timeout_ms=60_000), HEAD))


def produced(reply: Reply, version: int) -> ProduceResponse:
    return decoded(ProduceResponse, reply.data[len(HEAD) :], version)


def hint_of(answer: ProduceResponse | FetchResponse) -> tuple[int, int, int]:
    """Return the error of the only partition, and the leader and epoch that are named."""
    one = (
        answer.responses[0].partition_responses[0]
        if isinstance(answer, ProduceResponse)
        else answer.responses[0].partitions[0]
    )
    return one.error_code, one.current_leader.leader_id, one.current_leader.leader_epoch


def endpoints_of(answer: ProduceResponse | FetchResponse) -> list[tuple[int, str, int]]:
    return [(one.node_id, one.host, one.port) for one in answer.node_endpoints]


@pytest.mark.parametrize("version", [10, 12, 13])
def test_producer_at_a_follower_is_told_who_leads_and_where(version: int) -> None:
    """With the epoch, so that it does not go back to older metadata."""
    cluster = ReplicatedBrokers()
    cluster.elect(3)
    answer = produced(producing(cluster, 2, version), version)
    assert hint_of(answer) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 3, 1)
    assert endpoints_of(answer) == [(3, "broker", 3)]


def test_producers_of_before_have_no_room_for_it() -> None:
    """Version 9 is answered as ever."""
    cluster = ReplicatedBrokers()
    answer = produced(producing(cluster, 2, 9), 9)
    assert hint_of(answer) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)


def test_producer_that_waits_while_leadership_goes_is_told_of_the_new_leader() -> None:
    """Whoever waits for replicas learns at once where to go on."""
    cluster = ReplicatedBrokers()
    cluster.settle()
    cluster.cut(2, 3)
    reply = producing(cluster, 1, 10)
    assert reply.is_waiting
    cluster.elect(2)
    cluster.settle()
    answer = produced(reply, 10)
    assert hint_of(answer) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2, 1)
    assert endpoints_of(answer) == [(2, "broker", 2)]


def test_leader_that_is_not_alive_has_no_address() -> None:
    """Its id and epoch are told nevertheless, as Apache Kafka does."""
    cluster = ReplicatedBrokers()
    cluster.set_broker(1, fenced=True)
    answer = produced(producing(cluster, 2, 10), 10)
    assert hint_of(answer) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 1, 0)
    assert not endpoints_of(answer)


def test_what_is_accepted_has_no_hint() -> None:
    """Nor has it endpoints."""
    cluster = ReplicatedBrokers(1)
    answer = produced(producing(cluster, 1, 10), 10)
    assert hint_of(answer) == (ErrorCode.NONE, -1, -1)
    assert not endpoints_of(answer)


def fetch(cluster: ReplicatedBrokers, node: int, version: int, replica: int, epoch: int) -> FetchResponse:
    reply = Reply(cluster[node].fetch(on_listener(version), asked(replica, 0, epoch), FETCH_HEAD))
    return fetched(reply, version)


@pytest.mark.parametrize(("version", "leader"), [(15, (-1, -1)), (16, (3, 1)), (18, (3, 1))])
def test_fetch_at_a_broker_that_does_not_lead_is_told_who_does(version: int, leader: tuple[int, int]) -> None:
    """From version 16 on."""
    cluster = ReplicatedBrokers()
    cluster.elect(3)
    answer = fetch(cluster, 1, version, 2, 1)
    assert hint_of(answer) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, *leader)
    assert endpoints_of(answer) == ([(3, "broker", 3)] if leader[0] >= 0 else [])


def test_consumer_of_an_older_epoch_is_told_of_the_newer_one() -> None:
    """FENCED_LEADER_EPOCH names this very broker."""
    cluster = quiet()
    cluster.elect(1)
    answer = fetch(cluster, 1, 17, CONSUMER, 0)
    assert hint_of(answer) == (ErrorCode.FENCED_LEADER_EPOCH, 1, 1)
    assert endpoints_of(answer) == [(1, "broker", 1)]
