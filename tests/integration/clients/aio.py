"""aiokafka: the asyncio client."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

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


class AioKafka(Client):
    """aiokafka's producer, consumer and admin client, each call in an event loop of its own."""

    name = "aiokafka"

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        async def create() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
            await admin.start()
            try:
                await admin.create_topics([NewTopic(topic, partitions, 1)])
            finally:
                await admin.close()

        asyncio.run(create())

    def produce(self, topic: str, partition: int, records: Sequence[Sent], settings: ProduceSettings) -> None:
        asyncio.run(self._produce(topic, partition, records, settings))

    async def _produce(self, topic: str, partition: int, records: Sequence[Sent], settings: ProduceSettings) -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks=settings.acks,
            compression_type=None if settings.codec == "none" else settings.codec.value,
            enable_idempotence=settings.idempotent,
        )
        await producer.start()
        try:
            futures = [
                await producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=partition,
                    timestamp_ms=record.timestamp,
                )
                for record in records
            ]
            await asyncio.wait_for(asyncio.gather(*futures), READ_TIMEOUT_S)
        finally:
            await producer.stop()

    def read(self, topic: str, partition: int, start: Start, count: int) -> list[ReadRecord]:
        async def read() -> list[ReadRecord]:
            place = aiokafka.TopicPartition(topic, partition)
            async with self._consumer() as consumer:
                consumer.assign([place])
                await self._seek(consumer, place, start)
                out: list[ReadRecord] = []
                while len(out) < count:
                    message = await asyncio.wait_for(consumer.getone(place), READ_TIMEOUT_S)
                    record = Sent(message.key, message.value, tuple(message.headers), message.timestamp)
                    out.append(ReadRecord(message.offset, record))
                return out

        return asyncio.run(read())

    def end_offset(self, topic: str, partition: int) -> int:
        async def ask() -> int:
            place = aiokafka.TopicPartition(topic, partition)
            async with self._consumer() as consumer:
                end: int = (await consumer.end_offsets([place]))[place]
                return end

        return asyncio.run(ask())

    def offset_for(self, topic: str, partition: int, timestamp: int) -> int | None:
        async def ask() -> int | None:
            place = aiokafka.TopicPartition(topic, partition)
            async with self._consumer() as consumer:
                found = (await consumer.offsets_for_times({place: timestamp}))[place]
                return None if found is None else found.offset

        return asyncio.run(ask())

    async def _seek(self, consumer: aiokafka.AIOKafkaConsumer, place: aiokafka.TopicPartition, start: Start) -> None:
        if isinstance(start, Beginning):
            await consumer.seek_to_beginning(place)
        elif isinstance(start, End):
            await consumer.seek_to_end(place)
        elif isinstance(start, FromTimestamp):
            found = (await consumer.offsets_for_times({place: start.timestamp}))[place]
            consumer.seek(place, found.offset)
        else:
            consumer.seek(place, start.offset)

    @asynccontextmanager
    async def _consumer(self) -> AsyncIterator[aiokafka.AIOKafkaConsumer]:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=self.bootstrap)
        await consumer.start()
        try:
            yield consumer
        finally:
            await consumer.stop()
