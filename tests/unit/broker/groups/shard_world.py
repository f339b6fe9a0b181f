"""A shard on a log in memory, with time that a test moves: what the tests of shards and their handlers share."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from odradek.broker.coordinator.background import Background
from odradek.broker.coordinator.operations import OperationServices
from odradek.broker.coordinator.partition import CoordinatorPartition, CoordinatorState
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.groups.classic.values import ClassicGroupLimits
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, encode_commit
from odradek.broker.groups.shard import GroupShard, ShardServices
from odradek.broker.groups.visible import VisibleOffsets
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.record import Record, iter_records
from odradek.storage.log.log import Log
from tests.support.clock import ManualClock
from tests.support.logs import open_at, small_config
from tests.support.memory_files import MemoryFiles

NEVER_FLUSH = 2**63 - 1


class _Call:
    def __init__(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        self.callback = callback
        self.args = args
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class ManualScheduler:
    """A `Scheduler` whose time passes when a test says so."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._calls: list[tuple[float, int, _Call]] = []
        self._count = 0

    def time(self) -> float:
        """Return the clock's reading."""
        return self._clock.monotonic()

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: object) -> _Call:
        """Remember the call."""
        call = _Call(callback, args)
        self._count += 1
        heapq.heappush(self._calls, (self.time() + delay, self._count, call))
        return call

    @property
    def pending(self) -> int:
        """How many calls are to come."""
        return sum(not call.is_cancelled for _, _, call in self._calls)

    def advance(self, seconds: float) -> None:
        """Let time pass, and make the calls that are due in it, each at its time."""
        end = self.time() + seconds
        while self._calls and self._calls[0][0] <= end:
            due, _, call = heapq.heappop(self._calls)
            self._clock.advance(max(0.0, due - self.time()))
            if not call.is_cancelled:
                call.callback(*call.args)
        self._clock.advance(max(0.0, end - self.time()))


class ManualFlusher:
    """A `Flusher` that does nothing until a test says so."""

    def __init__(self) -> None:
        self.wanted: list[Partition] = []

    def request(self, partition: Partition) -> None:
        """Remember."""
        self.wanted.append(partition)

    request_in_background = request

    def flush(self) -> None:
        """Bring everything to the disk."""
        wanted, self.wanted = self.wanted, []
        for partition in dict.fromkeys(wanted):
            partition.log.flush()
            partition.flushed()


@dataclass
class World:
    """One shard, and what it lives on."""

    files: MemoryFiles = field(default_factory=MemoryFiles)
    clock: ManualClock = field(default_factory=ManualClock)
    flusher: ManualFlusher = field(default_factory=ManualFlusher)
    flush_messages: int = NEVER_FLUSH
    segment_bytes: int = 1 << 20
    limits: ClassicGroupLimits = field(default_factory=ClassicGroupLimits)
    image: MetadataImage = field(default_factory=MetadataImage)

    def __post_init__(self) -> None:
        self.scheduler = ManualScheduler(self.clock)
        self.open()

    def open(self) -> None:
        """Open the log and load the shard, as at a start of the broker."""
        if not self.files.exists("/data/spool-0"):
            self.files.mkdir("/data")
            self.files.mkdir("/data/spool-0")
        config = replace(small_config(), segment_bytes=self.segment_bytes, flush_messages=self.flush_messages)
        self.log: Log = open_at(self.files, config)
        self.partition = Partition(self.log, 1, 0, self.flusher)
        services = ShardServices(
            operations=OperationServices(self.scheduler, self.clock, Background(self.scheduler)),
            limits=self.limits,
            consumer_settings=lambda _: ConsumerGroupSettings(),
            image=lambda: self.image,
        )
        self.host = self.coordinate(services)

    def coordinate(self, services: ShardServices) -> CoordinatorPartition[GroupShard]:
        """Load the log into a shard of its own."""
        writer = PartitionWriter(self.partition, self.scheduler, codec=0, timeout_ms=5000)
        host = CoordinatorPartition(writer, 1 << 20, lambda writer: GroupShard(writer, services))
        load(host)
        return host

    @property
    def shard(self) -> GroupShard:
        """The groups of the partition."""
        return self.host.shard

    def restart(self) -> None:
        """Stop in order, and start again on the same files."""
        self.host.close()
        self.log.close()
        self.open()

    def commit(self, group: str, partition: int, offset: int, topic: str = "t") -> ErrorCode | Deferred[ErrorCode]:
        """Commit an offset of no member."""
        committed = OffsetAndMetadata(offset, 0, "m", self.clock.now_ms())
        return self.shard.write_offsets([encode_commit(OffsetKey(group, topic, partition), committed)])

    def records(self) -> list[Record]:
        """Return everything in the log."""
        found: list[Record] = []
        for segment in self.log.segments:
            data = segment.file.pread(segment.size, 0)
            for position, header in iter_batches(data):
                found += iter_records(data[position : position + header.size])
        return found


def load(host: CoordinatorPartition[GroupShard]) -> None:
    """Read the partition's log to its end."""
    if host.state is CoordinatorState.LOADING:
        loader = host.loader
        assert loader is not None
        while not loader.is_at_end:
            for _ in loader.take(loader.next_chunk()()):
                pass
        host.finish_loading()


def offsets_of(source: OffsetStore | VisibleOffsets, group: str) -> dict[str, dict[int, OffsetAndMetadata | None]]:
    """Return all offsets of a group by topic and partition."""
    return {
        topic: {partition: source.get(group, topic, partition) for partition in partitions}
        for topic, partitions in source.partitions_of(group).items()
    }
