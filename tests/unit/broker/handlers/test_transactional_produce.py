"""Produce: batches of transactions, which their coordinator has to know before they are written."""

import asyncio

import pytest

from odradek.broker.handlers.transactional_produce import RetrySettings, Verifications
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import PartitionProduceResponse, ProduceRequest
from odradek.protocol.records.building import BatchFields
from odradek.storage.names import TopicPartition
from tests.support.logs import NOW_MS, a_batch
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.old_support import answered
from tests.unit.broker.handlers.produce_support import HEAD, batch, produce_handler, request, results
from tests.unit.broker.transactions.coordinators import ScriptedCoordinator, verifier

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OLD, VERIFIED, ADDED = 10, 11, 12
"""Versions of Produce: with the errors of ever, with TRANSACTION_ABORTABLE, with partitions that are added."""
NONE = ErrorCode.NONE


@pytest.fixture
def node() -> Node:
    """A node with a topic of two partitions."""
    made = Node(verify_transactions=True)
    made.create("t", partitions=2)
    return made


@pytest.fixture
def coordinator() -> ScriptedCoordinator:
    """The coordinator of this broker."""
    return ScriptedCoordinator()


def records(sequence: int = 0, *, producer_id: int = 7, epoch: int = 0) -> memoryview:
    fields = BatchFields(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=True)
    return a_batch((b"x",), NOW_MS, fields)


def asked(*data: tuple[int, memoryview], acks: int = -1) -> ProduceRequest:
    return request(*(("t", index, one) for index, one in data), acks=acks, transactional_id="tx")


class Producer:
    """Sends requests of one version to a node."""

    def __init__(self, node: Node, coordinator: ScriptedCoordinator, version: int, is_enabled: bool = True) -> None:
        self.node = node
        self.version = version
        loop = asyncio.get_running_loop()
        self.verifications = Verifications(
            loop, node.table, node.clock, node.memory, verifier(coordinator), lambda: is_enabled, RetrySettings(60, 10)
        )
        self.handler = produce_handler(node, loop, self.verifications)

    def send(self, wanted: ProduceRequest) -> Reply:
        """Give the handler a request; its memory is used again if it waits."""
        frame = [data.records for topic in wanted.topic_data for data in topic.partition_data]
        reply = Reply(self.handler(context(self.version), wanted, HEAD))
        if reply.is_waiting:
            for one in frame:
                assert isinstance(one, memoryview)
                one[:] = bytes(len(one))
        return reply

    async def produce(self, wanted: ProduceRequest) -> list[PartitionProduceResponse]:
        """Return what becomes of a request."""
        reply = self.send(wanted)
        if reply.is_waiting:
            await answered(reply)
        return results(reply, self.version)

    async def code(self, wanted: ProduceRequest) -> ErrorCode:
        """Return the error of the only partition."""
        [found] = await self.produce(wanted)
        return ErrorCode(found.error_code)


@pytest.mark.parametrize(("version", "how"), [(OLD, "verify"), (VERIFIED, "verify"), (ADDED, "add")])
async def test_the_first_batch_is_verified_and_no_other(
    node: Node, coordinator: ScriptedCoordinator, version: int, how: str
) -> None:
    """On each partition; of the next transaction again."""
    producer = Producer(node, coordinator, version)
    assert await producer.code(asked((0, records(0)))) is NONE
    assert coordinator.calls == [(how, "tx", 7, 0, (T0,))]
    assert {each.error_code for each in await producer.produce(asked((0, records(1)), (1, records(0))))} == {0}
    assert coordinator.calls[1:] == [(how, "tx", 7, 0, (T1,))]
    assert await producer.code(asked((0, records(2)))) is NONE
    assert len(coordinator.calls) == 2
    node.end_transaction("t", 7, committed=True)
    assert await producer.code(asked((0, records(3)))) is NONE
    assert coordinator.calls[2:] == [(how, "tx", 7, 0, (T0,))]


