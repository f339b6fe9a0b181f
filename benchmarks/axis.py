"""What a benchmark is made of: an axis has measures, a way to take them from a broker, and a way to take their floor.

`Bench` is what all axes of one run share (how long, where, floors already taken); `Stage` is one target in that run,
with the broker that most axes share. Knows nothing of any particular load.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from benchmarks import wire
from benchmarks.clusters import Cluster
from benchmarks.connection import await_leaders, record_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.target import Broker, Target

_LEADER_SECONDS = 20

T = TypeVar("T")
Values = Mapping[str, float]
"""What was measured, by the key of the measure; a measure that is missing was not taken."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of an axis: its key, its unit, and which way is better."""

    key: str
    unit: str
    lower_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that is measured. `floor` gives some of the measures.

    `bulk` axes fill gigabytes of page cache; `ours_only` axes are about what no other broker has;
    `in_process` axes measure packages of the working tree in the client, whatever the broker is.
    """

    name: str
    title: str
    measures: tuple[Measure, ...]
    run: Callable[[Stage], Values]
    floor: Callable[[Bench], Values] | None = None
    bulk: bool = False
    ours_only: bool = False
    in_process: bool = False


@dataclass(slots=True)
class Bench:
    """One run: `scale` (1 for a full run, less for a quick one) and a scratch directory that is deleted at its end."""

    scale: float
    directory: Path
    _kept: dict[Hashable, object] = field(default_factory=dict)
    _names: Iterator[int] = field(default_factory=itertools.count)

    def seconds(self, full: float) -> float:
        """How long a timed load lasts: `full` seconds, less in a quick run, never under a quarter second."""
        return max(0.25, full * self.scale)

    def amount(self, full: int) -> int:
        """How much a counted load moves: `full`, less in a quick run."""
        return max(1, int(full * self.scale))

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned the first time it was asked for under this key: several axes share a floor."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])

    def path(self, name: str) -> Path:
        """A new path in the scratch directory; nothing is there yet."""
        return self.directory / f"{name}-{next(self._names)}"

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """A new path that is deleted, with all beside it that begins with its name, when the block ends."""
        path = self.path(name)
        try:
            yield path
        finally:
            for leftover in path.parent.glob(f"{path.name}*"):
                if leftover.is_dir():
                    shutil.rmtree(leftover, ignore_errors=True)
                else:
                    leftover.unlink(missing_ok=True)


class Stage:
    """One target on stage: its shared broker, started when an axis first wants it, and topics in it."""

    def __init__(self, bench: Bench, target: Target) -> None:
        self.bench = bench
        self.target = target
        self._broker: Broker | None = None
        self._kept: dict[Hashable, object] = {}
        self._directory: Path | None = None
        self._cluster: Cluster | None = None

    @property
    def warmup_seconds(self) -> float:
        """How long this target is driven before a load counts."""
        return self.target.warmup_seconds

    def broker(self) -> Broker:
        """The broker that axes share."""
        if self._broker is None:
            self._directory = self.bench.path("shared")
            self._broker = self.target.start(self._directory)
        return self._broker

    def cluster(self) -> Cluster:
        """The three brokers that axes of clusters share; `close` ends them, too."""
        if self._cluster is None:
            self.close()
            self._directory = self.bench.path("cluster")
            self._cluster = Cluster(self.target, self._directory)
        return self._cluster

    def log_directory(self, topic: str) -> Path:
        """Where the shared broker keeps the partitions of a topic."""
        self.broker()
        assert self._directory is not None
        return next(self._directory.rglob(f"{topic}-0")).parent

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned the first time under this key while the shared broker lives: data several axes read."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])

    def make_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic in the shared broker and wait until its partitions have their leader."""
        with self.broker().connect() as connection:
            request = wire.create_topics([wire.NewTopic(name, partitions, configs or {})])
            wire.check_created(connection.ask(request))
            await_leaders(connection, name, partitions, time.monotonic() + _LEADER_SECONDS)

    @contextmanager
    def topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> Iterator[str]:
        """A new topic in the shared broker whose name begins with `name`; deleted when the block ends."""
        full_name = f"{name}-{next(self.bench._names)}"
        self.make_topic(full_name, partitions, configs)
        try:
            yield full_name
        finally:
            with self.broker().connect() as connection:
                connection.ask(wire.delete_topics([full_name]))

    def check_count(self, topic: str, expected: int, partitions: int = 1) -> None:
        """Raise WireError unless the topic holds exactly `expected` records: every acknowledged one is in the log."""
        with self.broker().connect() as connection:
            found = record_count(connection, topic, partitions)
        if found != expected:
            raise wire.WireError(f"{topic} holds {found} records where {expected} were acknowledged")

    def close(self) -> None:
        """End the shared broker and delete its data; the next axis that wants one gets a new one.

        Axes that start brokers of their own call it too, so that nothing else of this target runs beside them.
        """
        if self._broker is not None:
            self._broker.kill()
            self._broker = None
        if self._cluster is not None:
            self._cluster.kill()
            self._cluster = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        self._kept.clear()
