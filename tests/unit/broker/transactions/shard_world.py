"""A shard of transactions on a log in memory, with partitions that write markers when a test lets them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from odradek.broker.coordinator.background import Background
from odradek.broker.coordinator.partition import CoordinatorPartition
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.nodes.requests import Disconnected
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.markers import MarkerParts, MarkerSender, Written
from odradek.broker.transactions.records import decode_key, decode_value
from odradek.broker.transactions.shard import ProducerResult, TransactionShard, TransactionShardServices
from odradek.broker.transactions.state import Partitions, Producer, TransactionMetadata, TransactionState
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import LOG_OVERHEAD, iter_batches
from odradek.protocol.records.record import iter_records
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition
from tests.support.clock import ManualClock
from tests.support.logs import open_at, small_config
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.groups.shard_world import NEVER_FLUSH, ManualFlusher, ManualScheduler, load

NODE = 1
TX = "tx"
TIMEOUT_MS = 60_000
T0: Partitions = {"t": frozenset({0})}
T01: Partitions = {"t": frozenset({0, 1})}


class Leaders:
    """The partitions that this broker leads, and what they say to markers: at once, or when the test says so."""

    def __init__(self) -> None:
        self.written: list[tuple[TransactionMarker, list[TopicPartition]]] = []
        self.codes: dict[TopicPartition, ErrorCode] = {}
        """What a partition says instead of NONE."""
        self.is_slow = False
        self.waiting: list[tuple[list[TopicPartition], Deferred[Written]]] = []

    def write(self, marker: TransactionMarker, partitions: Sequence[TopicPartition]) -> Written | Deferred[Written]:
        """Write a marker (`LocalMarkers`)."""
        self.written.append((marker, list(partitions)))
        answer = {one: self.codes.get(one, ErrorCode.NONE) for one in partitions}
        if not self.is_slow:
            return answer
        later: Deferred[Written] = Deferred()
        self.waiting.append((list(partitions), later))
        return later

    def finish(self) -> None:
        """Answer what waits: all is written."""
        waiting, self.waiting = self.waiting, []
        for partitions, later in waiting:
            later.resolve(dict.fromkeys(partitions, ErrorCode.NONE))


class OtherBrokers:
    """Other brokers, which are asked and answer when the test says so (`RequestsToBrokers`)."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Message, Deferred[Message | Disconnected]]] = []

    def send(self, broker_id: int, request: Message, timeout_s: float) -> Deferred[Message | Disconnected]:
        """Keep a request."""
        answer: Deferred[Message | Disconnected] = Deferred()
        self.asked.append((broker_id, request, answer))
        return answer

    def answer(self, answer: Message | Disconnected) -> None:
        """Answer the oldest request."""
        self.asked.pop(0)[2].resolve(answer)