@pytest.mark.parametrize("version", [OLD, ADDED])
async def test_plain_batches_ask_nobody(node: Node, coordinator: ScriptedCoordinator, version: int) -> None:
    """Also those of a producer that has a transactional id, beside a batch of its transaction."""
    producer = Producer(node, coordinator, version)
    assert await producer.code(request(("t", 0, batch()))) is NONE
    assert await producer.code(asked((0, batch()))) is NONE
    assert coordinator.calls == []
    found = await producer.produce(asked((0, batch()), (1, records())))
    assert [each.error_code for each in found] == [0, 0]
    assert coordinator.calls[0][-1] == (T1,)


async def test_a_request_waits_for_the_coordinator(node: Node, coordinator: ScriptedCoordinator) -> None:
    """With copies of its records, which count as memory; another answer than for these partitions changes nothing."""
    coordinator.answers_later = True
    producer = Producer(node, coordinator, VERIFIED)
    reply = producer.send(asked((0, records()), (1, batch())))
    assert reply.is_waiting
    assert node.memory.held_bytes == len(records()) + len(batch())
    assert node.table.get("t", 1).log.log_end_offset == 0
    coordinator.answer()
    await answered(reply)
    assert [each.error_code for each in results(reply, VERIFIED)] == [0, 0]
    assert node.memory.held_bytes == 0
    assert node.table.get("t", 0).last_stable_offset == 0


@pytest.mark.parametrize(
    ("version", "said", "code", "message"),
    [
        (OLD, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE, "Partition was not added"),
        (VERIFIED, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE, None),
        (OLD, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, None),
        (ADDED, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, None),
        (OLD, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING, None),
        (OLD, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS, "NOT_COORDINATOR"),
        (ADDED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_ENOUGH_REPLICAS, "LOAD_IN_PROGRESS"),
        (VERIFIED, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_ENOUGH_REPLICAS, "NOT_AVAILABLE"),
        (VERIFIED, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS, "CONCURRENT"),
    ],
)
async def test_what_the_coordinator_refuses_is_not_written(
    node: Node,
    coordinator: ScriptedCoordinator,
    version: int,
    said: ErrorCode,
    code: ErrorCode,
    message: str | None,
) -> None:
    """And told as the producer's version knows it; other partitions are written."""
    coordinator.code = said
    found = await Producer(node, coordinator, version).produce(asked((0, records()), (1, batch())))
    assert [each.error_code for each in found] == [code, 0]
    assert (found[0].error_message is None) is (message is None)
    assert message is None or message in (found[0].error_message or "")
    assert (found[0].base_offset, found[0].log_start_offset) == (-1, -1)
    assert node.table.get("t", 0).log.log_end_offset == 0


async def test_the_end_of_the_transaction_before_is_waited_for(node: Node, coordinator: ScriptedCoordinator) -> None:
    """Where asking adds the partition: for a while, asking again; then the producer learns of it."""
    coordinator.code = ErrorCode.CONCURRENT_TRANSACTIONS
    producer = Producer(node, coordinator, ADDED)
    assert await producer.code(asked((0, records()))) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert 2 <= len(coordinator.calls) <= 8
    reply = producer.send(asked((0, records())))
    coordinator.code = NONE
    await answered(reply)
    assert results(reply, ADDED)[0].error_code == 0
    assert node.memory.held_bytes == 0


async def test_a_marker_that_comes_before_the_answer_keeps_the_batch_out(
    node: Node, coordinator: ScriptedCoordinator
) -> None:
    """Otherwise it would hang: nobody ends its transaction any more."""
    coordinator.answers_later = True
    reply = Producer(node, coordinator, VERIFIED).send(asked((0, records())))
    node.end_transaction("t", 7, committed=False)
    coordinator.answer()
    await answered(reply)
    assert results(reply, VERIFIED)[0].error_code == ErrorCode.INVALID_TXN_STATE
    assert node.table.get("t", 0).last_stable_offset == 1


async def test_a_marker_of_version_2_leaves_the_next_transaction_alone(
    node: Node, coordinator: ScriptedCoordinator
) -> None:
    """Its epoch is that of the transaction that comes, which is being added."""
    producer = Producer(node, coordinator, ADDED)
    assert await producer.code(asked((0, records()))) is NONE
    coordinator.answers_later = True
    reply = producer.send(asked((0, records(epoch=1))))
    node.table.get("t", 0).append_marker(TransactionMarker(7, 1, 0, True, 2), NOW_MS)
    coordinator.answer()
    await answered(reply)
    assert results(reply, ADDED)[0].error_code == NONE
    assert node.table.get("t", 0).last_stable_offset == 2


