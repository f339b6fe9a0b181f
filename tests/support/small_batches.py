"""Filling a topic with many small batches, as steady traffic does, for tests of indexes and of files."""

from collections.abc import Iterable

from confluent_kafka import Producer

from tests.integration.clients import Codec, Sent

RECORDS_PER_BATCH = 20


def produce_in_small_batches(
    bootstrap: str, topic: str, records: Iterable[Sent], codec: Codec = Codec.NONE, idempotent: bool = False
) -> None:
    """Send records to partition 0, at most twenty in a batch, and wait until all are acknowledged."""
    settings = {"compression.type": codec.value, "enable.idempotence": idempotent}
    producer = Producer({"bootstrap.servers": bootstrap, "batch.num.messages": RECORDS_PER_BATCH, **settings})
    for record in records:
        key, value, headers, timestamp = record
        producer.produce(topic, value, key, partition=0, headers=list(headers), timestamp=timestamp)
    assert producer.flush(60) == 0
