"""Reading records from partitions, up to where they ended when it began, or on and on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
)

from odradek.cluster.connection import NONE, ClusterClients, Settings
from odradek.cluster.disconnects import Disconnects, Tell
from odradek.cluster.errors import sentence
from odradek.cluster.offset_spec import OffsetSpecification
from odradek.cluster.offsets import Offsets, Partition, find
from odradek.records.consumed import Consumed
from odradek.terminal.errors import CommandError

POLL_S = 0.1
BATCH = 1_000

SETTINGS: Mapping[str, str | int | bool] = {
    "fetch.queue.backoff.ms": 10,  # a full queue must not make it wait for the second that is the default
    "receive.message.max.bytes": (1 << 31) - 1,  # a record may be as large as its topic lets it be
    "reconnect.backoff.max.ms": 1_000,
}
MUST: Mapping[str, str | int | bool] = {
    "enable.partition.eof": True,
    "enable.auto.offset.store": False,  # a group's offset moves when the record has been written out
}
WITHOUT_GROUP: Mapping[str, str | int | bool] = {**MUST, "group.id": "odradek-consume", "enable.auto.commit": False}

_PASSING = frozenset({KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN})
_TIMESTAMP_TYPES = {TIMESTAMP_CREATE_TIME: "create", TIMESTAMP_LOG_APPEND_TIME: "append"}


@dataclass(slots=True)
class StopOffsets:
    """Where to stop in each partition; without an entry, where the partition turns out to end."""

    offsets: Offsets
    done: set[Partition] = field(default_factory=set)

    def cut(self, records: Sequence[Message]) -> list[Message]:
        """Return the records before the ends, and note the ends that are reached."""
        offsets, done, kept = self.offsets, self.done, []
        for record in records:  # a load goes through here: no calls that are not needed
            place: Partition = (record.topic(), record.partition())  # type: ignore[assignment]
            end = offsets.get(place)
            if end is None:
                done.discard(place)
                kept.append(record)
                continue
            offset: int = record.offset()  # type: ignore[assignment]
            if offset < end:
                kept.append(record)
            if offset >= end - 1:
                done.add(place)
        return kept


@dataclass(frozen=True, slots=True)
class ConsumerRun:
    """A consumer at work; `ends` is None where it goes on with what comes."""

    consumer: Consumer
    ends: StopOffsets | None
    disconnects: Disconnects
    starts: Offsets


def read_partitions(
    cluster: ClusterClients,
    places: Sequence[Partition],
    start: OffsetSpecification,
    until: OffsetSpecification | None,
    tell: Tell,
    own: Settings = NONE,
) -> ConsumerRun:
    """Begin to read partitions at `start`, and stop before `until`, or not at all.

    `tell` takes news for the person, `own` are more settings of the consumer.
    """
    starts = find(cluster.admin, places, start)
    ends = None
    if until is not None:
        offsets = find(cluster.admin, places, until)
        ends = StopOffsets(offsets, done={place for place in places if starts[place] >= offsets[place]})
    return read_from(cluster, starts, ends, tell, own)


def read_from(
    cluster: ClusterClients, starts: Offsets, ends: StopOffsets | None, tell: Tell, own: Settings = NONE
) -> ConsumerRun:
    """Begin to read partitions at these offsets."""
    disconnects = Disconnects(cluster.bootstrap, tell)
    consumer = cluster.consumer({**own, **WITHOUT_GROUP, "error_cb": disconnects.on_error}, defaults=SETTINGS)
    consumer.assign([TopicPartition(topic, number, offset) for (topic, number), offset in starts.items()])
    return ConsumerRun(consumer, ends, disconnects, starts)


def join_group(
    cluster: ClusterClients,
    topics: Sequence[str],
    group: str,
    reset: str,
    *,
    follow: bool,
    tell: Tell,
    own: Settings = NONE,
) -> ConsumerRun:
    """Begin to read as a member of a group; `reset` is where a group without offsets starts, `earliest` or `latest`.

    One of the topics that begins with `^` is a regular expression, as librdkafka understands it.
    """
    disconnects = Disconnects(cluster.bootstrap, tell)
    settings = {"group.id": group, "auto.offset.reset": reset, "error_cb": disconnects.on_error}
    consumer = cluster.consumer({**own, **MUST, **settings}, defaults=SETTINGS)
    consumer.subscribe(list(topics))
    return ConsumerRun(consumer, None if follow else StopOffsets({}), disconnects, {})


def batches(
    reading: ConsumerRun, asked_to_stop: Callable[[], bool], limit: int | None = None
) -> Iterator[list[Message]]:
    """Yield records in batches until all assigned partitions are read to their ends, there are `limit`, or to stop.

    Where it has no ends it goes on for ever, over lost connections too.

    Raises:
        CommandError: the cluster does not let us read, or is gone before the ends are reached.
    """
    ends, disconnects, left = reading.ends, reading.disconnects, limit
    batch: list[Message] = []
    done_before = -1
    while left is None or left > 0:
        if asked_to_stop():
            return
        # Asking for the assignment takes milliseconds: only where something has changed, or there is time for it.
        if ends is not None and (not batch or len(ends.done) != done_before):
            done_before = len(ends.done)
            if _all_read(reading.consumer, ends):
                return
        if disconnects.lost is not None and (disconnects.lost.fatal() or (ends is not None and disconnects.drained)):
            raise CommandError(sentence(disconnects.lost, "reading"))
        messages = _next_messages(reading.consumer, BATCH if left is None else min(BATCH, left))
        batch = _records(messages, ends)
        if batch:
            if disconnects.drained:
                disconnects.over()
            if left is not None:
                left -= len(batch)
            yield batch
        else:
            disconnects.drained = disconnects.lost is not None


def store(consumer: Consumer, written: Iterable[Message]) -> None:
    """Note how far each partition has been written out, for the group's next commit."""
    ends = {(message.topic() or "", _known(message.partition())): _known(message.offset()) + 1 for message in written}
    consumer.store_offsets(offsets=[TopicPartition(topic, number, end) for (topic, number), end in ends.items()])


