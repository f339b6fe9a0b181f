"""Reading up to an end, with a consumer that answers as it is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from odradek.cluster.consuming import ConsumerRun, StopOffsets, batches
from odradek.cluster.disconnects import Disconnects
from odradek.terminal.errors import CommandError


class Record:
    """What a consumer gives out: a record, or an event."""

    def __init__(self, partition: int, offset: int, error: KafkaError | None = None) -> None:
        self._place = partition, offset
        self._error = error

    def topic(self) -> str:
        """The topic."""
        return "t"

    def partition(self) -> int:
        """The partition."""
        return self._place[0]

    def offset(self) -> int:
        """The offset."""
        return self._place[1]

    def error(self) -> KafkaError | None:
        """None for a record."""
        return self._error


class Scripted:
    """A consumer of two partitions that gives out one list after the other, then nothing."""

    def __init__(self, *batches: Sequence[Record]) -> None:
        self._batches = list(batches)
        self.asked: list[int] = []

    def consume(self, count: int, _timeout: float) -> Sequence[Record]:
        """Give out the next list."""
        self.asked.append(count)
        return self._batches.pop(0) if self._batches else []

    def poll(self, _timeout: float) -> None:
        """Have nothing."""

    def assignment(self) -> list[TopicPartition]:
        """Both partitions."""
        return [TopicPartition("t", 0), TopicPartition("t", 1)]


def _reading(consumer: Scripted, ends: StopOffsets | None) -> ConsumerRun:
    return ConsumerRun(cast("Consumer", consumer), ends, Disconnects(), {})


def _read(reading: ConsumerRun, **how: Any) -> list[tuple[int, int]]:
    found = [each for batch in batches(reading, lambda: False, **how) for each in batch]
    return [(each.partition() or 0, each.offset() or 0) for each in found]


def _end_of(partition: int) -> Record:
    return Record(partition, 0, KafkaError(KafkaError._PARTITION_EOF))


def test_it_stops_where_each_partition_ended() -> None:
    """Records beyond an end are left out, also in the batch that reaches it."""
    consumer = Scripted([Record(0, 0), Record(0, 1), Record(1, 5)], [Record(0, 2), Record(1, 6), Record(1, 7)])
    reading = _reading(consumer, StopOffsets({("t", 0): 2, ("t", 1): 7}))
    assert _read(reading) == [(0, 0), (0, 1), (1, 5), (1, 6)]


def test_an_end_without_a_record_is_reached_too() -> None:
    """The last offsets may be those of markers: the consumer's word that there is nothing more counts."""
    reading = _reading(Scripted([Record(0, 0)], [_end_of(0), _end_of(1)]), StopOffsets({("t", 0): 2, ("t", 1): 7}))
    assert _read(reading) == [(0, 0)]


def test_without_known_ends_more_records_reopen_a_partition() -> None:
    """A member of a group goes on where something came after the end."""
    consumer = Scripted([_end_of(0)], [Record(0, 4), _end_of(1)], [_end_of(0)])
    assert _read(_reading(consumer, StopOffsets({}))) == [(0, 4)]


def test_a_limit_is_never_passed() -> None:
    """No more is taken from the consumer than is wanted, so that a group's offset is right."""
    consumer = Scripted([Record(0, 0), Record(0, 1)], [Record(0, 2)])
    assert len(_read(_reading(consumer, None), limit=3)) == 3
    assert consumer.asked == [3, 1]


def test_a_lost_cluster_is_an_error_only_before_the_end() -> None:
    """With an end to reach it is told; without one it is waited for."""
    lost = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    reading = _reading(Scripted(), StopOffsets({("t", 0): 2}))
    reading.disconnects.on_error(lost)
    with pytest.raises(CommandError, match="no answer in time"):
        _read(reading)
    endless = _reading(Scripted([Record(0, 0)]), None)
    endless.disconnects.on_error(lost)
    assert _read(endless, limit=1) == [(0, 0)]


def test_what_came_before_a_loss_does_not_hide_it() -> None:
    """Records that the client still had are given out, and then the loss is told, which the client tells but once."""
    reading = _reading(Scripted([Record(0, 0)], [Record(0, 1)]), StopOffsets({("t", 0): 9}))
    reading.disconnects.on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    found = batches(reading, lambda: False)
    assert [cast("Record", each).offset() for batch in (next(found), next(found)) for each in batch] == [0, 1]
    with pytest.raises(CommandError, match="no answer in time"):
        next(found)


def test_what_the_cluster_refuses_is_an_error() -> None:
    """A partition that may not be read ends it; a connection that is made anew does not."""
    passing = Record(0, 0, KafkaError(KafkaError._TRANSPORT))
    refused = Record(0, 0, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(CommandError, match="TOPIC_AUTHORIZATION_FAILED"):
        _read(_reading(Scripted([passing], [refused]), None))
