"""Clients of the simulated cluster: producers that know what was acknowledged, consumers that know what they saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from odradek.broker.nodes.requests import Disconnected, NodeAddress, NodeConnection
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.protocol.records.record import iter_records
from tests.simulation.network import SimulatedNetwork
from tests.simulation.world import EPOCH_MS, SimulatedProcess

TOPIC = "values"
PASSING = "passing"
"""A topic that is deleted and made again."""
PRODUCE_VERSION, FETCH_VERSION = 12, 12
"""The last ones that name topics."""
METADATA_VERSION = 12
LIST_OFFSETS_VERSION = 7
EARLIEST = -2
ANSWER_S = 10.0
RETRY_S = 0.1
READ_PAUSE_S = 0.2
PRODUCE_TIMEOUT_MS = 5000

DUPLICATE = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
LOST_SEQUENCE = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})
"""What an idempotent producer with one batch under way is told only where something acknowledged is gone."""


class BrokenPromiseError(AssertionError):
    """A promise of the cluster is broken."""


class Acknowledged(NamedTuple):
    """A value that the cluster has promised to keep. The offset is -1 where only a duplicate was acknowledged."""

    partition: int
    offset: int
    value: bytes
    at: float
    """When, in seconds since the world began."""


@dataclass(slots=True)
class Ledger:
    """What all clients know together."""

    acknowledged: dict[int, list[Acknowledged]] = field(default_factory=dict)
    """By partition."""
    of_idempotent: set[bytes] = field(default_factory=set)
    """Values that must not be there twice, acknowledged or not."""
    seen: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """(partition, offset) -> the value that a consumer read there."""
    errors: dict[str, int] = field(default_factory=dict)
    """How often clients were told what."""

    def note_error(self, name: str) -> None:
        """Count an error."""
        self.errors[name] = self.errors.get(name, 0) + 1


class SimulatedClient:
    """What producers and consumers share: who leads, and asking them."""

    def __init__(
        self,
        network: SimulatedNetwork,
        name: str,
        bootstrap: Sequence[NodeAddress],
        ledger: Ledger,
        topic: str = TOPIC,
    ) -> None:
        self.topic = topic
        self.world = network.world
        self.process = SimulatedProcess(name)
        self.ledger = ledger
        self.is_stopping = False
        self._connector = network.connector(self.process)
        self._bootstrap = list(bootstrap)
        self._nodes: dict[int, NodeAddress] = {}
        self._connections: dict[NodeAddress, NodeConnection] = {}
        self.leaders: dict[int, int] = {}
        """Partition -> broker."""
        self._epochs: dict[int, int] = {}
        """Partition -> leader epoch; what brokers say that know of an older one does not count (KIP-320)."""
        self._topic_id: UUID | None = None

    def ask(self, address: NodeAddress, request: Message, version: int, then: Callable[[Message | None], None]) -> None:
        """Send a request; `then` is given the answer, None where there is none."""
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = self._connector.connect(address, self.process.name)

        def arrived(result: Message | Disconnected) -> None:
            if isinstance(result, Disconnected):
                self.ledger.note_error("disconnected")
                then(None)
            else:
                then(result)

        connection.send(request, ANSWER_S, version).on_done(arrived)

    def later(self, call: Callable[[], None]) -> None:
        """Try again after a while."""
        self.world.after(RETRY_S * self.world.random.uniform(0.5, 1.5), call, self.process)

    def learn(self, then: Callable[[], None]) -> None:
        """Ask any broker who leads, again and again until one answers, then go on."""
        address = self.world.random.choice([*self._bootstrap, *self._nodes.values()])
        topics = [MetadataRequestTopic(name=self.topic)]

        def answered(found: Message | None) -> None:
            if isinstance(found, MetadataResponse) and found.topics and found.topics[0].error_code == ErrorCode.NONE:
                self._nodes = {node.node_id: NodeAddress(node.host, node.port) for node in found.brokers}
                if found.topics[0].topic_id != self._topic_id:
                    self._topic_id = found.topics[0].topic_id
                    self._epochs.clear()
                for one in found.topics[0].partitions:
                    if one.leader_epoch >= self._epochs.get(one.partition_index, -1):
                        self.leaders[one.partition_index] = one.leader_id
                        self._epochs[one.partition_index] = one.leader_epoch
                then()
            else:
                self.later(lambda: self.learn(then))

        self.ask(address, MetadataRequest(topics=topics, allow_auto_topic_creation=False), METADATA_VERSION, answered)

    def leader_of(self, partition: int) -> NodeAddress | None:
        """Return where the leader is, as far as is known."""
        return self._nodes.get(self.leaders.get(partition, -1))

    def fetch_from(self, partition: int, offset: int, isolation_level: int = 0) -> FetchRequest:
        """Return the request for what comes from an offset on."""
        part = FetchPartition(
            partition=partition,
            current_leader_epoch=self.epoch_of(partition),
            fetch_offset=offset,
            partition_max_bytes=1 << 20,
        )
        return FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=isolation_level,
            topics=[FetchTopic(topic=self.topic, partitions=[part])],
        )

    def epoch_of(self, partition: int) -> int:
        """Return the newest leader epoch that is known."""
        return self._epochs.get(partition, -1)

    def any_node(self) -> NodeAddress:
        """Return some broker."""
        return self.world.random.choice(list(self._nodes.values()) or self._bootstrap)


class SimulatedProducer(SimulatedClient):
    """Sends unique values to one partition, one at a time, with acks=all; as often as needed if it is idempotent."""

    def __init__(
        self,
        network: SimulatedNetwork,
        name: str,
        bootstrap: Sequence[NodeAddress],
        ledger: Ledger,
        partition: int,
        idempotent: bool,
        pause_s: float,
        topic: str = TOPIC,
    ) -> None:
        super().__init__(network, name, bootstrap, ledger, topic)
        self._pause_s = pause_s
        self._partition = partition
        self._idempotent = idempotent
        self._producer_id = -1
        self._sequence = 0
        self._number = 0
        self.acknowledged = 0
        """How many values were."""
        self.is_done = False

    def start(self) -> None:
        """Begin to send."""
        self.learn(self._identify if self._idempotent else self._send_next)

    def _identify(self) -> None:
        def answered(found: Message | None) -> None:
            if isinstance(found, InitProducerIdResponse) and found.error_code == ErrorCode.NONE:
                self._producer_id = found.producer_id
                self._send_next()
            else:
                self.later(lambda: self.learn(self._identify))

        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        self.ask(self.any_node(), request, 4, answered)

    def _send_next(self) -> None:
        if self.is_stopping:
            self.is_done = True
            return
        self._number += 1
        value = f"{self.process.name}/{self._number}".encode()
        if self._idempotent:
            self.ledger.of_idempotent.add(value)
        self._send(value)

    def _send(self, value: bytes) -> None:
        address = self.leader_of(self._partition)
        if address is None:
            self.later(lambda: self.learn(lambda: self._send(value)))
            return
        fields = BatchFields()
        if self._idempotent:
            fields = BatchFields(producer_id=self._producer_id, producer_epoch=0, base_sequence=self._sequence)
        batch = build_batch(make_records([(None, value)], EPOCH_MS + int(self.world.now * 1000)), fields)
        data = PartitionProduceData(index=self._partition, records=batch)
        request = ProduceRequest(
            acks=-1,
            timeout_ms=PRODUCE_TIMEOUT_MS,
            topic_data=[TopicProduceData(name=self.topic, partition_data=[data])],
        )
        self.ask(address, request, PRODUCE_VERSION, lambda found: self._answered(value, found))

    def _answered(self, value: bytes, found: Message | None) -> None:
        if isinstance(found, ProduceResponse):
            part = found.responses[0].partition_responses[0]
            code = ErrorCode(part.error_code)
            if code in (ErrorCode.NONE, DUPLICATE):
                self._acknowledged(value, part.base_offset if code == ErrorCode.NONE else -1)
                return
            self.ledger.note_error(code.name)
            if code in LOST_SEQUENCE and self._idempotent:
                raise BrokenPromiseError(
                    f"{self.process.name} with one batch under way is told {code.name} for {value!r}"
                )
        if self._idempotent:
            self.later(lambda: self.learn(lambda: self._send(value)))
        else:
            self.later(lambda: self.learn(self._send_next))  # it may be there or not

    def _acknowledged(self, value: bytes, offset: int) -> None:
        self.acknowledged += 1
        promise = Acknowledged(self._partition, offset, value, self.world.now)
        if self.topic == TOPIC:
            self.ledger.acknowledged.setdefault(self._partition, []).append(promise)
        self._sequence += 1
        pause = self.world.random.expovariate(1 / self._pause_s)
        self.world.after(pause, self._send_next, self.process)


class SimulatedConsumer(SimulatedClient):
    """Reads one partition again and again from its beginning, and remembers what it saw where."""

    def __init__(
        self,
        network: SimulatedNetwork,
        name: str,
        bootstrap: Sequence[NodeAddress],
        ledger: Ledger,
        partition: int,
        old_ones_go: bool,
    ) -> None:
        """`old_ones_go`: whether records are deleted, so that it may have to begin later."""
        super().__init__(network, name, bootstrap, ledger)
        self._partition = partition
        self._old_ones_go = old_ones_go
        self._offset = 0

    def start(self) -> None:
        """Begin to read."""
        self.learn(self._fetch)

    def _fetch(self) -> None:
        address = self.leader_of(self._partition)
        if self.is_stopping:
            return
        if address is None:
            self.later(lambda: self.learn(self._fetch))
            return
        self.ask(address, self.fetch_from(self._partition, self._offset), FETCH_VERSION, self._answered)

    def _answered(self, found: Message | None) -> None:
        if not isinstance(found, FetchResponse) or found.error_code or not found.responses:
            self.later(lambda: self.learn(self._fetch))
            return
        part = found.responses[0].partitions[0]
        if part.error_code:
            self.ledger.note_error(f"fetch {ErrorCode(part.error_code).name}")
            if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                if self._old_ones_go:
                    self._find_beginning()
                    return
                raise BrokenPromiseError(
                    f"a consumer that has read up to {self._offset} is told that it is out of range"
                )
            self.later(lambda: self.learn(self._fetch))
            return
        for offset, value in values_of(part.records):
            if offset >= self._offset:
                self._saw(offset, value)
        if self.world.random.random() < 0.02:
            self._offset = 0
        self.world.after(READ_PAUSE_S, self._fetch, self.process)

    def _find_beginning(self) -> None:
        part = ListOffsetsPartition(partition_index=self._partition, timestamp=EARLIEST)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=TOPIC, partitions=[part])])

        def answered(found: Message | None) -> None:
            if isinstance(found, ListOffsetsResponse):
                first = found.topics[0].partitions[0]
                if not first.error_code:
                    self._check_may_begin(first.offset)
            self.later(lambda: self.learn(self._fetch))

        self.ask(self.leader_of(self._partition) or self.any_node(), request, LIST_OFFSETS_VERSION, answered)

    def _check_may_begin(self, offset: int) -> None:
        """Deleted is what is old, so whoever is out of range is before the beginning: never beyond the end."""
        if offset < self._offset:
            raise BrokenPromiseError(
                f"a consumer that has read up to {self._offset} of partition {self._partition} is told that it is out"
                f" of range, and the log begins at {offset}"
            )
        self._offset = offset

    def _saw(self, offset: int, value: bytes) -> None:
        place = (self._partition, offset)
        before = self.ledger.seen.setdefault(place, value)
        if before != value:
            raise BrokenPromiseError(
                f"offset {offset} of partition {self._partition} was {before!r} and is {value!r} now"
            )
        self._offset = offset + 1


def values_of(data: bytes | bytearray | memoryview | None) -> list[tuple[int, bytes]]:
    """Return offsets and values of the records in batches; control batches are passed over."""
    found: list[tuple[int, bytes]] = []
    view = memoryview(data or b"")
    for position, header in iter_batches(view):
        if not header.is_control:
            records = iter_records(view[position : position + header.size])
            found += [(record.offset, record.value or b"") for record in records]
    return found
