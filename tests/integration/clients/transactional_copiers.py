"""Copiers of a topic in transactions, by clients in Python, as a process:
`python -m tests.integration.clients.transactional_copiers CLIENT BOOTSTRAP NUMBERS`.

Says after each commit how many are copied. Who is told that a transaction cannot go on begins anew where the group is.
"""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.errors import KafkaError as AioKafkaError
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata
from kafka import TopicPartition as PythonTopicPartition
from kafka.errors import KafkaError as PythonKafkaError

SOURCE, TARGET, GROUP = "source", "target", "copier"
IN_TRANSACTION = 10


class Progress:
    """How far a copier is."""

    def __init__(self, bootstrap: str, numbers: int) -> None:
        self.bootstrap = bootstrap
        self.numbers = numbers
        self.committed = 0
        self._transactions = 0

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to copy."""
        return self.committed >= self.numbers

    def aborts_next(self) -> bool:
        """Whether the next transaction is aborted, as a third of all are."""
        self._transactions += 1
        return self._transactions % 3 == 0

    def is_at(self, position: int) -> None:
        """So many are copied."""
        self.committed = position
        sys.stdout.write(f"{position}\n")
        sys.stdout.flush()


def copy_with_kafka_python(progress: Progress) -> None:
    """Copy until all is copied, or an error."""
    place = PythonTopicPartition(SOURCE, 0)
    consumer = KafkaConsumer(
        bootstrap_servers=progress.bootstrap,
        group_id=GROUP,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=IN_TRANSACTION,
    )
    producer = KafkaProducer(bootstrap_servers=progress.bootstrap, transactional_id=GROUP)
    try:
        producer.init_transactions()
        consumer.assign([place])
        progress.is_at(consumer.committed(place) or 0)
        consumer.seek(place, progress.committed)
        while not progress.is_done:
            found = consumer.poll(timeout_ms=1000, max_records=IN_TRANSACTION).get(place)
            if not found:
                continue
            producer.begin_transaction()
            for record in found:
                producer.send(TARGET, record.value, partition=0)
            producer.flush()
            position = found[-1].offset + 1
            offsets = {place: OffsetAndMetadata(position, "", -1)}
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            if progress.aborts_next():
                producer.abort_transaction()
                consumer.seek(place, progress.committed)
            else:
                producer.commit_transaction()
                progress.is_at(position)
    finally:
        producer.close(timeout=0)
        consumer.close(autocommit=False, timeout_ms=0)


def copy_with_aiokafka(progress: Progress) -> None:
    """Copy until all is copied, or an error."""
    asyncio.run(_copy_with_aiokafka(progress))


async def _copy_with_aiokafka(progress: Progress) -> None:
    place = AioTopicPartition(SOURCE, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=progress.bootstrap, group_id=GROUP, enable_auto_commit=False)
    producer = AIOKafkaProducer(bootstrap_servers=progress.bootstrap, transactional_id=GROUP)
    try:
        await producer.start()
        await consumer.start()
        consumer.assign([place])
        progress.is_at(await consumer.committed(place) or 0)
        consumer.seek(place, progress.committed)
        while not progress.is_done:
            found = (await consumer.getmany(place, timeout_ms=1000, max_records=IN_TRANSACTION)).get(place)
            if not found:
                continue
            await producer.begin_transaction()
            for record in found:
                await producer.send_and_wait(TARGET, record.value, partition=0)
            position = found[-1].offset + 1
            await producer.send_offsets_to_transaction({place: position}, GROUP)
            if progress.aborts_next():
                await producer.abort_transaction()
                consumer.seek(place, progress.committed)
            else:
                await producer.commit_transaction()
                progress.is_at(position)
    finally:
        await consumer.stop()
        await producer.stop()


CLIENTS = {"kafka-python": copy_with_kafka_python, "aiokafka": copy_with_aiokafka}


def main() -> None:
    """Copy until all is copied."""
    client, bootstrap, numbers = sys.argv[1:]
    progress = Progress(bootstrap, int(numbers))
    while not progress.is_done:
        try:
            CLIENTS[client](progress)
        except (PythonKafkaError, AioKafkaError) as error:
            sys.stderr.write(f"begins anew after {error!r}\n")


if __name__ == "__main__":
    main()
