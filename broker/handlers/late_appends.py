"""Batches whose check takes longer than a turn of the event loop may, appended once they are checked (`late_checks`).

Those of a request are appended one after the other, in its order; what a partition has become meanwhile counts. Must
not know: how batches are checked, what a response looks like.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Sequence

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.counting import TrafficCounter
from odradek.broker.handlers.late_checks import LateBatch, LateChecks
from odradek.broker.handlers.produce_results import accepted, refused, refused_by_log
from odradek.broker.handlers.produce_waiting import Appended, waits
from odradek.broker.partitions.roles import Role
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.protocol.errors import ErrorCode, KafkaError


class LateAppends:
    """Appends batches as they are checked, and puts what became of each into the results of its request."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        converter: Converter,
        memory: RequestMemory,
        traffic: TrafficCounter | None,
    ) -> None:
        self._checks = LateChecks(loop, converter, memory)
        self._clock = clock
        self._traffic = traffic

    def keep(self, context: RequestContext, late: Sequence[LateBatch]) -> float | None:
        """Keep the batches for `append`; return until when they may wait, on the loop's clock.

        None where there is no memory for them: then they are refused, and nothing is left to be done.
        """
        try:
            return self._checks.keep(late)
        except KafkaError as busy:
            for batch in late:
                self._checks.tell(batch.topic.name, context.peer, busy)
                index = batch.results[batch.place].partition
                batch.results[batch.place] = refused(index, busy, context, batch.topic)
            return None

    async def append(
        self, context: RequestContext, late: Sequence[LateBatch], acks: int, until: float
    ) -> list[Appended]:
        """Append the batches that were kept, and let them go; return those whose acknowledgement has to wait."""
        waiting: list[Appended] = []
        try:
            for batch in late:
                appended = await self._append_one(context, batch, acks, until)
                if appended is not None:
                    waiting.append(appended)
        finally:
            self._checks.let_go(late)
        return waiting

    async def _append_one(self, context: RequestContext, batch: LateBatch, acks: int, until: float) -> Appended | None:
        partition, results, place = batch.partition, batch.results, batch.place
        index = results[place].partition
        now_ms = self._clock.now_ms()
        try:
            checked = await self._checks.check(batch, now_ms, until)
            if partition.is_retired or partition.role is not Role.LEADER:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            info = partition.append(checked, now_ms, guard=batch.guard)
        except KafkaError as error:
            self._checks.tell(batch.topic.name, context.peer, error)
            results[place] = refused_by_log(index, error, context, batch.topic, partition)
            if self._traffic is not None:
                self._traffic.checked(batch.topic.name, batch.records, error.code)
            return None
        results[place] = accepted(index, info)
        if self._traffic is not None:
            self._traffic.checked(batch.topic.name, batch.records)
        if partition.high_watermark <= info.last_offset and waits(partition, info.last_offset, acks):
            return Appended(partition, info.last_offset + 1, results, place)
        return None
