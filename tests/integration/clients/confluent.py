"""confluent-kafka: librdkafka."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.clients.base import (
    READ_TIMEOUT_S,
    Beginning,
    Client,
    End,
    FromTimestamp,
    ProduceSettings,
    ReadRecord,
    Sent,
    Start,
)


class Confluent(Client):
    """confluent-kafka's producer, consumer and admin client."""

    name = "confluent-kafka"

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        admin.create_topics([NewTopic(topic, partitions)])[topic].result(READ_TIMEOUT_S)

    def produce(self, topic: str, partition: int, records: Sequence[Sent], settings: ProduceSettings) -> None:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "acks": settings.acks,
                "compression.type": settings.codec.value,
                "enable.idempotence": settings.idempotent,
                "max.in.flight": 5 if settings.idempotent else 1,  # a retry of the others would change their order
            }
        )
        failures: list[str] = []

        def delivered(error: object, _message: object) -> None:
            if error is not None:
                failures.append(str(error))

        for record in records:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition,
                timestamp=record.timestamp,
                headers=list(record.headers),
                on_delivery=delivered,
            )
        unsent = producer.flush(READ_TIMEOUT_S)
        assert not unsent, f"{unsent} records were not delivered"
        assert not failures, failures[0]

    def read(self, topic: str, partition: int, start: Start, count: int) -> list[ReadRecord]:
        with self._consumer() as consumer:
            consumer.assign([confluent_kafka.TopicPartition(topic, partition, self._seek(topic, partition, start))])
            out: list[ReadRecord] = []
            deadline = time.monotonic() + READ_TIMEOUT_S
            while len(out) < count:
                message = consumer.poll(0.2)
                assert time.monotonic() < deadline, f"{len(out)} of {count} records within {READ_TIMEOUT_S} s"
                if message is None:
                    continue
                if message.error():
                    raise confluent_kafka.KafkaException(message.error())
                out.append(_as_read(message))
            return out

    def end_offset(self, topic: str, partition: int) -> int:
        with self._consumer() as consumer:
            high: int = consumer.get_watermark_offsets(
                confluent_kafka.TopicPartition(topic, partition), READ_TIMEOUT_S
            )[1]
            return high

    def offset_for(self, topic: str, partition: int, timestamp: int) -> int | None:
        with self._consumer() as consumer:
            asked = confluent_kafka.TopicPartition(topic, partition, timestamp)
            [answer] = consumer.offsets_for_times([asked], READ_TIMEOUT_S)
            return None if answer.offset < 0 else answer.offset

    def _seek(self, topic: str, partition: int, start: Start) -> int:
        if isinstance(start, Beginning):
            return confluent_kafka.OFFSET_BEGINNING
        if isinstance(start, End):
            return confluent_kafka.OFFSET_END
        if isinstance(start, FromTimestamp):
            offset = self.offset_for(topic, partition, start.timestamp)
            return confluent_kafka.OFFSET_END if offset is None else offset
        return start.offset

    @contextmanager
    def _consumer(self) -> Iterator[confluent_kafka.Consumer]:
        # The library demands a group id even of a consumer that never joins one.
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "unused", "enable.auto.commit": False}
        )
        try:
            yield consumer
        finally:
            consumer.close()


def _as_read(message: confluent_kafka.Message) -> ReadRecord:
    # The library's annotations are wider than what a consumed message has.
    headers = cast("list[tuple[str, bytes]]", message.headers() or [])
    offset = cast("int", message.offset())
    return ReadRecord(offset, Sent(message.key(), message.value(), tuple(headers), message.timestamp()[1]))