async def test_who_leads_again_has_the_batch_verified_again(node: Node, coordinator: ScriptedCoordinator) -> None:
    """Somebody else may have led meanwhile, and taken the marker."""
    coordinator.answers_later = True
    reply = Producer(node, coordinator, ADDED).send(asked((0, records())))
    partition = node.table.get("t", 0)
    partition.lead(partition.leader_id, partition.leader_epoch + 1)
    coordinator.answer()
    await answered(reply)
    assert results(reply, ADDED)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.log_end_offset == 0


async def test_two_producers_in_a_request_refuse_it(node: Node, coordinator: ScriptedCoordinator) -> None:
    """A transactional id has one; with acks=0 the connection ends."""
    producer = Producer(node, coordinator, OLD)
    both = (0, records()), (1, records(producer_id=8))
    found = await producer.produce(asked(*both))
    assert {each.error_code for each in found} == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    with pytest.raises(CloseConnectionError):
        producer.send(asked(*both, acks=0))
    assert coordinator.calls == []


async def test_acks_0_ends_the_connection_of_who_is_refused(node: Node, coordinator: ScriptedCoordinator) -> None:
    """Later, too."""
    coordinator.code = ErrorCode.PRODUCER_FENCED
    producer = Producer(node, coordinator, OLD)
    with pytest.raises(CloseConnectionError):
        producer.send(asked((0, records()), acks=0))
    coordinator.answers_later = True
    reply = producer.send(asked((0, records()), acks=0))
    coordinator.answer()
    await answered(reply)
    assert isinstance(reply.answers[0], CloseConnectionError)


async def test_an_older_epoch_is_refused_without_asking(node: Node, coordinator: ScriptedCoordinator) -> None:
    """The partition knows already."""
    producer = Producer(node, coordinator, VERIFIED)
    assert await producer.code(asked((0, records(epoch=4)))) is NONE
    assert await producer.code(asked((0, records(epoch=3)))) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert len(coordinator.calls) == 1


async def test_verification_can_be_switched_off(node: Node, coordinator: ScriptedCoordinator) -> None:
    """transaction.partition.verification.enable; partitions are added all the same."""
    node.logs.change_verification(False)
    coordinator.code = ErrorCode.TRANSACTION_ABORTABLE
    assert await Producer(node, coordinator, OLD, is_enabled=False).code(asked((0, records()))) is NONE
    found = await Producer(node, coordinator, ADDED, is_enabled=False).code(asked((1, records())))
    assert found is ErrorCode.TRANSACTION_ABORTABLE
    node.logs.change_verification(True)
    node.create("u")
    unverified = request(("u", 0, records()), transactional_id="tx")
    assert await Producer(node, coordinator, OLD, is_enabled=False).code(unverified) is ErrorCode.INVALID_TXN_STATE


async def test_requests_that_wait_have_a_limit(node: Node, coordinator: ScriptedCoordinator) -> None:
    """The producer tries again when there is room."""
    coordinator.answers_later = True
    node.memory.hold(node.memory.limit_bytes)
    found = await Producer(node, coordinator, ADDED).code(asked((0, records())))
    assert found is ErrorCode.REQUEST_TIMED_OUT
    node.memory.release(node.memory.limit_bytes)
    assert node.memory.held_bytes == 0


async def test_what_cannot_be_a_batch_is_refused_as_ever(node: Node, coordinator: ScriptedCoordinator) -> None:
    """A damaged one after it was verified; one for a partition that is not there is not asked about."""
    damaged = records()
    damaged[-1] ^= 1
    producer = Producer(node, coordinator, OLD)
    assert await producer.code(asked((0, damaged))) is ErrorCode.CORRUPT_MESSAGE
    assert await producer.code(asked((9, records()))) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [call[-1] for call in coordinator.calls] == [(T0,)]
