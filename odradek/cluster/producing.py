"""Producing records and counting what became of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from odradek.cluster.disconnects import Disconnects
from odradek.cluster.errors import sentence
from odradek.records.reading import NewRecord
from odradek.terminal.errors import CommandError
from odradek.terminal.human import plural

FLUSH_TIMEOUT_S = 60.0
INTERRUPTED_FLUSH_S = 5.0
FLUSH_STEP_S = 0.5
MESSAGE_TIMEOUT_MS = 30_000
MAX_RECORD_BYTES = 1_000_000_000
"""The largest that librdkafka takes; what a topic takes is for its broker to say."""
RANGES_SHOWN = 5

SETTINGS: Mapping[str, str | int | bool] = {
    "partitioner": "murmur2_random",  # as Java's clients: murmur2 of the key, and records without one are spread
    # Once and in order over retries, as Java's clients. librdkafka begins half a second later for it: it looks for a
    # broker to ask for its producer id while it changes connections, and then not before a timer of 500 ms.
    "enable.idempotence": True,
    "message.timeout.ms": MESSAGE_TIMEOUT_MS,
    "message.max.bytes": MAX_RECORD_BYTES,
    "reconnect.backoff.max.ms": 1_000,
    "linger.ms": 5,
}

_AGAINST_IDEMPOTENCE = frozenset(
    {
        "acks",
        "request.required.acks",
        "max.in.flight",
        "max.in.flight.requests.per.connection",
        "retries",
        "message.send.max.retries",
        "queuing.strategy",
    }
)


def producer_defaults(given: Mapping[str, str]) -> dict[str, str | int | bool]:
    """Return what a producer is set to beside these settings, which count more.

    As in Java's clients, who chooses how requests are acknowledged or repeated gets no idempotence without asking.
    """
    left_out = {"enable.idempotence"} if _AGAINST_IDEMPOTENCE & given.keys() else set()
    return {name: value for name, value in SETTINGS.items() if name not in left_out}


@dataclass(slots=True)
class PartitionTally:
    """What went to one partition; offsets are -1 where the broker does not tell them."""

    records: int = 0
    first_offset: int = -1
    last_offset: int = -1


@dataclass(slots=True)
class Tally:
    """What became of records so far; `bytes` are those of values, `error` the first one.

    `handed_over` counts records that the producer was given; `failed` has the numbers of the lines, from 1, of those
    among them that were not acknowledged.
    """

    records: int = 0
    bytes: int = 0
    handed_over: int = 0
    skipped: int = 0
    """Lines before the first of them."""
    is_cut: bool = False
    """Whether it ended before the input did."""
    failed: list[int] = field(default_factory=list)
    error: KafkaError | None = None
    partitions: dict[int, PartitionTally] = field(default_factory=dict)
    disconnects: Disconnects = field(default_factory=Disconnects)
    """Is told when there is a connection again."""

    def on_delivery(self, number: int, error: KafkaError | None, message: Message) -> None:
        """Count one record; with its number bound, the producer's delivery callback."""
        if error is not None:
            self.failed.append(number)
            self.error = self.error or error
            return
        if self.disconnects.lost is not None:
            self.disconnects.over()
        self.records += 1
        self.bytes += len(message)
        number, offset = message.partition(), message.offset()  # type: ignore[assignment]
        partition = self.partitions.get(number)
        if partition is None:
            partition = self.partitions[number] = PartitionTally(first_offset=-1 if offset is None else offset)
        partition.records += 1
        if offset is None or offset < 0:  # nobody acknowledges with acks=0
            partition.first_offset = partition.last_offset = -1
            return
        partition.last_offset = max(partition.last_offset, offset)
        partition.first_offset = min(partition.first_offset, offset)

    @property
    def is_timed_out(self) -> bool:
        """Whether a record was not acknowledged in time, and nobody said why."""
        return self.error is not None and self.error.code() == KafkaError._MSG_TIMED_OUT

    def failed_ranges(self) -> list[tuple[int, int]]:
        """Return the numbers of the records that were not acknowledged, as first and last of each run."""
        ranges: list[tuple[int, int]] = []
        for number in sorted(self.failed):
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1] = (ranges[-1][0], number)
            else:
                ranges.append((number, number))
        return ranges

    def problem(self, topic: str, why: str | None = None) -> str:
        """Return what was not acknowledged and why in one sentence; empty where everything was.

        `why` is what the cluster says of the topic, where no acknowledgement came in time.
        """
        if not self.failed:
            return ""
        ranges = self.failed_ranges()
        shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges[:RANGES_SHOWN]]
        more = [plural(len(ranges) - RANGES_SHOWN, "more range")] if len(ranges) > RANGES_SHOWN else []
        lines = "line" if len(self.failed) == 1 else "lines"
        reason = sentence(self.error, f"topic {topic}") if self.error is not None else ""
        if why is not None:
            reason = f"topic {topic}: no acknowledgement in time, as {why}"
        rest = f", and nothing from line {self.skipped + self.handed_over + 1} on was sent" if self.is_cut else ""
        told = f"{lines} {', '.join([*shown, *more])} not acknowledged{rest}: {reason}"
        before = ranges[0][0] - 1
        if not before:
            return told
        mark = "" if told.endswith("?") else "."
        return f"{told}{mark} To go on there: --skip {before}, which may repeat what was written but not acknowledged"


