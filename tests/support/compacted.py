"""Compacted topics of a running broker, over the wire: made, filled, and read to see what is left."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.waiting import eventually

QUICK_CLEANER = {"log.cleaner.backoff.ms": "100", "log.cleaner.delete.retention.ms": "86400000"}
"""A broker that looks for something to compact ten times a second."""
EAGER = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.01",
}
"""A topic that is compacted whenever there is anything to compact; the smallest segments that Kafka allows."""
FILLER_BYTES = 300_000
"""A few values of this size fill a segment."""


class Kept(NamedTuple):
    """A record that a consumer got."""

    offset: int
    key: bytes
    value: bytes | None


def create(bootstrap: str, topic: str, configs: Mapping[str, str] | None = None) -> None:
    """Make a topic of one partition that is compacted eagerly, with `configs` on top."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    [made] = admin.create_topics([NewTopic(topic, 1, 1, config={**EAGER, **(configs or {})})]).values()
    made.result(60)


def produce(
    bootstrap: str, topic: str, records: Iterable[tuple[bytes | None, bytes | None]], codec: str = "none"
) -> None:
    """Produce the records in order, and wait until all are acknowledged."""
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.codec": codec,
            "linger.ms": 5,
            "batch.num.messages": 20,
            "enable.idempotence": True,
        }
    )
    for key, value in records:
        producer.produce(topic, key=key, value=value, partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0


def fill_segment(bootstrap: str, topic: str) -> None:
    """Produce so much under one key that everything before it is in a closed segment."""
    produce(bootstrap, topic, ((b"filler", os.urandom(FILLER_BYTES)) for _ in range(5)))


def read_kept(bootstrap: str, topic: str, isolation: str = "read_uncommitted") -> list[Kept]:
    """Read the whole partition as a new consumer does, up to the end that it had at the beginning."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    kept: list[Kept] = []
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_BEGINNING)])
        while True:
            message = consumer.poll(20)
            assert message is not None, "the consumer did not reach the end"
            error = message.error()
            if error is not None:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                return kept
            offset, key = message.offset(), message.key()
            assert offset is not None
            assert isinstance(key, bytes)
            value = message.value()
            assert value is None or isinstance(value, bytes)
            kept.append(Kept(offset, key, value))
    finally:
        consumer.close()


def await_compacted(bootstrap: str, topic: str, most: int, timeout: float = 30) -> list[Kept]:
    """Read again and again until at most `most` records are left, and return them."""

    def found() -> list[Kept]:
        kept = read_kept(bootstrap, topic)
        return kept if len(kept) <= most else []

    return eventually(found, f"at most {most} records are left in {topic}", timeout)
