"""TxnOffsetCommit: verified, let in by the group, and kept until the transaction ends."""

from collections.abc import AsyncIterator

import pytest

from odradek.broker.controller.topics import NewTopic
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import JoinRequest, SupportedProtocol
from odradek.broker.groups.records import OffsetKey
from odradek.broker.handlers.group_offsets import MAX_OFFSETS
from odradek.broker.handlers.txn_offset_commit import TxnOffsetCommitHandler
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from odradek.storage.names import TopicPartition
from tests.unit.broker.groups.coordinator_world import OFFSETS, Cluster, RunningBroker
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.transactions.coordinators import ELSEWHERE, ScriptedCoordinator, verifier

NONE = ErrorCode.NONE
OLD, VERIFIED, ADDED = 3, 4, 5
"""Versions: with the errors of ever, with TRANSACTION_ABORTABLE, with the group's partition added."""


class World:
    """A broker with groups, the coordinator of transactions that a test scripts, and a topic of three partitions."""

    def __init__(self) -> None:
        self.broker = RunningBroker(Cluster.new("t"))
        self.coordinator = ScriptedCoordinator()
        self.is_enabled = True
        self.handler = TxnOffsetCommitHandler(
            self.broker.coordinator,
            verifier(self.coordinator),
            self.broker.partitions,
            self.broker.cluster.clock,
            10,
            lambda: self.is_enabled,
        )

    def ask(
        self, version: int, *partitions: int, **fields: object
    ) -> TxnOffsetCommitResponse | Deferred[TxnOffsetCommitResponse]:
        """Commit offset 7 in partitions of the topic, as producer 1 in epoch 0."""
        topic, metadata = fields.pop("topic", "t"), fields.pop("metadata", "")
        wanted = TxnOffsetCommitRequestTopic(
            name=str(topic),
            partitions=[
                TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=7, committed_metadata=str(metadata)
                )
                for index in partitions
            ],
        )
        given = {"transactional_id": "tx", "group_id": "g", "producer_id": 1, "producer_epoch": 0, **fields}
        return self.handler.txn_offset_commit(
            at(version),
            TxnOffsetCommitRequest(topics=[wanted], **given),  # type: ignore[arg-type]
        )

    def commit(self, version: int, *partitions: int, **fields: object) -> list[ErrorCode]:
        """Return the errors, by partition."""
        response = self.ask(version, *partitions, **fields)
        assert isinstance(response, TxnOffsetCommitResponse)
        return codes(response)

    def end(self, committed: bool) -> None:
        """End the transaction on the group's partition."""
        index = self.broker.coordinator.shard("g").writer.partition.index
        marker = TransactionMarker(1, 0, 0, committed, 0)
        assert self.broker.coordinator.end_transaction(index, marker) is NONE

    def offset(self, partition: int) -> int | None:
        """Return what is committed for the group."""
        found = self.broker.coordinator.shard("g").visible.get("g", "t", partition)
        return None if found is None else found.offset


