"""Batches of a Produce request that are appended, and not yet as safe as their acknowledgement says: the wait for that.

acks=all is answered once the data is committed, acks=1 too where there is one replica, and otherwise once it is
written, to the disk where the topic asks for that (flush.messages). acks=0 waits for nothing.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from odradek.broker.handlers.counting import TrafficCounter
from odradek.broker.partitions.delayed_operation import DelayedOperation
from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import Response
from odradek.protocol.errors import ErrorCode
from odradek.protocol.hot.produce import ProduceResult
from odradek.protocol.messages.produce import ProduceRequest

ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1


@dataclass(frozen=True, slots=True, eq=False)
class Appended:
    """A batch that is appended but not committed yet."""

    partition: Partition
    end: int
    """Offset behind its last record."""
    results: list[ProduceResult]
    place: int
    """Index of its result in `results`."""

    def fail(self, code: ErrorCode) -> None:
        """Say that the data may not be safe."""
        self.results[self.place] = ProduceResult(self.results[self.place].partition, code)


def waits(partition: Partition, last_offset: int, acks: int) -> bool:
    """Whether the answer to what is written, but not committed, has to wait."""
    if acks == ACKS_LEADER and partition.replicas is not None:
        return partition.safe_end <= last_offset
    return acks != ACKS_NONE


def when_safe(
    loop: AbstractEventLoop,
    request: ProduceRequest,
    appended: list[Appended],
    respond: Callable[[], Response],
    traffic: TrafficCounter | None,
) -> Deferred[Response]:
    """The response once all that was appended is as safe as it is to be, or the request's time is up.

    `respond` makes it of the results, in which by then those have failed that did not become safe.
    """
    uncommitted = set(appended)
    if traffic is not None:
        traffic.waited += len(appended)

    def fail(one: Appended, code: ErrorCode) -> None:
        one.fail(code)
        if traffic is not None:
            traffic.refused_late(code)

    def attempt(final: bool) -> Response:
        if uncommitted and not final:
            return None
        for late in uncommitted:
            fail(late, ErrorCode.REQUEST_TIMED_OUT)
        return respond()

    delayed = DelayedOperation(loop, max(request.timeout_ms, 0) / 1000, attempt)

    def report(one: Appended, code: ErrorCode) -> None:
        if one in uncommitted:
            uncommitted.discard(one)
            if code is not ErrorCode.NONE:
                fail(one, code)
            if not uncommitted:
                delayed.wake()

    for one in appended:
        partition = one.partition
        is_committed = request.acks == ACKS_ALL or partition.replicas is None
        when_reached = partition.when_committed if is_committed else partition.when_written
        if not when_reached(one.end, partial(report, one)):
            report(one, ErrorCode.NONE)
    return delayed
