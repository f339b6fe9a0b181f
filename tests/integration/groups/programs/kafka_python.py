"""A member with kafka-python."""

from collections.abc import Iterable

import kafka
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaConnectionError, KafkaError

from tests.integration.groups.programs import reporting

ASSIGNORS = {
    each.name: each
    for each in (
        RangePartitionAssignor,
        RoundRobinPartitionAssignor,
        StickyPartitionAssignor,
        CooperativeStickyAssignor,
    )
}


JOINING_MS = 3000
"""How long a poll may take while there is no assignment: as long as a group may need to settle."""


class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no annotations
    """Reports what the group's coordinator gives and takes."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def on_partitions_assigned(self, assigned: Iterable[kafka.TopicPartition]) -> None:
        """Report what was given."""
        reporting.assigned(self._topic, [each.partition for each in assigned])

    def on_partitions_revoked(self, revoked: Iterable[kafka.TopicPartition]) -> None:
        """Report what was taken."""
        reporting.revoked(self._topic, [each.partition for each in revoked])

    def on_partitions_lost(self, lost: Iterable[kafka.TopicPartition]) -> None:
        """Report what others may have already."""
        self.on_partitions_revoked(lost)


def main() -> None:
    """Consume until told to stop."""
    options = reporting.options()
    stop = reporting.StopSignal()
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=options.bootstrap,
        group_id=options.group,
        group_instance_id=options.instance_id,
        partition_assignment_strategy=[ASSIGNORS[options.assignor]],
        session_timeout_ms=options.session_timeout,
        heartbeat_interval_ms=options.heartbeat_interval,
        enable_auto_commit=options.auto_commit,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
        reconnect_backoff_max_ms=300,
    )
    consumer.subscribe([options.topic], listener=Listener(options.topic))
    while not stop.received:
        # A poll that ends just before the group has settled makes this client forget what it was given, for good.
        try:
            polled = consumer.poll(100 if consumer.assignment() else JOINING_MS)
        except KafkaConnectionError:  # this client may tell its caller that nobody listens, while it tries again itself
            continue
        places = [(each.partition, message.offset) for each, messages in polled.items() for message in messages]
        if not places:
            continue
        reporting.consumed(options.topic, places)
        if not options.auto_commit:
            _commit(consumer, options.topic, places)
    consumer.close()
    reporting.closed()


def _commit(consumer: kafka.KafkaConsumer, topic: str, places: list[tuple[int, int]]) -> None:
    ends: dict[int, int] = {}
    for partition, offset in places:
        ends[partition] = max(ends.get(partition, 0), offset + 1)
    try:
        consumer.commit(
            {kafka.TopicPartition(topic, each): kafka.OffsetAndMetadata(end, "", -1) for each, end in ends.items()}
        )
    except KafkaError as error:
        reporting.commit_failed(error)
        return
    reporting.committed(topic, ends)


if __name__ == "__main__":
    main()
