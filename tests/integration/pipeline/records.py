"""Records that are produced, and what an archive must have of them."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 3
FIRST_MS = 1_699_999_000_123  # close to the end of a day in UTC
STEP_MS = 100_000
HEADERS = [("trace", b"\x00\xff"), ("none", None), ("trace", b"")]


class Sample(NamedTuple):
    """One record, where it lies and what it holds."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: list[tuple[str, bytes | None]]


def samples(count: int) -> Iterator[Sample]:
    """Yield records in the order in which they are produced, with null keys, null values and bytes that are no text."""
    for number in range(count):
        key = None if number % 3 == 0 else b"\xff\x00%d" % number
        value = None if number % 50 == 7 else b"\xfe value \x00 %d" % number
        headers = HEADERS if number % 2 else []
        yield Sample(number % PARTITIONS, number // PARTITIONS, key, value, FIRST_MS + number * STEP_MS, headers)


def produce(bootstrap: str, topic: str, count: int, compression: str = "lz4") -> None:
    """Make the topic and produce `samples(count)` to it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    forever = {"retention.ms": "-1"}  # the records are from years ago
    admin.create_topics([NewTopic(topic, PARTITIONS, 1, config=forever)])[topic].result(60)
    _produce(bootstrap, topic, samples(count), compression)


def produce_more(bootstrap: str, topic: str, count: int, compression: str = "lz4") -> None:
    """Produce the second half of `samples(count)` to a topic that has the first."""
    _produce(bootstrap, topic, islice(samples(count), count // 2, None), compression)


def _produce(bootstrap: str, topic: str, records: Iterable[Sample], compression: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "compression.type": compression, "enable.idempotence": True}
    producer = Producer(settings | {"topic.metadata.refresh.interval.ms": 100})
    for each in records:
        producer.produce(
            topic, each.value, each.key, each.partition, timestamp=each.timestamp_ms, headers=list(each.headers)
        )
        producer.poll(0)
    assert producer.flush(30) == 0


def archived(archive: Path, topic: str) -> list[Sample]:
    """Return everything that readers find in an archive, by partition and offset; dates of directories are checked."""
    import pyarrow.dataset  # takes half a second, which each worker would spend to know of the tests

    table = pyarrow.dataset.dataset(archive, format="parquet", partitioning="hive").to_table()
    rows: list[dict[str, Any]] = table.to_pylist()
    found = []
    for row in rows:
        assert row["topic"] == topic
        timestamp: datetime = row["timestamp"]
        assert str(row["date"]) == timestamp.astimezone(UTC).date().isoformat()
        assert row["timestampType"] == 0
        headers = [(each["key"], each["value"]) for each in row["headers"] or []]
        milliseconds = round(timestamp.timestamp() * 1000)
        found.append(Sample(row["partition"], row["offset"], row["key"], row["value"], milliseconds, headers))
    return sorted(found, key=lambda each: (each.partition, each.offset))


def expected(count: int) -> list[Sample]:
    """Return `samples(count)` by partition and offset."""
    return sorted(samples(count), key=lambda each: (each.partition, each.offset))
