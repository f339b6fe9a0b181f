"""Several brokers in one process, for tests of replication: the real partitions, handlers and fetchers, over a network,
files, time and a controller that move when the test says so."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from uuid import UUID

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.fetch import FetchHandler
from odradek.broker.handlers.fetch_sessions import FetchSessions
from odradek.broker.handlers.known_brokers import RegisteredBrokers
from odradek.broker.handlers.leader_hints import LeaderHints
from odradek.broker.handlers.offsets import OffsetHandlers
from odradek.broker.handlers.offsets_by_time import OffsetsByTime
from odradek.broker.handlers.produce import ProduceHandler
from odradek.broker.metadata.image import (
    BrokerEndpoint,
    BrokerImage,
    ConfigResource,
    MetadataImage,
    PartitionImage,
    ResourceType,
    TopicImage,
)
from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.replication.fetcher import FetchSettings
from odradek.broker.replication.isr_changes import ControllerIsrChanges
from odradek.broker.replication.leadership import Leadership
from odradek.broker.replication.manager import ReplicaManager, ReplicationParts
from odradek.broker.replication.quota import UNLIMITED, ReplicationQuotas
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import FileRegion, Response
from odradek.config.topic import TopicConfig
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResult,
    AlterPartitionState,
    AlterPartitionTopicResult,
)
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.list_offsets import ListOffsetsRequest
from odradek.protocol.records.building import BatchFields
from odradek.storage.directories.manager import LogManager, LogManagerSettings
from odradek.storage.log.log_values import AppendInfo
from odradek.storage.names import TopicPartition
from tests.support.clock import ManualClock
from tests.support.log_directories import open_log_directories
from tests.support.logs import a_batch, small_config
from tests.support.manual_loop import ManualLoop
from tests.support.memory_files import MemoryFiles, OpenMemoryFile
from tests.support.partitions import HandFlusher, context

TOPIC, TOPIC_ID = "t", UUID(int=(1 << 90) + 7)
VERSION = 18
MAX_LAG_MS = 30_000
MOST_TURNS = 1000
LISTENER = "INTERNAL"


class MemoryConnection:
    """A `NodeConnection` to a broker of the same process; what passes is encoded and decoded as on a wire."""

    def __init__(self, cluster: ReplicatedBrokers, source: int, address: NodeAddress) -> None:
        self.address = address
        self._cluster = cluster
        self._source = source
        self._closed = False
        self._served: list[Deferred[Response]] = []

    def send(self, request: Message, timeout_s: float, version: int | None = None) -> Deferred[Message | Disconnected]:
        """Let the other broker serve the request in a turn of its own."""
        answer: Deferred[Message | Disconnected] = Deferred()
        self._cluster.loop.call_soon(self._serve, request, answer)
        return answer

    def close(self) -> None:
        """Forget what is under way, on both sides."""
        self._closed = True
        for served in self._served:
            served.cancel()

    def _serve(self, request: Message, answer: Deferred[Message | Disconnected]) -> None:
        target = self.address.port
        broker = self._cluster.brokers.get(target)
        if broker is None or self._cluster.is_cut(self._source, target):
            self._reply(answer, Disconnected(f"no connection to {self.address}"))
            return
        self._cluster.requests.append((self._source, target, request))
        if isinstance(request, FetchRequest):
            response = broker.fetch(context(VERSION, "broker"), _over_wire(request), b"")
            if isinstance(response, Deferred):
                self._served.append(response)
                response.on_done(lambda data: self._reply(answer, self._decoded(data)))
            else:
                self._reply(answer, self._decoded(response))
        else:
            assert isinstance(request, ListOffsetsRequest)
            found = broker.offsets.list_offsets(context(10), request)
            assert not isinstance(found, Deferred)
            self._reply(answer, found)

    def _decoded(self, data: Response) -> Message:
        response = _decoded(data)
        if self._cluster.damages_answers:
            for topic in response.responses:
                for partition in topic.partitions:
                    if partition.records:
                        partition.records = memoryview(bytes(partition.records[:-1]) + b"?")
        return response

    def _reply(self, answer: Deferred[Message | Disconnected], message: Message | Disconnected) -> None:
        def arrive() -> None:
            if self._closed:
                return
            is_lost = self._cluster.is_cut(self._source, self.address.port)
            answer.resolve(Disconnected(f"{self.address} is gone") if is_lost else message)

        self._cluster.loop.call_soon(arrive)


def _over_wire(request: FetchRequest) -> FetchRequest:
    return decode(FetchRequest, encode(request, VERSION), VERSION)[0]


def _decoded(data: Response) -> FetchResponse:
    pieces = data if isinstance(data, list) else [data]
    joined = bytearray()
    for piece in pieces:
        if isinstance(piece, FileRegion):
            assert isinstance(piece.file, OpenMemoryFile)
            joined += piece.file.pread(piece.length, piece.position)
        else:
            assert isinstance(piece, bytes | memoryview)
            joined += piece
    return decode(FetchResponse, bytes(joined), VERSION, 0)[0]


class ReplicatedBroker:
    """One broker: files, logs, partitions, and what serves others."""

    def __init__(self, cluster: ReplicatedBrokers, node_id: int, files: MemoryFiles) -> None:
        self.node_id = node_id
        self.files = files
        self.image = cluster.image
        self.flusher = HandFlusher()
        self._cluster = cluster
        loop, clock = cluster.loop, cluster.clock
        self.logs = LogManager(
            files,
            open_log_directories(files, ("/data",), node_id, lambda: UUID(int=(1 << 100) + node_id)),
            clock.now_ms,
            LogManagerSettings(verify_transactions=False),
        )
        self.report = self.logs.load_all(self._wanted)
        self.isr_changes = ControllerIsrChanges(loop, self._send_to_controller, node_id, self._epoch)
        self.settings = FetchSettings(node_id)
        quotas = ReplicationQuotas(node_id, lambda: cluster.leader_rate, lambda: cluster.follower_rate, clock.monotonic)
        self.replication = ReplicaManager(
            ReplicationParts(
                loop=loop,
                clock=clock,
                logs=self.logs,
                connector=self,
                isr_changes=self.isr_changes,
                image=lambda: self.image,
                broker_epoch=self._epoch,
                listener=LISTENER,
                settings=self.settings,
                max_lag_ms=MAX_LAG_MS,
                quota=quotas,
            )
        )
        self.table = PartitionTable(
            node_id, self.logs, self.flusher, self._topic_config, loop.call_soon, loop.time, self.replication
        )
        memory = RequestMemory(1 << 28, loop.call_soon)
        converter = Converter(loop, memory)
        brokers = RegisteredBrokers("a cluster", lambda: self.image, Random(1))
        hints = LeaderHints(self.table, lambda: self.image, brokers)
        numbers = iter(range(1, 1 << 20))
        self.fetch = FetchHandler(
            loop,
            self.table,
            FetchSessions(100, lambda: next(numbers)),
            clock,
            1 << 26,
            converter,
            memory,
            quota=quotas,
            nearest=self.replication.nearest if cluster.nearest else None,
            hints=hints,
        )
        self.offsets = OffsetHandlers(self.table, clock, OffsetsByTime(loop, None, converter))
        self.produce = ProduceHandler(loop, self.table, clock, converter, memory, hints=hints)
        self.table.apply(MetadataImage(), self.image)
        self.table.open_all()

    def connect(self, address: NodeAddress, client_id: str) -> MemoryConnection:
        """Connect to another broker."""
        return MemoryConnection(self._cluster, self.node_id, address)

    def follow(self, image: MetadataImage) -> None:
        """Take over newer metadata."""
        old, self.image = self.image, image
        self.table.apply(old, image)

    @property
    def partition(self) -> Partition:
        """The replica of the first partition of the topic."""
        topic = self.table.find(TOPIC)
        assert topic is not None
        partition = topic.get_replica(0)
        assert partition is not None
        return partition

    @property
    def leadership(self) -> Leadership:
        """What this broker knows of the others as the leader."""
        replicas = self.partition.replicas
        assert isinstance(replicas, Leadership)
        return replicas

    @property
    def values(self) -> list[bytes]:
        """The bytes of all segments."""
        return [segment.file.pread(segment.size, 0) for segment in self.partition.log.segments]

    @property
    def content(self) -> bytes:
        """The log as one run of bytes."""
        return b"".join(self.values)

    def _epoch(self) -> int:
        return self.image.brokers[self.node_id].epoch

    def _wanted(self, tp: TopicPartition) -> tuple[UUID, TopicConfig] | None:
        topic = self.image.topic(tp.topic)
        return (topic.topic_id, self._topic_config(self.image.topic_config(tp.topic))) if topic else None

    def _topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        return small_config(segment_bytes=1 << 20).with_overrides(overrides)

    def _send_to_controller(self, request: Message) -> Deferred[Message | KafkaError]:
        return self._cluster.controller_answers(self, request)


class ReplicatedBrokers:
    """A topic of one partition on several brokers; the others that it may have are only there."""

    def __init__(
        self,
        count: int = 3,
        configs: Mapping[str, str] = MappingProxyType({}),
        *,
        nearest: bool = False,
        partitions: int = 1,
    ) -> None:
        """Start brokers 1 to `count`, led by the first; `nearest` sends consumers to replicas in their racks."""
        self.nearest = nearest
        self.leader_rate = self.follower_rate = UNLIMITED
        self.loop = ManualLoop()
        self.clock = ManualClock()
        self.requests: list[tuple[int, int, Message]] = []
        self.cuts: set[tuple[int, int]] = set()
        self.controller_is_silent = False
        self.damages_answers = False
        self.refuses_isr_changes: ErrorCode | None = None
        self.unanswered: list[tuple[AlterPartitionRequest, Deferred[Message | KafkaError]]] = []
        ids = range(1, count + 1)
        replicas = tuple(ids)
        partition = PartitionImage(replicas, replicas, 1, 0, 0)
        self._others = (partition,) * (partitions - 1)
        topic = TopicImage(TOPIC, TOPIC_ID, (partition, *self._others))
        self.image = MetadataImage(
            topics_by_name=MappingProxyType({TOPIC: topic}),
            topics_by_id=MappingProxyType({TOPIC_ID: topic}),
            brokers=MappingProxyType({node: _broker(node, 100 + node) for node in ids}),
            configs=MappingProxyType({ConfigResource(ResourceType.TOPIC, TOPIC): configs}),
        )
        self.brokers: dict[int, ReplicatedBroker] = {}
        for node in ids:
            self.brokers[node] = ReplicatedBroker(self, node, MemoryFiles())

    def __getitem__(self, node: int) -> ReplicatedBroker:
        return self.brokers[node]

    # time

    def settle(self) -> None:
        """Let everything happen that takes no time; fetches with nothing to bring wait at their leader."""
        for _ in range(MOST_TURNS):
            if self.loop.is_idle:
                return
            self.loop.advance(0)
        raise AssertionError("brokers that are left alone do not come to rest")

    def pass_time(self, seconds: float, step_s: float = 0.1) -> None:
        """Let time pass, and all happen that is due meanwhile."""
        for _ in range(round(seconds / step_s)):
            self.clock.advance(step_s)
            self.loop.advance(step_s)
            self.settle()

    # metadata

    @property
    def partition(self) -> PartitionImage:
        """The partition as the controller has it."""
        return self.image.topics_by_id[TOPIC_ID].partitions[0]

    @property
    def isr(self) -> set[int]:
        """Who is in sync, as the controller has it."""
        return set(self.partition.isr)

    def change(self, told: tuple[int, ...] | None = None, **fields: object) -> None:
        """Change the partition, a step further in its epoch, and tell those brokers, or all."""
        image = self.partition._replace(partition_epoch=self.partition.partition_epoch + 1, **fields)  # type: ignore[arg-type]
        topic = TopicImage(TOPIC, TOPIC_ID, (image, *self._others))
        self.image = self.image._replace(
            topics_by_name=MappingProxyType({TOPIC: topic}), topics_by_id=MappingProxyType({TOPIC_ID: topic})
        )
        self.tell(told)

    def tell(self, told: tuple[int, ...] | None = None) -> None:
        """Tell brokers of the newest metadata."""
        for node, broker in list(self.brokers.items()):
            if told is None or node in told:
                broker.follow(self.image)

    def elect(self, leader: int, isr: tuple[int, ...] | None = None, told: tuple[int, ...] | None = None) -> None:
        """Make a broker the leader, in a new epoch."""
        self.change(told, leader=leader, leader_epoch=self.partition.leader_epoch + 1, isr=isr or self.partition.isr)

    def set_broker(self, node: int, **fields: object) -> None:
        """Change what is registered of a broker, and tell all."""
        changed = self.image.brokers[node]._replace(**fields)  # type: ignore[arg-type]
        self.image = self.image._replace(brokers=MappingProxyType({**self.image.brokers, node: changed}))
        self.tell()

    # the network

    def is_cut(self, source: int, target: int) -> bool:
        """Whether nothing passes between two brokers."""
        return (source, target) in self.cuts or (target, source) in self.cuts or source not in self.brokers

    def cut(self, *nodes: int) -> None:
        """Cut brokers off from all others."""
        for node in nodes:
            self.cuts |= {(node, other) for other in range(1, 10) if other != node}

    def heal(self) -> None:
        """Let everything pass again."""
        self.cuts.clear()

    def kill(self, node: int) -> MemoryFiles:
        """End a broker without a word; return its files as the operating system has them."""
        broker = self.brokers.pop(node)
        broker.replication.stop()
        return broker.files.crash(kept=1.0)

    def start(self, node: int, files: MemoryFiles) -> ReplicatedBroker:
        """Start a broker on files."""
        broker = self.brokers[node] = ReplicatedBroker(self, node, files)
        return broker

    # the controller

    def controller_answers(self, broker: ReplicatedBroker, request: Message) -> Deferred[Message | KafkaError]:
        """Decide on ISRs as a controller does, later."""
        assert isinstance(request, AlterPartitionRequest)
        answer: Deferred[Message | KafkaError] = Deferred()
        self.unanswered.append((request, answer))
        self.loop.call_soon(self.answer_brokers)
        return answer

    def fail_requests(self, error: KafkaError) -> None:
        """Let what brokers ask end without an answer."""
        unanswered, self.unanswered = self.unanswered, []
        for _, answer in unanswered:
            answer.resolve(error)

    def answer_brokers(self) -> None:
        """Answer what brokers ask, unless the controller is silent."""
        if self.controller_is_silent:
            return
        unanswered, self.unanswered = self.unanswered, []
        for request, answer in unanswered:
            topics = [
                AlterPartitionTopicResult(
                    topic_id=topic.topic_id, partitions=[self._altered(request, one) for one in topic.partitions]
                )
                for topic in request.topics
            ]
            self.tell()
            answer.resolve(AlterPartitionResponse(topics=topics))

    def _altered(self, request: AlterPartitionRequest, wanted: AlterPartitionState) -> AlterPartitionResult:
        image = self.partition
        isr = [member.broker_id for member in wanted.new_isr_with_epochs]
        error = self.refuses_isr_changes or ErrorCode.NONE
        if error:
            pass
        elif wanted.leader_epoch < image.leader_epoch:
            error = ErrorCode.FENCED_LEADER_EPOCH
        elif wanted.partition_epoch < image.partition_epoch:
            error = ErrorCode.INVALID_UPDATE_VERSION
        elif any(self._is_ineligible(member.broker_id, member.broker_epoch) for member in wanted.new_isr_with_epochs):
            error = ErrorCode.INELIGIBLE_REPLICA
        else:
            self.change((), isr=tuple(isr))
        image = self.partition
        return AlterPartitionResult(
            partition_index=wanted.partition_index,
            error_code=error,
            leader_id=image.leader,
            leader_epoch=image.leader_epoch,
            isr=list(image.isr),
            partition_epoch=image.partition_epoch,
        )

    def _is_ineligible(self, node: int, epoch: int) -> bool:
        broker = self.image.brokers[node]
        return broker.fenced or broker.in_controlled_shutdown or epoch not in (-1, broker.epoch)

    # data

    def append(self, node: int, *values: bytes, fields: BatchFields | None = None) -> AppendInfo:
        """Append one batch at a broker, as with acks=1."""
        batch = a_batch(values, self.clock.now_ms(), fields)
        return self.brokers[node].partition.append(batch, self.clock.now_ms())

    def shrink(self, node: int) -> None:
        """Let a leader look for followers that fell behind."""
        for _ in self.brokers[node].replication.shrink_isrs():
            pass


def _broker(node: int, epoch: int) -> BrokerImage:
    endpoint = BrokerEndpoint(LISTENER, "broker", node, 0)
    return BrokerImage(node, epoch, UUID(int=node), (endpoint,), (), None, False, False, (UUID(int=500 + node),), None)
