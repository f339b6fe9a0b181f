"""A member with aiokafka."""

import asyncio
import signal
from collections.abc import Iterable

import aiokafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from tests.integration.groups.programs import reporting

ASSIGNORS = {each.name: each for each in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)}


class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no annotations
    """Reports what the group's coordinator gives and takes."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    async def on_partitions_assigned(self, assigned: Iterable[aiokafka.TopicPartition]) -> None:
        """Report what was given."""
        reporting.assigned(self._topic, [each.partition for each in assigned])

    async def on_partitions_revoked(self, revoked: Iterable[aiokafka.TopicPartition]) -> None:
        """Report what was taken."""
        reporting.revoked(self._topic, [each.partition for each in revoked])


async def main() -> None:
    """Consume until told to stop."""
    options = reporting.options()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=options.bootstrap,
        group_id=options.group,
        group_instance_id=options.instance_id,
        partition_assignment_strategy=[ASSIGNORS[options.assignor]],
        session_timeout_ms=options.session_timeout,
        heartbeat_interval_ms=options.heartbeat_interval,
        enable_auto_commit=options.auto_commit,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
    )
    consumer.subscribe([options.topic], listener=Listener(options.topic))
    await consumer.start()
    while not stop.is_set():
        polled = await consumer.getmany(timeout_ms=100)
        places = [(each.partition, message.offset) for each, messages in polled.items() for message in messages]
        if not places:
            continue
        reporting.consumed(options.topic, places)
        if not options.auto_commit:
            await _commit(consumer, options.topic, places)
    await consumer.stop()
    reporting.closed()


async def _commit(consumer: aiokafka.AIOKafkaConsumer, topic: str, places: list[tuple[int, int]]) -> None:
    ends: dict[int, int] = {}
    for partition, offset in places:
        ends[partition] = max(ends.get(partition, 0), offset + 1)
    try:
        await consumer.commit({aiokafka.TopicPartition(topic, each): end for each, end in ends.items()})
    except KafkaError as error:
        reporting.commit_failed(error)
        return
    reporting.committed(topic, ends)


if __name__ == "__main__":
    asyncio.run(main())