class SendRate:
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
    producer: Producer, topic: str, records: Iterable[NewRecord], tally: Tally, partition: int | None, pace: SendRate
) -> None:
    """Hand over records until they end or one fails; what was handed over may still be on its way then."""
    for record in records:
        pace.wait(producer.poll)
        _hand_over(producer, topic, record, tally, partition)
        producer.poll(0)
        if tally.error is not None:
            tally.is_cut = True
            return


def drain(producer: Producer, asked_to_stop: Callable[[], bool] = lambda: False) -> int:
    """Wait for what is on its way, for a shorter time once a stop is asked; returns how many records are left."""
    began = time.monotonic()
    while True:
        left = producer.flush(FLUSH_STEP_S)
        timeout = INTERRUPTED_FLUSH_S if asked_to_stop() else FLUSH_TIMEOUT_S
        if not left or time.monotonic() - began > timeout:
            return left


def finish(producer: Producer, tally: Tally, timeout: float = FLUSH_TIMEOUT_S) -> None:
    """Wait for what is on its way, unless a record has failed; what is not acknowledged then has failed, too."""
    deadline = time.monotonic() + timeout
    while tally.error is None and producer.flush(FLUSH_STEP_S) and time.monotonic() < deadline:
        pass
    give_up(producer, tally)


def give_up(producer: Producer, tally: Tally) -> None:
    """Wait no longer: what is still on its way has failed."""
    if len(producer):
        tally.error = tally.error or KafkaError(KafkaError._MSG_TIMED_OUT)
        producer.purge()
        producer.flush(FLUSH_STEP_S)  # calls back for what was purged


def _hand_over(producer: Producer, topic: str, record: NewRecord, tally: Tally, partition: int | None) -> None:
    target = partition if partition is not None else record.partition
    optional: dict[str, Any] = {}
    if target is not None:
        optional["partition"] = target
    if record.timestamp_ms is not None:
        optional["timestamp"] = record.timestamp_ms
    headers: Any = list(record.headers) or None
    on_delivery = partial(tally.on_delivery, tally.skipped + tally.handed_over + 1)
    while True:
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                headers=headers,
                on_delivery=on_delivery,
                **optional,
            )
        except BufferError:
            producer.poll(0.1)
        except KafkaException as refused:
            reason = sentence(refused.args[0], f"topic {topic}")
            raise CommandError(f"line {tally.skipped + tally.handed_over + 1}: {reason}") from refused
        else:
            tally.handed_over += 1
            return
