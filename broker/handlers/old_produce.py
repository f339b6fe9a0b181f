"""Produce versions 0 to 2: message sets of old clients, made into batches and then handled like any other.

Small sets are converted at once; if one of a request is large, or decompresses to much, all of it is done on a thread,
whatever becomes of the memory they came in (`kept_records`). Rules: Kafka's log behaviour, produce path.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from functools import partial

from odradek.broker.handlers.converting import Converter
from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.kept_records import kept, kept_bytes
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import PartitionProduceData, ProduceRequest
from odradek.protocol.records.errors import InvalidRecord, TooMuchData
from odradek.storage.validation import ValidationRules, convert_message_set
from odradek.storage.validation.messages import Allowance

CONVERTED_AT_ONCE = 16 * 1024
"""Bytes of messages, decompressed, that are converted on the event loop: a few milliseconds at worst."""
CONVERSION_BYTES = 128 * 1024 * 1024
"""Memory that a conversion takes at most: what is unwrapped, the records as objects, and the batch made of them."""


class NothingToAppendError(KafkaError):
    """There is no whole message, which is no fault: the answer has no error, and -1 for an offset, as in Kafka."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.NONE, "no whole message")


Converted = memoryview | KafkaError
"""The batch to append for a partition of a request, or why there is none."""
Outcomes = dict[int, Converted]
"""What became of the records, by the identity of their part of the request."""


class MessageSets:
    """Converts the records of produce requests."""

    def __init__(self, partitions: PartitionTable, clock: Clock, converter: Converter, memory: RequestMemory) -> None:
        self._partitions = partitions
        self._clock = clock
        self._converter = converter
        self._memory = memory

    def convert_now(self, request: ProduceRequest) -> Outcomes | None:
        """Convert all that the request has, or return None where that would take long, and `convert` is to be called.

        Where too much waits for the thread already, nothing is converted, which is a result, too.
        """
        found = list(self._find(request))
        size = _size_of(found)
        if size > CONVERTED_AT_ONCE:
            if not self._memory.may_hold(size):
                busy = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "Too many records of old versions wait to be converted")
                return {id(data): busy for data, _ in found}
            return None
        outcomes = _convert_all(found, self._clock.now_ms(), Allowance(CONVERTED_AT_ONCE))
        if any(isinstance(outcome, TooMuchData) for outcome in outcomes.values()):
            return None
        return outcomes

    def convert(self, request: ProduceRequest) -> Coroutine[None, None, Outcomes]:
        """Convert all that the request has, on the thread; its memory is not needed after this call."""
        found = list(self._find(request))
        for data, _ in found:
            data.records = kept(memoryview(data.records)) if data.records is not None else None
        self._memory.hold(_size_of(found))
        return self._convert(found)

    async def _convert(self, found: list[tuple[PartitionProduceData, ValidationRules]]) -> Outcomes:
        try:
            work = partial(_convert_all, found, self._clock.now_ms(), Allowance())
            return await self._converter.run(work, CONVERSION_BYTES)
        finally:
            self._memory.release(_size_of(found))

    def _find(self, request: ProduceRequest) -> Iterator[tuple[PartitionProduceData, ValidationRules]]:
        """Yield the parts of the request whose partition is here, with its rules; the others are refused later."""
        for wanted in request.topic_data:
            topic = self._partitions.find(wanted.name)
            for data in wanted.partition_data:
                partition: Partition | None = topic.get(data.index) if topic is not None else None
                if partition is not None:
                    yield data, partition.log.rules


def _size_of(found: list[tuple[PartitionProduceData, ValidationRules]]) -> int:
    return kept_bytes([memoryview(data.records) for data, _ in found if data.records is not None])


def _convert_all(
    found: list[tuple[PartitionProduceData, ValidationRules]], now_ms: int, allowance: Allowance
) -> Outcomes:
    return {id(data): _convert(data, rules, now_ms, allowance) for data, rules in found}


def _convert(data: PartitionProduceData, rules: ValidationRules, now_ms: int, allowance: Allowance) -> Converted:
    if data.records is None:
        return InvalidRecord("There are no records")
    try:
        batch = convert_message_set(data.records, rules, now_ms, allowance)
    except KafkaError as refused:
        return refused
    return NothingToAppendError() if batch is None else memoryview(batch)
