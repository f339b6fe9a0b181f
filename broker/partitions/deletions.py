"""Partitions that are deleted, until nothing of them can be taken for one that is made later under their name.

Owns: that their directories are set aside, a few in each turn of the event loop, and that the checkpoints of the log
directories forget them before a partition of that name is made, which takes several fsyncs and is waited for on a
thread. Must not know: topics, requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Protocol

from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import InPlace, Threads
from odradek.broker.runtime.logging import get_logger
from odradek.storage.directories.log_checkpoints import Forgetting
from odradek.storage.errors import StorageError
from odradek.storage.names import TopicPartition

log = get_logger("partitions")

DELETED_PER_TURN = 50
"""Directories set aside before others get their turn; each is a renaming."""


class DeletableLogs(Protocol):
    """The part of the log manager that is needed here."""

    def delete(self, tp: TopicPartition) -> None: ...

    def is_outdated(self, tp: TopicPartition) -> bool: ...

    def forget_outdated(self) -> Forgetting: ...


class DeletedPartitions:
    """What is left of deleted partitions."""

    def __init__(
        self, logs: DeletableLogs, schedule: Callable[[Callable[[], None]], object], forgotten: Callable[[], None]
    ) -> None:
        """`schedule` calls back when there is time; `forgotten` is called when `make_way` may say something else."""
        self._logs = logs
        self._schedule = schedule
        self._tell = forgotten
        self._threads: Threads = InPlace()
        self._in_place: dict[TopicPartition, None] = {}
        """Those whose directories have their names yet, the oldest first."""
        self.is_forgetting = False
        """Whether a thread takes them out of the checkpoints."""
        self._is_outdated = False
        """Whether some were set aside since that was begun the last time."""
        self._problem: str | None = None
        """Why that failed the last time."""
        self._waiting: list[Deferred[None]] = []

    def use_threads(self, threads: Threads) -> None:
        """Wait for the disk on these threads from now on; until then, at start, `make_way` itself does."""
        self._threads = threads

    def add(self, deleted: Iterable[TopicPartition]) -> None:
        """Set the directories of these aside, the first ones now."""
        is_idle = not self._in_place
        self._in_place.update(dict.fromkeys(deleted))
        if is_idle and self._in_place:
            self._set_some_aside()

    def finish(self) -> None:
        """Set all directories aside now: the broker stops."""
        for tp in list(self._in_place):
            self._set_aside(tp)

    def make_way(self, tp: TopicPartition) -> bool:
        """Return whether a partition of that name can be made; if not yet, see that it soon can.

        Raises StorageError where the checkpoints could not be written since `retry` was called last.
        """
        if tp in self._in_place:
            self._set_aside(tp)
        if not self._logs.is_outdated(tp):
            return True
        if self._problem is not None:
            raise StorageError(self._problem)
        self._forget()
        return not self._logs.is_outdated(tp)

    def retry(self) -> None:
        """Try again to write the checkpoints when that is asked for: there may be space on the disk by now."""
        self._problem = None

    def settled(self) -> Deferred[None] | None:
        """Return what is resolved once nothing hinders a new partition of any name; None if nothing does now."""
        if not self._in_place and not self._is_outdated and not self.is_forgetting:
            return None
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        return waiting

    def _forget(self) -> None:
        if not self.is_forgetting:
            self.is_forgetting, self._is_outdated = True, False
            forgetting = self._logs.forget_outdated()
            self._threads.submit(forgetting.write, partial(self._forgotten, forgetting))

    def _forgotten(self, forgetting: Forgetting, failed: BaseException | None) -> None:
        self.is_forgetting = False
        if failed is None:
            self._problem = None
            forgetting.written()
        else:
            self._problem = f"Cannot write the checkpoints of a log directory: {failed}"
        self._tell()
        if self._in_place:
            return
        if self._is_outdated:
            self._forget()
            return
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.resolve(None)

    def _set_some_aside(self) -> None:
        for tp in list(islice(self._in_place, DELETED_PER_TURN)):
            self._set_aside(tp)
        if self._in_place:
            self._schedule(self._set_some_aside)
        else:
            self._forget()

    def _set_aside(self, tp: TopicPartition) -> None:
        del self._in_place[tp]
        self._is_outdated = True
        try:
            self._logs.delete(tp)
        except (StorageError, OSError) as failed:
            log.error(
                "the files of a deleted partition could not be set aside; remove its directory by hand",
                topic=tp.topic,
                partition=tp.partition,
                reason=str(failed),
            )
