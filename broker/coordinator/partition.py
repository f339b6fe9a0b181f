"""One partition of an internal topic that this broker leads: loading, serving, gone.

Owns: the states of a partition, and the shard - the state machines of one kind of coordinator - that its records are
loaded into; each load begins with a new one. Must not know: what is in a shard, when it is this partition's turn to be
loaded. Follows the contexts of Kafka's CoordinatorRuntime.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Generic, Protocol, TypeVar

from odradek.broker.coordinator.loader import Loader, Playback
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.partitions.partition import Partition
from odradek.protocol.errors import ErrorCode


class CoordinatorShard(Protocol):
    """What a kind of coordinator has for one partition: takes its records in, and serves from then on."""

    @property
    def playback(self) -> Playback:
        """What takes the records in."""

    def loaded(self) -> None:
        """All records are read: begin to serve. What is raised here is a failed load."""

    def unload(self, error: ErrorCode) -> None:
        """Serve no more, without a record: everybody who waits is told `error`, and no timer is left."""


S = TypeVar("S", bound=CoordinatorShard)


class CoordinatorState(Enum):
    """Whether a partition serves."""

    LOADING = "its log is read"
    ACTIVE = "it serves"
    FAILED = "its log could not be read"
    CLOSED = "another broker leads it, it is gone, or the broker stops"


class CoordinatorPartition(Generic[S]):
    """One partition of the internal topic: loading, active or failed, and what who asks is told."""

    __slots__ = ("_chunk_bytes", "_make_shard", "_when_active", "loader", "shard", "state", "writer")

    def __init__(self, writer: PartitionWriter, chunk_bytes: int, make_shard: Callable[[PartitionWriter], S]) -> None:
        """Begin to load. `chunk_bytes` of the log are read at a time; an empty log is loaded when this returns."""
        self.writer = writer
        self._chunk_bytes = chunk_bytes
        self._make_shard = make_shard
        self._when_active: list[Callable[[S], None]] = []
        self.begin_loading()
        assert self.loader is not None
        if self.loader.is_at_end:
            self.finish_loading()

    @property
    def partition(self) -> Partition:
        """The partition of the topic."""
        return self.writer.partition

    def begin_loading(self) -> None:
        """Know nothing, and read the log from its start."""
        self.shard: S = self._make_shard(self.writer)
        self.loader: Loader | None = Loader(self.partition.log, self.shard.playback, self._chunk_bytes)
        self.state = CoordinatorState.LOADING

    def finish_loading(self) -> None:
        """Serve. Raises what the shard raises, which is not loaded then: see `fail`."""
        self.shard.loaded()
        self.loader = None
        self.state = CoordinatorState.ACTIVE
        waiting, self._when_active = self._when_active, []
        for do in waiting:
            do(self.shard)

    def fail(self) -> None:
        """Serve nothing: what cannot be read cannot be served. `begin_loading` tries again."""
        self._unload(CoordinatorState.FAILED)

    def close(self) -> None:
        """Serve no more, for good: everybody who waits is told to look for the coordinator."""
        self._when_active.clear()
        self._unload(CoordinatorState.CLOSED)

    def when_active(self, do: Callable[[S], None]) -> None:
        """Call `do` with the shard now if it serves, or as soon as it does; never if it is closed."""
        if self.state is CoordinatorState.ACTIVE:
            do(self.shard)
        elif self.state is not CoordinatorState.CLOSED:
            self._when_active.append(do)

    def _unload(self, state: CoordinatorState) -> None:
        self.loader = None
        self.state = state
        self.shard.unload(ErrorCode.NOT_COORDINATOR)
        self.writer.abandon()
