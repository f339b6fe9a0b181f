"""Producing records and counting what became of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from odradek.cli.errors import CommandError
from odradek.cluster.errors import sentence
from odradek.records.reading import NewRecord

FLUSH_TIMEOUT_S = 60.0
INTERRUPTED_FLUSH_S = 5.0
FLUSH_STEP_S = 0.5
MESSAGE_TIMEOUT_MS = 30_000

SETTINGS: Mapping[str, str | int | bool] = {
    "partitioner": "murmur2_random",  # as Java's clients: murmur2 of the key, and records without one are spread
    # In order over retries. Idempotence would also keep duplicates out, but librdkafka takes half a second to begin
    # with it, too long for one line of a person; a file of settings can ask for it.
    "max.in.flight.requests.per.connection": 1,
    "message.timeout.ms": MESSAGE_TIMEOUT_MS,
    "linger.ms": 5,
}


@dataclass(slots=True)
class PartitionTally:
    """What went to one partition."""

    records: int = 0
    first_offset: int = -1
    last_offset: int = -1


@dataclass(slots=True)
class Tally:
    """What became of records so far; `bytes` are those of values."""

    records: int = 0
    bytes: int = 0
    failed: int = 0
    error: KafkaError | None = None
    partitions: dict[int, PartitionTally] = field(default_factory=dict)

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        """Count one record; the producer's delivery callback."""
        if error is not None:
            self.failed += 1
            self.error = self.error or error
            return
        self.records += 1
        self.bytes += len(message)
        number, offset = message.partition(), message.offset()
        assert number is not None, "a delivered record has its place"
        assert offset is not None, "a delivered record has its place"
        partition = self.partitions.get(number)
        if partition is None:
            partition = self.partitions[number] = PartitionTally(first_offset=offset)
        partition.records += 1
        partition.last_offset = max(partition.last_offset, offset)
        partition.first_offset = min(partition.first_offset, offset)


class Pace:
    """At most so many a second; None: as many as go.

    What a short standstill kept back is made up for, so that the rate holds on the whole; a long one is forgotten.
    """

    FORGOTTEN_AFTER_S = 0.25

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = 1 / rate if rate else 0.0
        self._clock = clock
        self._sleep = sleep
        self._turn = clock()

    def wait(self, meanwhile: Callable[[float], object]) -> None:
        """Wait for the next turn, spending the time in `meanwhile`, which is told how many seconds there are."""
        if not self._interval:
            return
        now = self._clock()
        ahead = self._turn - now
        self._turn = max(self._turn, now - self.FORGOTTEN_AFTER_S) + self._interval
        if ahead > 0:
            meanwhile(ahead)
            rest = ahead - (self._clock() - now)
            if rest > 0:
                self._sleep(rest)


def send(
    producer: Producer, topic: str, records: Iterable[NewRecord], tally: Tally, partition: int | None, pace: Pace
) -> None:
    """Hand over records until they end or one fails; what was handed over may still be on its way then."""
    for record in records:
        pace.wait(producer.poll)
        _hand_over(producer, topic, record, tally, partition)
        producer.poll(0)
        if tally.error is not None:
            return


def drain(producer: Producer, asked_to_stop: Callable[[], bool] = lambda: False) -> int:
    """Wait for what is on its way, for a shorter time once a stop is asked; returns how many records are left."""
    began = time.monotonic()
    while True:
        left = producer.flush(FLUSH_STEP_S)
        timeout = INTERRUPTED_FLUSH_S if asked_to_stop() else FLUSH_TIMEOUT_S
        if not left or time.monotonic() - began > timeout:
            return left


def finish(producer: Producer, tally: Tally, topic: str) -> None:
    """Wait for what is on its way; CommandError where something could not be delivered."""
    if tally.error is not None:
        producer.purge()  # no reason to wait for the others
    left = drain(producer)
    if tally.error is not None:
        raise CommandError(f"{tally.failed} of the records could not be produced: {sentence(tally.error, topic)}")
    if left:
        raise CommandError(f"{left} records are not acknowledged in time; is the broker still there?")


def _hand_over(producer: Producer, topic: str, record: NewRecord, tally: Tally, partition: int | None) -> None:
    target = partition if partition is not None else record.partition
    optional: dict[str, Any] = {}
    if target is not None:
        optional["partition"] = target
    if record.timestamp_ms is not None:
        optional["timestamp"] = record.timestamp_ms
    headers: Any = list(record.headers) or None
    while True:
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                headers=headers,
                on_delivery=tally.on_delivery,
                **optional,
            )
        except BufferError:
            producer.poll(0.1)
        except KafkaException as refused:
            raise CommandError(sentence(refused.args[0], f"topic {topic}")) from refused
        else:
            return
