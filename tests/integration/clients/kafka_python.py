"""kafka-python: the pure Python client."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import kafka
from kafka.admin import KafkaAdminClient, NewTopic

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


class KafkaPython(Client):
    """kafka-python's producer, consumer and admin client."""

    name = "kafka-python"

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            admin.create_topics([NewTopic(topic, partitions, 1)])
        finally:
            admin.close()

    def produce(self, topic: str, partition: int, records: Sequence[Sent], settings: ProduceSettings) -> None:
        producer = kafka.KafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks=settings.acks,
            compression_type=None if settings.codec == "none" else settings.codec.value,
            enable_idempotence=settings.idempotent,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=partition,
                    timestamp_ms=record.timestamp,
                )
                for record in records
            ]
            producer.flush(READ_TIMEOUT_S)
            for future in futures:
                future.get(READ_TIMEOUT_S)
        finally:
            producer.close()

    def read(self, topic: str, partition: int, start: Start, count: int) -> list[ReadRecord]:
        place = kafka.TopicPartition(topic, partition)
        with self._consumer() as consumer:
            consumer.assign([place])
            self._seek(consumer, place, start)
            out: list[ReadRecord] = []
            deadline = time.monotonic() + READ_TIMEOUT_S
            while len(out) < count:
                assert time.monotonic() < deadline, f"{len(out)} of {count} records within {READ_TIMEOUT_S} s"
                for message in consumer.poll(200, max_records=count - len(out)).get(place, ()):
                    record = Sent(message.key, message.value, tuple(message.headers), message.timestamp)
                    out.append(ReadRecord(message.offset, record))
            return out

    def end_offset(self, topic: str, partition: int) -> int:
        place = kafka.TopicPartition(topic, partition)
        with self._consumer() as consumer:
            end: int = consumer.end_offsets([place])[place]
            return end

    def offset_for(self, topic: str, partition: int, timestamp: int) -> int | None:
        place = kafka.TopicPartition(topic, partition)
        with self._consumer() as consumer:
            found = consumer.offsets_for_times({place: timestamp})[place]
            return None if found is None else found.offset

    def _seek(self, consumer: kafka.KafkaConsumer, place: kafka.TopicPartition, start: Start) -> None:
        if isinstance(start, Beginning):
            consumer.seek_to_beginning(place)
        elif isinstance(start, End):
            consumer.seek_to_end(place)
            consumer.position(place)
        elif isinstance(start, FromTimestamp):
            found = consumer.offsets_for_times({place: start.timestamp})[place]
            consumer.seek(place, found.offset)
        else:
            consumer.seek(place, start.offset)

    @contextmanager
    def _consumer(self) -> Iterator[kafka.KafkaConsumer]:
        consumer = kafka.KafkaConsumer(bootstrap_servers=self.bootstrap)
        try:
            yield consumer
        finally:
            consumer.close()
