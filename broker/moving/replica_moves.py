"""Moves of replicas to other log directories of this node, from the wish to the last rename (KIP-113, KIP-858).

Each move is a row of short steps: the loop looks what comes next, a thread does it, and moves take turns on the
threads, of which there is one for each log directory. Nothing but the step under way touches the copy. Once it has all
of the log, a cluster's controller is told; then the copy is brought to the disk in place of a flush of the log, what
came meanwhile is copied on the loop, and in the same turn the copy takes the log's place: so nothing that was
acknowledged, or was on the disk, is ever in the old directory only. The partition serves all the time.
"""

from __future__ import annotations

import os
from asyncio import AbstractEventLoop, Future, TimerHandle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from odradek.broker.moving.copying import align, copy_piece, first_offset, next_piece
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.replication.quota import ReplicationQuota
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.disk_threads import Done, ThreadPool
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.directories.futures import FutureLog
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.directories.manager import LogManager
from odradek.storage.errors import NotInMemory
from odradek.storage.log.flush_plan import FlushPlan
from odradek.storage.names import MAX_NAME_LENGTH, DirectoryState, TopicPartition, marked_directory_name

PIECE_BYTES: Final = 1 << 20
"""Copied by a thread at a time."""
LAST_PIECES, LAST_BYTES = 4, 1 << 18
"""Copied on the loop, at most, when the copy takes the log's place."""
LOOK_AGAIN_S: Final = 0.05
"""How often it is looked whether a throttle, a flush or the controller lets a move go on."""

log = get_logger("moves")


class MoveFlusher(Protocol):
    """The part of the flusher that is needed here."""

    def instead(self, partition: Partition, work: Callable[[], None], done: Done) -> None: ...


class PlaceReports(Protocol):
    """What tells a cluster's controller where replicas lie (`broker.replication.directory_reports`)."""

    def opened(self, topic_id: UUID, partition: int) -> None: ...

    def is_known(self, topic_id: UUID, partition: int) -> bool: ...


class MoveParts(NamedTuple):
    """What moves are done with."""

    loop: AbstractEventLoop
    threads: ThreadPool
    clock: Clock
    logs: LogManager
    partitions: PartitionTable
    flusher: MoveFlusher
    rate: Callable[[], int]
    """Bytes a second that may be copied: replica.alter.log.dirs.io.max.bytes.per.second."""
    reports: PlaceReports | None
    """None where there is no controller to be told."""


@dataclass(slots=True, eq=False)
class _Move:
    """One partition on its way."""

    partition: Partition
    future: FutureLog
    generation: int
    """Of the log when it was compared with the copy the last time."""
    compared_end: int = 0
    """Where the copy ended then."""
    timer: TimerHandle | None = None


