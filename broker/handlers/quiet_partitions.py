"""Partitions of a follower's fetch session in which nothing happens: its leader need not look at them for each fetch.

A follower fetches twice a second from each leader, thousands of partitions of which few get records. One of which it
has all there is, is in sync, and was told the high watermark rests here until something happens to it: an append,
another high watermark, start or epoch, other replicas; a `Partition` tells those who wait on it. What the leader would
note for each fetch, that the follower is caught up, is noted once for all that rest (`replication.follower_progress`).
Must not know: what is read and answered.
"""

from __future__ import annotations

from odradek.broker.partitions.delayed_operation import Waiter
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import LeaderReplicas, Pulse
from odradek.protocol.errors import KafkaError
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.messages.fetch import ReplicaState

PartitionKey = tuple[TopicRef, int]


class _Watched:
    """A partition of a session that was looked at; stands with the partition as a fetch that waits does."""

    __slots__ = ("_quiet", "has_stirred", "is_level", "is_resting", "key", "partition", "replicas")

    def __init__(self, quiet: QuietPartitions, key: PartitionKey, partition: Partition) -> None:
        self._quiet = quiet
        self.key = key
        self.partition = partition
        self.replicas: LeaderReplicas | None = None
        self.is_level = False
        """Whether the follower had everything when it was looked at, and is in sync."""
        self.has_stirred = False
        """Whether something has happened since."""
        self.is_resting = False

    def wake(self) -> None:
        """Something happened: the partition is to be looked at, by the fetch that waits if one does."""
        self._quiet.events += 1
        self._quiet.stir(self)
        waiting = self._quiet.delayed_fetches
        if not waiting:
            self.leave()  # until it is looked at again: a follower that is gone does not slow down appends
        for fetch in waiting:  # wakes in a turn of its own
            fetch.wake()

    def expire(self) -> None:
        """The broker stops: answer the fetch that waits."""
        for fetch in list(self._quiet.delayed_fetches):
            fetch.expire()

    def leave(self) -> None:
        """Stand with the partition no more."""
        self.partition.delayed_fetches.pop(self, None)


class QuietPartitions:
    """Which partitions of one session rest, and which are to be looked at."""

    def __init__(self) -> None:
        self.due: dict[PartitionKey, None] = {}
        """Those that are to be looked at, in serving order."""
        self.delayed_fetches: dict[Waiter, None] = {}
        """The session's fetch while it waits."""
        self.events = 0
        """How often something happened to one of the partitions."""
        self._watched: dict[PartitionKey, _Watched] = {}
        self._resting: dict[_Watched, None] = {}
        self._asking = ReplicaState()
        self._pulse = Pulse(0)

    def fetches(self, asking: ReplicaState, now_ms: int) -> None:
        """A fetch begins, at a monotonic time in milliseconds: the follower still has what rests."""
        if asking != self._asking or not self._is_known(asking):
            for watched in list(self._resting):
                self.stir(watched)
            self._asking = asking
        self._pulse.last_fetch_ms = now_ms

    def _is_known(self, asking: ReplicaState) -> bool:
        """Whether the follower asks under the registration that is known; otherwise each partition is to refuse it."""
        first = next(iter(self._resting), None)
        try:
            if first is not None and first.replicas is not None:
                first.replicas.check_broker_epoch(asking.replica_id, asking.replica_epoch)
        except KafkaError:
            return False
        return True

    def want(self, key: PartitionKey) -> None:
        """The follower names a partition: it is to be looked at."""
        watched = self._watched.get(key)
        if watched is not None:
            self.stir(watched)
        self.due[key] = None

    def forget(self, key: PartitionKey) -> None:
        """The follower wants nothing of a partition any more."""
        self.due.pop(key, None)
        watched = self._watched.pop(key, None)
        if watched is not None:
            self._end(watched)

    def look(self, key: PartitionKey, partition: Partition) -> None:
        """A partition is looked at: notice what happens to it from now on."""
        watched = self._watched.get(key)
        if watched is None or watched.partition is not partition:
            if watched is not None:
                self._end(watched)
            watched = self._watched[key] = _Watched(self, key, partition)
        watched.has_stirred = watched.is_level = False
        partition.delayed_fetches[watched] = None

    def found_level(self, key: PartitionKey, replicas: LeaderReplicas) -> None:
        """The partition that is looked at has nothing new, and the follower is in sync."""
        watched = self._watched[key]
        watched.is_level, watched.replicas = True, replicas

    def watch(self) -> None:
        """The fetch is going to wait: stand with all partitions that are to be looked at."""
        for key in self.due:
            watched = self._watched.get(key)
            if watched is not None:
                watched.partition.delayed_fetches[watched] = None

    def answered(self, with_records: list[PartitionKey]) -> None:
        """The follower is told what was found: what was level rests, what had records is looked at last next time."""
        asking, pulse = self._asking.replica_id, self._pulse
        for key in list(self.due):
            watched = self._watched.get(key)
            if watched is None or not watched.is_level or watched.has_stirred or watched.replicas is None:
                continue
            del self.due[key]
            watched.is_resting = True
            self._resting[watched] = None
            watched.replicas.rest(asking, pulse)
        for key in with_records:
            if key in self.due:
                del self.due[key]
                self.due[key] = None

    def stir(self, watched: _Watched) -> None:
        """Let a partition rest no more, nor because of what was found before."""
        watched.has_stirred = True
        if watched.is_resting:
            self._stop_resting(watched)
            self.due[watched.key] = None

    def end(self) -> None:
        """The session is over."""
        for watched in self._watched.values():
            self._end(watched)
        self._watched.clear()

    def _end(self, watched: _Watched) -> None:
        self._stop_resting(watched)
        watched.leave()

    def _stop_resting(self, watched: _Watched) -> None:
        if watched.is_resting:
            watched.is_resting = False
            del self._resting[watched]
            if watched.replicas is not None:
                watched.replicas.stir(self._asking.replica_id)