def codes(response: TxnOffsetCommitResponse) -> list[ErrorCode]:
    return [ErrorCode(one.error_code) for topic in response.topics for one in topic.partitions]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A world, which is stopped in the end."""
    made = World()
    yield made
    made.broker.stop()


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(("version", "how"), [(0, "verify"), (OLD, "verify"), (VERIFIED, "verify"), (ADDED, "add")])
async def test_offsets_wait_for_the_end_of_the_transaction(
    world: World, version: int, how: str, committed: bool
) -> None:
    """The partition of the group is verified once for each transaction."""
    for partition in (0, 1):
        assert world.commit(version, partition) == [NONE]
    place = TopicPartition(OFFSETS, world.broker.coordinator.shard("g").writer.partition.index)
    assert world.coordinator.calls == [(how, "tx", 1, 0, (place,))]
    assert (world.offset(0), world.offset(1)) == (None, None)
    assert world.broker.coordinator.shard("g").offsets.is_pending("g", "t", 0)
    world.end(committed)
    assert (world.offset(0), world.offset(1)) == ((7, 7) if committed else (None, None))
    assert world.commit(version, 2) == [NONE]
    assert len(world.coordinator.calls) == 2


async def test_partitions_are_refused_one_by_one(world: World) -> None:
    """What is not there, and metadata that is too long; the others are committed."""
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.commit(ADDED, 0, 3, -1) == [NONE, unknown, unknown]
    assert world.commit(ADDED, 0, 1, topic="nowhere") == [unknown, unknown]
    assert world.commit(ADDED, 2, metadata="x" * 11) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    world.end(committed=True)
    assert [world.offset(partition) for partition in range(3)] == [7, None, None]
    assert world.commit(ADDED, 0, group_id="") == [ErrorCode.INVALID_GROUP_ID]


@pytest.mark.parametrize(
    ("version", "said", "told"),
    [
        (OLD, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
        (VERIFIED, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (OLD, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ADDED, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (OLD, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ADDED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (1, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (0, ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ADDED, ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ADDED, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
    ],
)
async def test_what_the_coordinator_of_the_transaction_refuses(
    world: World, version: int, said: ErrorCode, told: ErrorCode
) -> None:
    """Is told as producers know it, and nothing is written."""
    world.coordinator.code = said
    assert world.commit(version, 0) == [told]
    assert world.broker.coordinator.shard("g").writer.end == 0


async def test_zombies_are_fenced_by_the_group(world: World) -> None:
    """Of a group that is not there; of one with members; who does not say who he is, is let in (KIP-447)."""
    assert world.commit(OLD, 0, generation_id=1, member_id="gone") == [ErrorCode.ILLEGAL_GENERATION]
    shard = world.broker.coordinator.shard("g")
    group = shard.classic_group("g", 0)
    assert isinstance(group, ClassicGroup)
    join = JoinRequest("", None, "c", "/h", 10_000, 20_000, "consumer", (SupportedProtocol("range", b""),), 3, "uuid")
    shard.ask(group, lambda token: group.join(join, token, 0))
    assert world.commit(OLD, 0, generation_id=0, member_id="gone") == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert world.commit(OLD, 0) == [NONE]


async def test_a_commit_waits_for_the_coordinator(world: World) -> None:
    """Whoever leads the group's partition by then has it verified again."""
    world.coordinator.answers_later = True
    found: list[ErrorCode] = []

    def ask() -> None:
        answer = world.ask(ADDED, 0)
        assert isinstance(answer, Deferred)
        answer.on_done(lambda response: found.extend(codes(response)))

    ask()
    world.coordinator.answer()
    assert found == [NONE]
    world.end(committed=True)
    ask()
    partition = world.broker.coordinator.shard("g").writer.partition
    partition.lead(partition.leader_id, partition.leader_epoch + 1)
    world.coordinator.answer()
    assert found == [NONE, ErrorCode.NOT_COORDINATOR]


async def test_nobody_coordinates(world: World) -> None:
    """Of the transaction, or of the group."""
    world.coordinator.leader = -1
    assert world.commit(ADDED, 0) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    world.coordinator.leader = ELSEWHERE
    assert isinstance(world.ask(ADDED, 0), Deferred)
    world.broker.coordinator.stop()
    assert world.commit(ADDED, 0) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


async def test_verification_can_be_switched_off(world: World) -> None:
    """transaction.partition.verification.enable; the partition is added all the same."""
    world.is_enabled = False
    world.broker.coordinator.shard("g").writer.partition.log.producers.verify_transactions = False
    assert world.commit(OLD, 0) == [NONE]
    assert world.coordinator.calls == []
    world.end(committed=True)
    assert world.commit(ADDED, 0) == [NONE]
    assert len(world.coordinator.calls) == 1


async def test_more_offsets_than_a_batch_may_hold(world: World) -> None:
    """None of them is taken."""
    world.broker.controller.create_topics([NewTopic("u", 1, 1)])
    response = world.ask(ADDED, *([0] * (MAX_OFFSETS + 1)), topic="u")
    assert isinstance(response, Deferred)
    assert set(codes(await response)) == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert world.broker.coordinator.shard("g").offsets.get(*OffsetKey("g", "u", 0)) is None
