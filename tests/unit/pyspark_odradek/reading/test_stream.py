"""Where micro-batches begin and end, with a cluster that is played."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from pyspark_odradek.errors import DataLostError, OptionError, UnknownTopicError
from pyspark_odradek.offsets import EARLIEST, LATEST, OffsetRange, Offsets, TopicPartition
from pyspark_odradek.reading import connecting
from pyspark_odradek.reading.batch import BatchReader
from pyspark_odradek.reading.limited_stream import LimitedStreamReader
from pyspark_odradek.reading.options import read_options
from pyspark_odradek.reading.tasks import RangePartition
from pyspark_odradek.source import stream_reader

A, B, C = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


class PlayedView:
    """A cluster with these partitions, each from its first to its last offset; timestamps are offsets."""

    def __init__(self, bounds: Mapping[TopicPartition, tuple[int, int]]) -> None:
        self.bounds = dict(bounds)
        self.ids = {topic: UUID(int=1) for topic, _ in bounds}

    def close(self) -> None:
        """Do nothing."""

    def topics(self) -> dict[str, list[int]]:
        """Return all topics."""
        found: dict[str, list[int]] = {}
        for topic, partition in sorted(self.bounds):
            found.setdefault(topic, []).append(partition)
        return found

    def partitions(self, topics: Collection[str]) -> dict[str, list[int]]:
        """Return some topics."""
        return {topic: found for topic, found in self.topics().items() if topic in topics}

    def topic_ids(self, topics: Collection[str]) -> dict[str, UUID]:
        """Return ids of topics."""
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}

    def offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """Return offsets."""
        return {partition: self._offset(partition, when) for partition, when in wanted.items()}

    def _offset(self, partition: TopicPartition, when: int) -> int:
        first, end = self.bounds[partition]
        if when in (EARLIEST, LATEST):
            return first if when == EARLIEST else end
        return max(first, when) if when < end else -1


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> PlayedView:
    """A cluster with two topics, of which one began to lose its oldest records."""
    view = PlayedView({A: (0, 100), B: (20, 50), C: (0, 0)})
    monkeypatch.setattr(connecting, "open_view", lambda _: view)
    return view


def stream(clock: Callable[[], float] = time.monotonic, **options: str) -> LimitedStreamReader:
    """Return a reader of topic a, from its beginning if nothing else is said."""
    given = {"kafka.bootstrap.servers": "x:1", "subscribe": "a", "startingOffsets": "earliest"} | options
    if options.get("subscribePattern"):
        del given["subscribe"]
    return LimitedStreamReader(read_options(given, streaming=True), clock)


def ranges(reader: Any, *offsets: Any) -> list[OffsetRange]:
    """Return what the tasks of a query read."""
    found = reader.partitions(*offsets)
    assert all(isinstance(each, RangePartition) for each in found)
    return [each.wanted for each in found]


def batch(**options: str) -> list[OffsetRange]:
    """Return what a batch query reads."""
    given = {"kafka.bootstrap.servers": "x:1", "subscribe": "a"} | options
    return ranges(BatchReader(read_options(given, streaming=False)))


def test_a_batch_is_all_there_is(played: PlayedView) -> None:
    """Without offsets a batch query reads every partition from its first to its last record."""
    assert batch() == [OffsetRange(A, 0, 100), OffsetRange(B, 20, 50)]
    assert batch(subscribe="b") == []
    assert batch(startingTimestamp="90", startingOffsetsByTimestampStrategy="latest") == [OffsetRange(A, 90, 100)]
    assert batch(endingOffsetsByTimestamp='{"a": {"0": 7, "1": 60}}') == [OffsetRange(A, 0, 7), OffsetRange(B, 20, 50)]
    assert len(batch(maxRecordsPerPartition="10")) == 13


def test_a_batch_with_offsets_that_are_not_there(played: PlayedView) -> None:
    """What lies outside a partition is a loss; partitions must be named completely."""
    with pytest.raises(DataLostError, match=r"offsets 0 to 50 of partition a-1 are wanted, it has 20 to 50"):
        batch(startingOffsets='{"a": {"0": -2, "1": 0}}')
    lenient = batch(startingOffsets='{"a": {"0": -2, "1": 0}}', failOnDataLoss="false")
    assert lenient == [OffsetRange(A, 0, 100), OffsetRange(B, 20, 50)]
    with pytest.raises(OptionError, match="a-1 missing"):
        batch(startingOffsets='{"a": {"0": 0}}')
    with pytest.raises(OptionError, match="no record at or after 60 ms"):
        batch(startingTimestamp="60")
    with pytest.raises(UnknownTopicError, match="no topic nowhere"):
        batch(subscribe="a,nowhere")


def test_a_limited_stream(played: PlayedView) -> None:
    """Each micro-batch takes its limit in proportion to what the partitions have."""
    reader = stream(maxOffsetsPerTrigger="13")
    assert reader.getDefaultReadLimit() == ReadMaxRows(13)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(13))
    assert end == {"a": {"0": 10, "1": 23}}
    assert ranges(reader, start, end) == [OffsetRange(A, 0, 10), OffsetRange(B, 20, 23)]
    assert reader.reportLatestOffset() == {"a": {"0": 100, "1": 50}}
    assert reader.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 100, "1": 50}}


def test_a_stream_waits_for_enough(played: PlayedView) -> None:
    """With minOffsetsPerTrigger a small micro-batch waits until there is more, or maxTriggerDelay is over."""
    now = [0.0]
    reader = stream(lambda: now[0], minOffsetsPerTrigger="50", maxTriggerDelay="10s")
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMinRows(50)
    end = {"a": {"0": 100, "1": 50}}
    assert reader.latestOffset(reader.initialOffset(), limit) == end
    played.bounds[A] = (0, 110)
    now[0] = 9.0
    assert reader.latestOffset(end, limit) == end
    now[0] = 10.0
    assert reader.latestOffset(end, limit) == {"a": {"0": 110, "1": 50}}
    played.bounds[A] = (0, 160)
    assert reader.latestOffset({"a": {"0": 110, "1": 50}}, limit) == {"a": {"0": 160, "1": 50}}


def test_available_now_has_an_end(played: PlayedView) -> None:
    """What comes after the trigger availableNow began is not read."""
    reader = stream(minOffsetsPerTrigger="50", maxOffsetsPerTrigger="50")
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    played.bounds[A] = (0, 1000)
    end = start
    for _ in range(5):
        end = reader.latestOffset(end, ReadMaxRows(50))
    assert end == {"a": {"0": 100, "1": 50}}


def test_new_and_deleted_partitions(played: PlayedView) -> None:
    """New partitions are read from their beginning; deleted ones end the query or are left out."""
    reader = stream(subscribePattern=".", failOnDataLoss="true")
    start = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    new = TopicPartition("c", 0)
    played.bounds[new] = (0, 5)
    end = reader.latestOffset(start, ReadAllAvailable())
    assert ranges(reader, start, end) == [OffsetRange(new, 0, 5)]
    del played.bounds[C], played.bounds[new]
    later = reader.latestOffset(end, ReadAllAvailable())
    with pytest.raises(DataLostError, match=r"partition b-0 was deleted; partition c-0 was deleted"):
        reader.partitions(end, later)
    assert ranges(stream(subscribePattern=".", failOnDataLoss="false"), end, later) == []


def test_a_topic_that_was_there_is_deleted_not_unknown(played: PlayedView) -> None:
    """A stream tells a topic that was deleted from one that never was."""
    with pytest.raises(UnknownTopicError):
        stream(subscribe="a,nowhere").initialOffset()
    reader = stream(subscribe="a,b")
    start = reader.initialOffset()
    del played.bounds[C]
    assert reader.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 100, "1": 50}}


def test_a_topic_that_was_made_anew_is_not_read_on(played: PlayedView, caplog: pytest.LogCaptureFixture) -> None:
    """However far the new topic has come: its offsets are not those that were reached in the old one."""
    reader, lenient = stream(), stream(failOnDataLoss="false")
    start = reader.initialOffset()
    lenient.initialOffset()
    played.bounds[A] = (0, 500)
    played.ids["a"] = UUID(int=2)
    with pytest.raises(DataLostError, match="topic a was deleted and made anew"):
        reader.latestOffset(start, ReadAllAvailable())
    assert lenient.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 500, "1": 50}}
    assert lenient.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 500, "1": 50}}
    assert caplog.text.count("topic a was deleted and made anew") == 1


def test_a_topic_that_is_gone_when_a_query_starts_again(played: PlayedView) -> None:
    """The trigger availableNow asks before the checkpoint is known; what is missing is told afterwards."""
    end = {"a": {"0": 100, "1": 50}}
    again = stream(subscribe="a,deleted")
    again.prepareForTriggerAvailableNow()
    assert again.latestOffset(end | {"deleted": {"0": 3}}, ReadAllAvailable()) == end
    never = stream(subscribe="a,nowhere")
    never.prepareForTriggerAvailableNow()
    with pytest.raises(UnknownTopicError):
        never.latestOffset(end, ReadAllAvailable())
    lenient = stream(subscribe="a,deleted", failOnDataLoss="false")
    lenient.prepareForTriggerAvailableNow()
    assert lenient.latestOffset(end, ReadAllAvailable()) == end


def test_tasks_take_the_reader_along(played: PlayedView) -> None:
    """The reader goes to tasks without its connections."""
    reader = stream()
    reader.initialOffset()
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.latestOffset(copy.initialOffset(), ReadAllAvailable()) == {"a": {"0": 100, "1": 50}}
    reader.stop()


def test_this_version_of_spark_has_limits() -> None:
    """With Spark 4.2 and newer the reader takes limits."""
    options = {"kafka.bootstrap.servers": "x:1", "subscribe": "a", "maxOffsetsPerTrigger": "5"}
    assert isinstance(stream_reader(read_options(options, streaming=True)), LimitedStreamReader)
