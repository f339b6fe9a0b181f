"""Batches whose check takes longer than a turn of the event loop may: checked on a thread, appended when that is done.

A few kilobytes can stand for tens of megabytes and a million records, so what is left of the `Effort` of a request
decides, not its size. Checks run one after the other, so their memory is that of one; those that wait keep
their records, which count as memory of requests. Must not know: how batches are checked, what a response looks like.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Sequence
from dataclasses import dataclass

from odradek.broker.handlers.converting import Converter
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.kept_records import kept, kept_bytes
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.produce import ProduceResult
from odradek.protocol.records.batch import ATTRIBUTES_AT, CODEC_MASK, HEADER_SIZE
from odradek.storage.producers.producer_state import Verification
from odradek.storage.validation import Effort, TakesLonger, ValidatedBatch, validate_client_batch

EFFORT_OF_A_REQUEST = 150_000
"""Steps of checking (`storage.validation.effort`) within a turn of the loop: some 15 ms at worst. A batch of 1 MB that
holds four times as much in records of 100 bytes is checked with it."""
STEPS_FOR_A_RECORD = 32
"""Effort on the thread, for each record that the topic allows in a batch: three seconds by default, which only millions
of headers of records take."""
CHECK_TIMES = 3
"""Memory that a check takes, in times of what the batch decompresses to at most: that, a copy, a batch made anew."""
LONGEST_WAIT_S = 30.0
"""A batch that has waited so long for others to be checked is refused: its client has given it up by then."""
MOST_TOLD = 1000
"""Lines of the log about batches over a limit."""
_LIMITS = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.REQUEST_TIMED_OUT})

log = get_logger("produce")


class TooBusy(KafkaError):  # noqa: N818 - says what is the matter
    """More waits to be checked than there is memory or time for; the client should try again."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.REQUEST_TIMED_OUT, "Too many large batches wait to be checked")


class TooMuchWork(KafkaError):  # noqa: N818 - says what is the matter
    """No batch of this topic may take so long to check."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.MESSAGE_TOO_LARGE, "The record batch has too many headers to be checked")


@dataclass(slots=True, eq=False)
class LateBatch:
    """A batch of a request that is not checked yet."""

    topic: TopicPartitions
    partition: Partition
    records: memoryview
    """Of the frame, and the batch's own (`kept_records`) once it waits."""
    results: list[ProduceResult]
    place: int
    """Index of its result in `results`."""
    guard: Verification | None = None
    """Under which the transaction of the batch was verified."""

    @property
    def work_bytes(self) -> int:
        """Memory that the check may take."""
        records = self.records
        is_compressed = len(records) > HEADER_SIZE and records[ATTRIBUTES_AT + 1] & CODEC_MASK
        return CHECK_TIMES * (self.partition.log.rules.decompressed_limit if is_compressed else len(records))


class LateChecks:
    """Checks batches one after the other."""

    def __init__(self, loop: AbstractEventLoop, converter: Converter, memory: RequestMemory) -> None:
        self._loop = loop
        self._converter = converter
        self._memory = memory
        self._told: set[tuple[str, ErrorCode]] = set()

    def tell(self, topic: str, peer: str, error: KafkaError) -> None:
        """Log why a batch is refused for its size or for want of time, once for each topic and code."""
        told = (topic, error.code)
        if error.code in _LIMITS and told not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(told)
            log.warning("a batch is over a limit", topic=topic, code=error.code.name, reason=error.message, peer=peer)

    def keep(self, late: Sequence[LateBatch]) -> float:
        """Keep the batches, whatever becomes of the memory they came in; return until when they may wait.

        They are to be let go by `let_go`. Raises TooBusy where there is no memory for them.
        """
        size = kept_bytes([batch.records for batch in late])
        if not self._memory.may_hold(size):
            raise TooBusy
        self._memory.hold(size)
        for batch in late:
            batch.records = kept(batch.records)
        return self._loop.time() + LONGEST_WAIT_S

    def let_go(self, late: Sequence[LateBatch]) -> None:
        """The batches are appended or refused."""
        self._memory.release(kept_bytes([batch.records for batch in late]))

    async def check(self, batch: LateBatch, now_ms: int, until: float) -> ValidatedBatch:
        """Return the batch as it may be appended. Raises what `validate_client_batch` raises, and TooBusy."""
        rules = batch.partition.log.rules

        def work() -> ValidatedBatch:
            if self._loop.time() > until:
                raise TooBusy
            try:
                return validate_client_batch(
                    batch.records, rules, now_ms, Effort(rules.records_limit * STEPS_FOR_A_RECORD)
                )
            except TakesLonger:
                raise TooMuchWork from None

        return await self._converter.run(work, batch.work_bytes)