class ReplicaMoves:
    """The moves that are under way."""

    def __init__(self, parts: MoveParts) -> None:
        self._parts = parts
        self._quota = ReplicationQuota(parts.rate, parts.clock.monotonic)
        self._moves: dict[TopicPartition, _Move] = {}
        self._running = 0
        self._is_stopped = False
        self._settled: Future[None] | None = None

    def alter(self, tp: TopicPartition, path: str) -> None:
        """Let a partition move to the log directory with this absolute path, or stay if it is there.

        Raises:
            KafkaError: in this order INVALID_TOPIC_EXCEPTION, LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR,
                UNKNOWN_TOPIC_OR_PARTITION, and REPLICA_NOT_AVAILABLE for one that is not here, which is made in the
                directory once it comes (Kafka's `ReplicaManager.alterReplicaLogDirs`).
        """
        logs = self._parts.logs
        if len(marked_directory_name(tp, DirectoryState.FUTURE, "0" * 32)) > MAX_NAME_LENGTH:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "the name of the topic is too long for a copy's")
        homes = (one for one in logs.directories if one.for_partitions)
        target = next((one for one in homes if os.path.abspath(one.path) == path), None)
        if target is None:
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not in log.dirs")
        if target.failure:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"log directory {path} has failed")
        try:
            partition = self._parts.partitions.get_replica(*tp)
        except KafkaError as missing:
            if missing.code is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
                raise
            logs.futures.preferred[tp] = target.path
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE) from missing
        under_way = self._moves.get(tp)
        if under_way is not None and not self._is_over(under_way):
            if under_way.future.directory is target:
                return
            self._give_up(under_way)
        if partition.log.directory.startswith(f"{target.path}/"):
            return
        if any(one.failure for one in logs.directories):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "nothing moves while a log directory has failed")
        self._begin(tp, partition, target)

    def resume(self) -> None:
        """Begin the moves anew that a stop has interrupted."""
        interrupted = self._parts.logs.futures.interrupted
        for tp, target in interrupted.items():
            try:
                partition = self._parts.partitions.get_replica(*tp)
            except KafkaError:
                continue  # it is gone, or its log cannot be opened
            if not partition.log.directory.startswith(f"{target.path}/"):
                self._begin(tp, partition, target)
        interrupted.clear()

    async def stop(self) -> None:
        """Begin no step any more, and wait for those that run; the next start begins anew what is not done."""
        self._is_stopped = True
        for move in self._moves.values():
            if move.timer is not None:
                move.timer.cancel()
        if self._running:
            self._settled = self._parts.loop.create_future()
            await self._settled
        self._parts.threads.stop()

    # one move

    def _begin(self, tp: TopicPartition, partition: Partition, target: LogDirectory) -> None:
        future = self._parts.logs.futures.begin(tp, target)
        move = self._moves[tp] = _Move(partition, future, partition.log.local.generation)
        log.info("a replica moves to another log directory", **_named(move))
        self._parts.loop.call_soon(self._step, move)

    def _step(self, move: _Move) -> None:
        """Do what comes next."""
        move.timer = None
        if self._is_over(move):
            return
        if self._quota.is_exceeded:
            self._look_again(move)
            return
        try:
            work = self._next_work(move)
        except NotInMemory as missing:
            work = partial(_bring, missing)
        except (KafkaError, OSError) as failed:
            self._fail(move, failed)
            return
        if work is not None:
            self._running += 1
            self._parts.threads.submit(work, partial(self._done, move))
        elif self._is_reported(move):
            self._finish(move)
        else:
            self._look_again(move)

    def _look_again(self, move: _Move) -> None:
        move.timer = self._parts.loop.call_later(LOOK_AGAIN_S, self._step, move)

    def _is_over(self, move: _Move) -> bool:
        """Return whether nothing more is to be done, and see to it that nothing is left."""
        futures = self._parts.logs.futures
        if move.partition.is_retired and not move.future.is_gone:
            self._give_up(move)
        if move.future.is_gone:
            futures.remove_rest(move.future)
            if self._moves.get(move.future.partition) is move:
                del self._moves[move.future.partition]
        return move.future.is_gone or self._is_stopped

    def _next_work(self, move: _Move) -> Callable[[], None] | None:
        """Return what a thread is to do; None where the copy has all. Raises NotInMemory, KafkaError, OSError.

        The last bit of the log is copied here: a log that is written to would always be ahead of a thread.
        """
        source, now_ms = move.partition.log, self._parts.clock.now_ms()
        copy = move.future.log
        if copy is None:
            return partial(self._parts.logs.futures.make, move.future, source, first_offset(source))
        self._align(move)
        piece = next_piece(source, copy, PIECE_BYTES, now_ms)
        if piece is None:
            return None
        self._quota.record(piece.length)
        if piece.length <= LAST_BYTES and copy.log_end_offset >= source.segments.active.base_offset:
            copy_piece(piece, copy, now_ms)
            return None
        return partial(copy_piece, piece, copy, now_ms)

    def _align(self, move: _Move) -> None:
        source, copy = move.partition.log, move.future.log
        assert copy is not None
        was_cut, now_ms = move.generation != source.local.generation, self._parts.clock.now_ms()
        if was_cut:  # a piece that was read meanwhile may have what came in the place of what was cut
            copy.truncate_to(move.compared_end, now_ms)
        align(source, copy, was_cut, now_ms)
        move.generation, move.compared_end = source.local.generation, copy.log_end_offset

    def _done(self, move: _Move, failed: BaseException | None) -> None:
        """A thread has done its step."""
        self._ended_running()
        if self._is_over(move):
            return
        if failed is None or move.generation != move.partition.log.local.generation:
            self._step(move)  # of a log that was cut, a piece may not be what was looked for
        else:
            self._fail(move, failed)

    def _ended_running(self) -> None:
        self._running -= 1
        if not self._running and self._settled is not None:
            self._settled.set_result(None)

    def _is_reported(self, move: _Move) -> bool:
        """Have the controller told that the replica is as good as there; return whether it knows."""
        reports, topic_id = self._parts.reports, move.partition.log.topic_id
        if reports is None or topic_id is None:
            return True
        if not move.future.counts:
            move.future.counts = True
            reports.opened(topic_id, move.partition.index)
        return reports.is_known(topic_id, move.partition.index)

    def _finish(self, move: _Move) -> None:
        """Bring a copy that has all to the disk, in place of a flush of the log."""
        copy = move.future.log
        assert copy is not None
        try:
            plan = copy.prepare_flush()
        except (KafkaError, OSError) as failed:
            self._fail(move, failed)
            return
        work = partial(self._parts.logs.futures.make_durable, move.future, plan)
        self._parts.flusher.instead(move.partition, work, partial(self._durable, move, plan))

    def _durable(self, move: _Move, plan: FlushPlan | None, failed: BaseException | None) -> None:
        """The copy is on the disk, as it was: let it take the log's place if what came since is soon copied."""
        if self._is_over(move):
            return
        copy = move.future.log
        assert copy is not None
        if failed is not None:
            self._fail(move, failed)
            return
        if plan is not None:
            copy.local.complete_flush(plan)
        try:
            if self._catches_up(move):
                rest = self._parts.logs.futures.swap(move.future, move.partition.log)
            else:
                self._look_again(move)
                return
        except NotInMemory:
            self._look_again(move)
            return
        except (KafkaError, OSError) as problem:
            self._fail(move, problem)
            return
        del self._moves[move.future.partition]
        log.info("a replica has moved to another log directory", **_named(move))
        self._running += 1
        self._parts.threads.submit(rest, partial(self._named_durably, move))

    def _catches_up(self, move: _Move) -> bool:
        """Copy the little that is missing now; return whether the copy is all that the log is."""
        self._align(move)
        source, copy, now_ms = move.partition.log, move.future.log, self._parts.clock.now_ms()
        assert copy is not None
        for _ in range(LAST_PIECES):
            piece = next_piece(source, copy, LAST_BYTES, now_ms)
            if piece is None:
                break
            copy_piece(piece, copy, now_ms)
        self._align(move)
        return (
            copy.log_end_offset == source.log_end_offset
            and copy.log_start_offset == source.log_start_offset
            and copy.recovery_point >= source.recovery_point
            and not source.local.sync_problem
        )

    def _named_durably(self, move: _Move, failed: BaseException | None) -> None:
        self._ended_running()
        if failed is not None:
            log.warning("the name of a replica's new directory is not synced", reason=str(failed), **_named(move))

    def _fail(self, move: _Move, failed: BaseException) -> None:
        log.error(
            "a move to another log directory has ended, the replica stays where it is; see that both disks are sound"
            " and have space, and ask for the move again",
            reason=str(failed),
            **_named(move),
        )
        self._give_up(move)

    def _give_up(self, move: _Move) -> None:
        """Throw the copy away; a step that runs comes to nothing."""
        future, reports = move.future, self._parts.reports
        self._parts.logs.futures.discard(future.partition)
        if move.timer is not None:
            move.timer.cancel()
        if self._moves.get(future.partition) is move:
            del self._moves[future.partition]
        topic_id = move.partition.log.topic_id
        if future.counts and reports is not None and topic_id is not None and not move.partition.is_retired:
            reports.opened(topic_id, move.partition.index)


def _bring(missing: NotInMemory) -> None:
    missing.bring()


def _named(move: _Move) -> dict[str, object]:
    future = move.future
    return {
        "topic": future.partition.topic,
        "partition": future.partition.partition,
        "directory": os.path.abspath(future.directory.path),
    }