def consumed(message: Message) -> Consumed:
    """Return a record as what formats take."""
    kind, milliseconds = message.timestamp()
    kind_name = _TIMESTAMP_TYPES.get(kind, "none")
    return Consumed(
        message.topic() or "",
        _known(message.partition()),
        _known(message.offset()),
        milliseconds if kind_name != "none" else None,
        kind_name,
        _data(message.key()),
        _data(message.value()),
        [(name, _data(value)) for name, value in _headers(message)],
    )


def _next_messages(consumer: Consumer, count: int) -> Sequence[Message]:
    """Return what is there; where nothing is, wait a little."""
    messages: Sequence[Message] = consumer.consume(count, 0)
    if messages:
        return messages
    first = consumer.poll(POLL_S)
    return [] if first is None else [first]


def _records(messages: Sequence[Message], ends: StopOffsets | None) -> list[Message]:
    """Return the records among what a consumer gave out, up to the ends, and take note of the events between them."""
    records = [each for each in messages if each.error() is None]
    kept = records if ends is None else ends.cut(records)
    if len(records) < len(messages):
        for message in messages:
            _note(message, ends)
    return kept


def _note(message: Message, ends: StopOffsets | None) -> None:
    error = message.error()
    if error is None or error.code() in _PASSING:
        return
    if error.code() != KafkaError._PARTITION_EOF:
        raise CommandError(sentence(error, f"topic {message.topic()}"))
    if ends is not None:
        ends.done.add((message.topic() or "", _known(message.partition())))


def _all_read(consumer: Consumer, ends: StopOffsets) -> bool:
    assigned = {(each.topic, each.partition) for each in consumer.assignment()}
    return bool(assigned) and assigned <= ends.done


def _known(number: int | None) -> int:
    assert number is not None, "a record has its place"
    return number


def _headers(message: Message) -> Iterable[tuple[str, object]]:
    """Return the headers, which the declared types take for more than they are."""
    headers: Any = message.headers()
    return headers or ()


def _data(value: object) -> bytes | None:
    return value.encode() if isinstance(value, str) else value  # type: ignore[return-value]
