"""Offsets of finished micro-batches in Apache ZooKeeper, in Kafka's old layout, with the application as the group.

    /consumers/<application>/offsets/<topic>/<partition>    the next offset, as text
    /consumers/<application>/odradek                        JSON: job, number, run, token, finished_at_ms, from, topics

A batch is one transaction of ZooKeeper: all of it is there or nothing. Each node is compared by its version when it is
set, so whoever has not seen what is there changes nothing; the node `odradek` changes with every batch and every
start, so only the newest run gets anything done.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from odradek.pipeline.batches import Batch, TopicIds, ids_from
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.offset_store import ApplicationProgress
from odradek.zookeeper.consumer_offsets import (
    ZooKeeperReader,
    group_path,
    groups,
    offset_path,
    stored_offsets,
    topic_path,
)
from odradek.zookeeper.errors import ZooKeeperChangedError, ZooKeeperError, ZooKeeperLostError
from odradek.zookeeper.session import NodeChange
from pyspark_odradek.offsets import OffsetRange, Offsets, TopicPartition

STATE: Final = "odradek"
_TRIES: Final = 3
"""So often a batch is written whose connection breaks each time; each waits for as long as a session does."""


class ZooKeeperNodes(ZooKeeperReader, Protocol):
    """What keeping offsets needs; see `odradek.zookeeper.session.ZooKeeperSession`."""

    def make(self, path: str) -> None:
        """Make a node and all above it, where they are not there."""
        ...

    def change(self, changes: list[NodeChange]) -> None:
        """Change all of these nodes, or none. Raises ZooKeeperChangedError, ZooKeeperLostError, ZooKeeperError."""
        ...


@dataclass(frozen=True, slots=True)
class _State:
    """What the node of an application holds."""

    run: int = 0
    token: str = ""
    job: str = ""
    number: int | None = None
    finished_at_ms: int = 0
    first: Offsets = field(default_factory=dict)
    topic_ids: TopicIds = field(default_factory=dict)

    def to_json(self) -> bytes:
        names = {f"{topic}:{partition}": offset for (topic, partition), offset in sorted(self.first.items())}
        told: dict[str, Any] = {"run": self.run, "token": self.token, "job": self.job, "number": self.number}
        told |= {"finished_at_ms": self.finished_at_ms, "from": names, "topics": self.topic_ids}
        return json.dumps(told).encode()


class ZooKeeperOffsets:
    """The offsets of one run of an application. Methods raise PipelineError where ZooKeeper does not do its part."""

    def __init__(self, nodes: ZooKeeperNodes, application: str, job: str, clock_ms: Callable[[], int]) -> None:
        self._nodes = nodes
        self._application = application
        self._job = job
        self._clock_ms = clock_ms
        self._state = _State()
        self._state_version = 0
        self._versions: dict[TopicPartition, int] = {}

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that these offsets are of, as far as they were told; known once it has begun."""
        return self._state.topic_ids

    def begin(self) -> Offsets:
        """Take over from whatever run there was, and return the next offset of each partition."""
        path = _state_path(self._application)
        with _in_a_sentence():
            self._nodes.make(path)
            while True:
                before, version = _read_state(self._nodes, self._application)
                mine = replace(before, run=before.run + 1, token=uuid.uuid4().hex, job=self._job)
                if self._written(mine, [NodeChange(path, mine.to_json(), version)]):
                    break
            self._state, self._state_version = mine, version + 1
            stored = stored_offsets(self._nodes, self._application)
            self._versions = {TopicPartition(*name): each.version for name, each in stored.items()}
            return {TopicPartition(*name): each.offset for name, each in stored.items()}

    def commit(self, batch: Batch) -> None:
        """Store a finished batch, whole or not at all."""
        ranges = batch.ranges
        first = self._state.first | {each.partition: each.first for each in ranges}
        ids = {**self._state.topic_ids, **batch.topic_ids}
        state = replace(self._state, number=batch.number, finished_at_ms=self._clock_ms(), first=first, topic_ids=ids)
        changes = [NodeChange(_state_path(self._application), state.to_json(), self._state_version)]
        with _in_a_sentence():
            for (topic, partition), _, until in ranges:
                version = self._versions.get(TopicPartition(topic, partition))
                if version is None:
                    self._nodes.make(topic_path(self._application, topic))
                changes.append(NodeChange(offset_path(self._application, topic, partition), b"%d" % until, version))
            if not self._written(state, changes):
                raise PipelineError(
                    f"another run of {self._application} has started meanwhile, or something else sets its offsets in"
                    " ZooKeeper; end it, or use another --application"
                )
        self._state, self._state_version = state, self._state_version + 1
        for each in ranges:
            known = self._versions.get(each.partition)
            self._versions[each.partition] = 0 if known is None else known + 1

    def _written(self, state: _State, changes: list[NodeChange]) -> bool:
        """Write changes of which the first is that of the state; False where somebody else was there first."""
        for last in (False,) * (_TRIES - 1) + (True,):
            try:
                self._nodes.change(changes)
            except ZooKeeperLostError:
                if _read_state(self._nodes, self._application) == (state, (changes[0].version or 0) + 1):
                    return True  # it was done, and only the answer was lost
                if last:
                    raise
            except ZooKeeperChangedError:
                # One that was thought lost may have been done since.
                return _read_state(self._nodes, self._application) == (state, (changes[0].version or 0) + 1)
            else:
                return True
        raise AssertionError("the last try returns or raises")


def zookeeper_progress(nodes: ZooKeeperReader) -> list[ApplicationProgress]:
    """Return how far each application has come that has finished a batch. Raises PipelineError."""
    found = []
    with _in_a_sentence():
        for application in groups(nodes):
            if nodes.read(_state_path(application)) is None:
                continue  # a group of somebody else
            state, _ = _read_state(nodes, application)
            if state.number is None:
                continue
            until = {TopicPartition(*name): each.offset for name, each in stored_offsets(nodes, application).items()}
            ranges = [OffsetRange(name, state.first.get(name, 0), end) for name, end in sorted(until.items())]
            found.append(
                ApplicationProgress(application, state.job, state.number, state.run, state.finished_at_ms, ranges)
            )
    return found


def _state_path(application: str) -> str:
    return f"{group_path(application)}/{STATE}"


def _read_state(nodes: ZooKeeperReader, application: str) -> tuple[_State, int]:
    """Return the state of an application, empty for a new one, and the version of its node."""
    node = nodes.read(_state_path(application))
    if node is None:
        raise ZooKeeperError(f"ZooKeeper has lost what it had of {application}; start again to go on")
    if not node.data:
        return _State(), node.version
    try:
        told = json.loads(node.data)
        state = _State(
            run=int(told["run"]),
            token=str(told["token"]),
            job=str(told["job"]),
            number=None if told["number"] is None else int(told["number"]),
            finished_at_ms=int(told["finished_at_ms"]),
            first={_partition(name): int(offset) for name, offset in told["from"].items()},
            topic_ids=ids_from(told.get("topics", {})),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ZooKeeperError(
            f"ZooKeeper has something else in {_state_path(application)} than a job writes there; use another"
            " --application"
        ) from None
    return state, node.version


def _partition(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition(":")
    return TopicPartition(topic, int(partition))


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    try:
        yield
    except ZooKeeperLostError as lost:
        raise PipelineError(
            f"{lost}. Nothing is lost: start again once it is back, and the batch is done again"
        ) from lost
    except ZooKeeperError as failed:
        raise PipelineError(str(failed)) from failed