@dataclass
class World:
    """One shard, and what it lives on."""

    files: MemoryFiles = field(default_factory=MemoryFiles)
    clock: ManualClock = field(default_factory=ManualClock)
    flusher: ManualFlusher = field(default_factory=ManualFlusher)
    leaders: Leaders = field(default_factory=Leaders)
    others: OtherBrokers = field(default_factory=OtherBrokers)
    leader_ids: dict[TopicPartition, int | None] = field(default_factory=dict)
    """Who leads a partition, this broker if nothing is said."""
    flush_messages: int = NEVER_FLUSH
    version: int = 2
    next_id: int = 1000
    slow_ids: list[Deferred[int | KafkaError]] | None = None
    """Where there is a list, new producer ids come when the test says so."""
    turn: list[Callable[[], None]] | None = None
    """Where there is a list, what belongs to the next turn of the loop is there until the test calls it."""

    def __post_init__(self) -> None:
        self.scheduler = ManualScheduler(self.clock)
        self.open()

    def open(self) -> None:
        """Open the log and load the shard, as at a start of the broker."""
        for directory in ("/data", "/data/spool-0"):
            if not self.files.exists(directory):
                self.files.mkdir(directory)
        config = replace(small_config(), segment_bytes=1 << 20, flush_messages=self.flush_messages)
        self.log: Log = open_at(self.files, config)
        self.partition = Partition(self.log, NODE, 0, self.flusher)
        if self.log.log_end_offset:
            self.log.flush()  # as the runtime sees to before it loads
            self.partition.flushed()
        self.markers = self.new_sender()
        services = TransactionShardServices(
            scheduler=self.scheduler,
            next_turn=self._next_turn,
            clock=self.clock,
            background=Background(self.scheduler),
            markers=self.markers,
            new_producer_id=self._new_id,
            transaction_version=lambda: self.version,
        )
        writer = PartitionWriter(self.partition, self.scheduler, codec=0, timeout_ms=5000)
        self.host = CoordinatorPartition(writer, 1 << 20, lambda writer: TransactionShard(writer, services))
        load(self.host)  # type: ignore[arg-type]

    def new_sender(self) -> MarkerSender:
        """Return what sends markers to all of these."""
        return MarkerSender(
            MarkerParts(
                node_id=NODE,
                loop=self.scheduler,
                background=Background(self.scheduler),
                leader_of=lambda one: self.leader_ids.get(one, NODE),
                local=lambda: self.leaders,
                brokers=self.others,
                timeout_s=30,
            )
        )

    def _next_turn(self, call: Callable[[], None]) -> None:
        if self.turn is None:
            call()
        else:
            self.turn.append(call)

    def _new_id(self) -> int | KafkaError | Deferred[int | KafkaError]:
        if self.slow_ids is not None:
            later: Deferred[int | KafkaError] = Deferred()
            self.slow_ids.append(later)
            return later
        self.next_id += 1
        return self.next_id - 1

    @property
    def shard(self) -> TransactionShard:
        """The ids of the partition."""
        return self.host.shard

    def restart(self) -> None:
        """Stop in order, and start again on the same files."""
        self.host.close()
        self.markers.stop()
        self.log.close()
        self.open()

    def known(self, transactional_id: str = TX) -> TransactionMetadata:
        """Return what is known of an id."""
        return self.shard.transactions[transactional_id]

    def state(self) -> TransactionState:
        """Where the transaction stands."""
        return self.known().state

    def records(self) -> list[tuple[str, TransactionMetadata | None]]:
        """Return what was written, oldest first."""
        found = self.log.read(0, 1 << 20, self.log.log_end_offset, at_least_one=True)
        data = b"" if found.file is None else found.file.pread(found.length, found.position)
        return [
            (decode_key(record.key or b""), None if record.value is None else decode_value(record.value))
            for position, header in iter_batches(data)
            for record in iter_records(memoryview(data)[position : position + header.length + LOG_OVERHEAD])
        ]

    # requests; what comes later is None

    def initialise(self, expected: Producer | None = None, name: str = TX, timeout_ms: int = TIMEOUT_MS) -> Told:
        """Begin."""
        return Told(self.shard.initialise(name, expected, timeout_ms))

    def add(self, producer: Producer, added: Mapping[str, frozenset[int]] = T0, version: int = 0) -> Told:
        """Take partitions in."""
        return Told(self.shard.add(TX, producer, added, version))

    def end(self, producer: Producer, is_commit: bool = True, version: int = 0) -> Told:
        """Commit or abort."""
        return Told(self.shard.end(TX, producer, is_commit, version))

    def begin(self, version: int = 0, partitions: Partitions = T0) -> Producer:
        """Begin with a transaction that is open, and return its producer."""
        told = self.initialise().result
        producer = Producer(told.producer_id, told.producer_epoch)
        assert self.add(producer, partitions, version).error is ErrorCode.NONE
        return producer


class Told:
    """What a request was told, or will be."""

    def __init__(self, outcome: ProducerResult | ErrorCode | Deferred[ProducerResult] | Deferred[ErrorCode]) -> None:
        self.all: list[ProducerResult] = []
        if isinstance(outcome, Deferred):
            outcome.on_done(self._take)
        else:
            self._take(outcome)

    def _take(self, outcome: ProducerResult | ErrorCode) -> None:
        self.all.append(ProducerResult(outcome) if isinstance(outcome, ErrorCode) else outcome)

    @property
    def result(self) -> ProducerResult:
        """What it was told."""
        (told,) = self.all
        return told

    @property
    def error(self) -> ErrorCode:
        """The error it was told."""
        return self.result.error

    @property
    def producer(self) -> Producer:
        """The producer it was told."""
        return Producer(self.result.producer_id, self.result.producer_epoch)
