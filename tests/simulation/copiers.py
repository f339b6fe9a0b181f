"""Clients that copy numbers from one topic to another in transactions, the offsets with them.

A copier does what the documentation of Kafka's producers asks for: it tries again what may be tried again, and begins
anew after anything else, where the group says that it has come to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn, TypeVar

from odradek.broker.nodes.requests import NodeAddress
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from odradek.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from odradek.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from odradek.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from tests.simulation.clients import (
    FETCH_VERSION,
    PRODUCE_TIMEOUT_MS,
    RETRY_S,
    BrokenPromiseError,
    Ledger,
    SimulatedClient,
    values_of,
)
from tests.simulation.network import SimulatedNetwork
from tests.simulation.world import EPOCH_MS, SimulatedLoop

NUMBERS, COPIES = "numbers", "copies"
COPY_PARTITIONS = 2
"""Odd numbers go to one, even ones to the other."""
SESSION_TIMEOUT_MS = 1_800_000
"""So long that no member needs to send heartbeats."""
PROTOCOL_TYPE, PROTOCOL = "consumer", "range"
TRANSACTION_TIMEOUT_MS = 3000
THOUGHT_S = 0.3
"""How long a copier that takes its time has a transaction open, on average."""
LATE_S = (0.0, 0.0, 0.02, 0.5)
"""How long records are under way that a copier does not wait for, beside what bytes take anyway."""
PAUSE_S = 0.2
"""How long a copier waits between transactions, on average."""
FIND_COORDINATOR_VERSION = 3
ADD_PARTITIONS_VERSION = 3
ADD_OFFSETS_VERSION = 3
OFFSET_FETCH_VERSION = 8
JOIN_VERSION, SYNC_VERSION = 7, 5
OF_GROUP, OF_TRANSACTION = 0, 1
"""Kinds of coordinators."""

ELSEWHERE = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
AGAIN = ELSEWHERE | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
"""After these the same request is sent again."""

Answer = TypeVar("Answer", bound=Message)


class Versions(NamedTuple):
    """The versions of requests by which brokers tell how a producer does transactions."""

    init: int
    produce: int
    commit_offsets: int
    end: int


FIRST_KIND = Versions(init=4, produce=11, commit_offsets=4, end=4)
"""Partitions are added by a request of their own, and epochs stay."""
SECOND_KIND = Versions(init=5, produce=12, commit_offsets=5, end=5)
"""Writing adds partitions, and each transaction has an epoch of its own (KIP-890)."""


@dataclass(slots=True)
class Copied:
    """What all copiers and readers know together. A copy is the number, and the transaction that wrote it."""

    have_members: bool
    """Whether copiers are members of their groups, each a static one that takes the place of those before it: then it
    is the group that fences these, whatever their transactional ids (KIP-447)."""
    transactions: dict[bytes, set[bytes]] = field(default_factory=dict)
    """Those that were asked to be committed: their copies."""
    done: set[bytes] = field(default_factory=set)
    """Those whose commit was acknowledged."""
    positions: dict[int, int] = field(default_factory=dict)
    """How far the group has come in each partition of the numbers, as was acknowledged."""
    seen: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """(partition, offset) -> the copy that a reader of committed records saw there."""
    places: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """Number -> where its copy is."""

    def saw(self, partition: int, offset: int, copy: bytes) -> None:
        """A reader of committed records is given a copy: somebody asked for its commit, and it is the only one."""
        number, _, transaction = copy.partition(b" in ")
        if transaction not in self.transactions:
            raise BrokenPromiseError(f"a reader of committed records sees {copy!r}, which nobody asked to be committed")
        place = (partition, offset)
        if self.places.setdefault(number, place) != place or self.seen.setdefault(place, copy) != copy:
            raise BrokenPromiseError(
                f"a reader of committed records sees {copy!r} at offset {offset} of partition {partition}, and saw"
                f" {self.seen.get(place)!r} there, and that number at {self.places[number]}"
            )


class StartOverError(Exception):
    """The transaction cannot go on."""


class Copier(SimulatedClient):
    """Copies one partition of the numbers, a few in each transaction; aborts some of them, and waits for all or not."""

    def __init__(
        self,
        network: SimulatedNetwork,
        name: str,
        bootstrap: list[NodeAddress],
        ledger: Ledger,
        copied: Copied,
        partition: int,
        transactional_id: str,
        versions: Versions,
    ) -> None:
        super().__init__(network, name, bootstrap, ledger, COPIES)
        self.transactional_id = transactional_id
        self.position = 0
        """Of the next number, as far as is committed."""
        self.is_succeeded = False
        """Whether another one has its transactional id now: it ends as soon as it is fenced."""
        self.is_done = False
        self._copied = copied
        self.partition = partition
        """Of the numbers."""
        self._versions = versions
        self._source = SimulatedClient(network, name, bootstrap, ledger, NUMBERS)
        self._source.process = self.process
        self._loop = SimulatedLoop(self.world, self.process)
        self._coordinators: dict[int, NodeAddress] = {}
        self._producer = (-1, -1)
        self._sequences: dict[int, int] = {}
        self._count = 0
        self._group = f"copiers-{partition}"
        self._instance = f"instance-{partition}" if copied.have_members else None
        self._member = ("", -1)
        """Its id, and the generation."""

    def start(self) -> None:
        """Begin to copy."""
        self._loop.create_task(self._copy()).add_done_callback(lambda task: task.result())

    async def _copy(self) -> None:
        await self._learned(self)
        await self._learned(self._source)
        while not (self.is_stopping or self.is_succeeded):
            try:
                await self._begin()
                while not self.is_stopping:
                    numbers = await self._read()
                    if numbers:
                        await self._transaction(numbers)
                    await asyncio.sleep(self.world.random.expovariate(1 / PAUSE_S))
            except StartOverError as reason:
                self.ledger.note_error(f"copier starts over: {reason}")
                await self._pause()
        if not self.is_succeeded:
            self.position = await self._committed()
        self.is_done = True

    async def _begin(self) -> None:
        """End what an earlier one may have begun, and find out how far the group has come."""
        keeps = self._producer[0] >= 0 and self.world.random.random() < 0.5
        producer_id, epoch = self._producer if keeps else (-1, -1)
        self._producer, self._sequences = (-1, -1), {}
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        found = await self._told(InitProducerIdResponse, OF_TRANSACTION, request, self._versions.init, _error)
        self._producer = found.producer_id, found.producer_epoch
        if self._instance is not None:
            await self._join(self._instance)
        self.position = await self._committed()

    async def _join(self, instance: str) -> None:
        """Take the place of whoever was the member before."""
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            group_instance_id=instance,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=b"")],
        )
        joined = await self._told(JoinGroupResponse, OF_GROUP, request, JOIN_VERSION, _error)
        self._member = joined.member_id, joined.generation_id
        assignments = [SyncGroupRequestAssignment(member_id=one.member_id, assignment=b"") for one in joined.members]
        sync = SyncGroupRequest(
            group_id=self._group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=instance,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=assignments,
        )
        await self._told(SyncGroupResponse, OF_GROUP, sync, SYNC_VERSION, _error)

    async def _committed(self) -> int:
        wanted = OffsetFetchRequestTopics(name=NUMBERS, partition_indexes=[self.partition])
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=self._group, topics=[wanted])], require_stable=True
        )

        def codes(found: OffsetFetchResponse) -> Iterable[int]:
            [group] = found.groups
            return group.error_code, *(part.error_code for topic in group.topics for part in topic.partitions)

        known = self._copied.positions.get(self.partition, 0)
        found = await self._told(OffsetFetchResponse, OF_GROUP, request, OFFSET_FETCH_VERSION, codes)
        position = max(0, found.groups[0].topics[0].partitions[0].committed_offset)
        if position < known:
            raise BrokenPromiseError(
                f"{self.process.name} is told that the group has come to {position} in partition {self.partition},"
                f" and {known} was acknowledged"
            )
        return position

    async def _read(self) -> list[bytes]:
        """Return the next numbers, none if there are none yet."""
        request = self._source.fetch_from(self.partition, self.position)
        found = await self._answer(self._source, self._source.leader_of(self.partition), request, FETCH_VERSION)
        if isinstance(found, FetchResponse) and found.responses and not found.responses[0].partitions[0].error_code:
            numbers = values_of(found.responses[0].partitions[0].records)
            most = self.world.random.randrange(1, 6)
            return [value for offset, value in numbers if offset >= self.position][:most]
        await self._pause()
        await self._learned(self._source)
        return []

    async def _transaction(self, numbers: list[bytes]) -> None:
        """Copy numbers, and commit or not."""
        self._count += 1
        name = f"{self.process.name}/{self._count}".encode()
        parts: dict[int, list[bytes]] = {}
        for number in numbers:
            parts.setdefault(_partition_of(number), []).append(number + b" in " + name)
        random = self.world.random
        mood = random.random()
        if self._versions is FIRST_KIND:
            await self._add_partitions(list(parts))
        for partition, copies in parts.items():
            if mood < 0.1:
                await self._impatient(partition, copies)
                return
            await self._write(partition, copies)
        if mood < 0.9:
            await self._commit_offsets(self.position + len(numbers))
        if random.random() < 0.3:  # some have more to do before they end what they have begun
            await asyncio.sleep(random.expovariate(1 / THOUGHT_S))
        if mood < 0.25:
            await self._end(committed=False)
            return
        if mood >= 0.9:  # the offsets come last, right before the end
            await self._commit_offsets(self.position + len(numbers))
        self._copied.transactions[name] = {copy for copies in parts.values() for copy in copies}
        await self._end(committed=True)
        self._copied.done.add(name)
        self.position += len(numbers)
        self._copied.positions[self.partition] = self.position

    async def _add_partitions(self, partitions: list[int]) -> None:
        producer_id, epoch = self._producer
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=COPIES, partitions=partitions)],
        )

        def codes(found: AddPartitionsToTxnResponse) -> Iterable[int]:
            topics = found.results_by_topic_v3_and_below
            return [part.partition_error_code for topic in topics for part in topic.results_by_partition]

        await self._told(AddPartitionsToTxnResponse, OF_TRANSACTION, request, ADD_PARTITIONS_VERSION, codes)

    async def _write(self, partition: int, copies: list[bytes]) -> None:
        request = self._produce_request(partition, copies)
        while True:
            found = await self._answer(self, self.leader_of(partition), request, self._versions.produce)
            if isinstance(found, ProduceResponse):
                code = ErrorCode(found.responses[0].partition_responses[0].error_code)
                if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    break
                self._check(code)
            await self._pause()
            await self._learned(self)
        self._sequences[partition] = self._sequences.get(partition, 0) + len(copies)

    async def _impatient(self, partition: int, copies: list[bytes]) -> None:
        """Abort while records are still on their way, some for long; nobody knows what became of them, or of the
        sequence numbers."""
        address, request = self.leader_of(partition), self._produce_request(partition, copies)
        if address is not None:
            late_s = self.world.random.choice(LATE_S)
            self.world.after(
                late_s, lambda: self.ask(address, request, self._versions.produce, lambda _found: None), self.process
            )
        await self._end(committed=False)
        if self._versions is FIRST_KIND:
            raise StartOverError("impatient")

    def _produce_request(self, partition: int, copies: list[bytes]) -> ProduceRequest:
        producer_id, epoch = self._producer
        fields = BatchFields(
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=self._sequences.get(partition, 0),
            transactional=True,
        )
        now_ms = EPOCH_MS + int(self.world.now * 1000)
        batch = build_batch(make_records([(None, copy) for copy in copies], now_ms), fields)
        data = PartitionProduceData(index=partition, records=batch)
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=PRODUCE_TIMEOUT_MS,
            topic_data=[TopicProduceData(name=COPIES, partition_data=[data])],
        )

    async def _commit_offsets(self, position: int) -> None:
        producer_id, epoch = self._producer
        if self._versions is FIRST_KIND:
            adding = AddOffsetsToTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=producer_id,
                producer_epoch=epoch,
                group_id=self._group,
            )
            await self._told(AddOffsetsToTxnResponse, OF_TRANSACTION, adding, ADD_OFFSETS_VERSION, _error)
        part = TxnOffsetCommitRequestPartition(
            partition_index=self.partition, committed_offset=position, committed_metadata=""
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=self._group,
            producer_id=producer_id,
            producer_epoch=epoch,
            generation_id=self._member[1],
            member_id=self._member[0],
            group_instance_id=self._instance,
            topics=[TxnOffsetCommitRequestTopic(name=NUMBERS, partitions=[part])],
        )

        def codes(found: TxnOffsetCommitResponse) -> Iterable[int]:
            return [part.error_code for topic in found.topics for part in topic.partitions]

        await self._told(TxnOffsetCommitResponse, OF_GROUP, request, self._versions.commit_offsets, codes)

    async def _end(self, committed: bool) -> None:
        producer_id, epoch = self._producer
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=committed,
        )
        found = await self._told(EndTxnResponse, OF_TRANSACTION, request, self._versions.end, _error)
        if self._versions is SECOND_KIND:
            self._producer, self._sequences = (found.producer_id, found.producer_epoch), {}

    # asking

    async def _told(
        self,
        kind: type[Answer],
        coordinator: int,
        request: Message,
        version: int,
        codes: Callable[[Answer], Iterable[int]],
    ) -> Answer:
        """Ask a coordinator until it has done what is asked for; raises StartOverError where it will not."""
        while True:
            address = self._coordinators.get(coordinator) or await self._find(coordinator)
            found = await self._answer(self, address, request, version)
            if not isinstance(found, kind):
                self._coordinators.pop(coordinator, None)
            else:
                failed = [ErrorCode(code) for code in codes(found) if code]
                if not failed:
                    return found
                self._check(failed[0])
                if failed[0] in ELSEWHERE:
                    self._coordinators.pop(coordinator, None)
            await self._pause()

    def _check(self, code: ErrorCode) -> None:
        self.ledger.note_error(f"copier {code.name}")
        if code not in AGAIN:
            _start_over(code)

    async def _find(self, coordinator: int) -> NodeAddress:
        key = self._group if coordinator == OF_GROUP else self.transactional_id
        request = FindCoordinatorRequest(key=key, key_type=coordinator)
        while True:
            found = await self._answer(self, self.any_node(), request, FIND_COORDINATOR_VERSION)
            if isinstance(found, FindCoordinatorResponse) and not found.error_code:
                address = self._coordinators[coordinator] = NodeAddress(found.host, found.port)
                return address
            await self._pause()

    async def _answer(
        self, client: SimulatedClient, address: NodeAddress | None, request: Message, version: int
    ) -> Message | None:
        """Return the answer; None where there is none."""
        if address is None:
            return None
        future: asyncio.Future[Message | None] = self._loop.create_future()
        client.ask(address, request, version, future.set_result)
        return await future

    async def _learned(self, client: SimulatedClient) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        client.learn(lambda: future.set_result(None))
        await future

    async def _pause(self) -> None:
        await asyncio.sleep(RETRY_S * self.world.random.uniform(0.5, 1.5))


def _partition_of(number: bytes) -> int:
    return int(number.rpartition(b"/")[2]) % COPY_PARTITIONS


def _error(
    found: InitProducerIdResponse | EndTxnResponse | AddOffsetsToTxnResponse | JoinGroupResponse | SyncGroupResponse,
) -> Iterable[int]:
    return (found.error_code,)


def _start_over(code: ErrorCode) -> NoReturn:
    raise StartOverError(code.name)
