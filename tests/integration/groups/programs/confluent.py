"""A member with confluent-kafka (librdkafka)."""

from typing import cast

import confluent_kafka

from tests.integration.groups.programs import reporting


def main() -> None:
    """Consume until told to stop."""
    options = reporting.options()
    stop = reporting.StopSignal()
    consumer = confluent_kafka.Consumer(_settings(options))

    def assigned(_: object, partitions: list[confluent_kafka.TopicPartition]) -> None:
        reporting.assigned(options.topic, [each.partition for each in partitions])

    def revoked(_: object, partitions: list[confluent_kafka.TopicPartition]) -> None:
        reporting.revoked(options.topic, [each.partition for each in partitions])

    consumer.subscribe([options.topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
    while not stop.received:
        messages = [each for each in consumer.consume(500, 0.1) if each.error() is None]
        if not messages:
            continue
        places = [(cast("int", each.partition()), cast("int", each.offset())) for each in messages]
        reporting.consumed(options.topic, places)
        if not options.auto_commit:
            _commit(consumer, options.topic)
    consumer.close()
    reporting.closed()


def _settings(options: reporting.Options) -> dict[str, object]:
    settings: dict[str, object] = {
        "bootstrap.servers": options.bootstrap,
        "group.id": options.group,
        "group.protocol": options.group_protocol,
        "enable.auto.commit": options.auto_commit,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 100,
        "reconnect.backoff.max.ms": 300,
    }
    if options.group_protocol == "classic":
        settings |= {
            "partition.assignment.strategy": options.assignor,
            "session.timeout.ms": options.session_timeout,
            "heartbeat.interval.ms": options.heartbeat_interval,
        }
    elif options.assignor:
        settings["group.remote.assignor"] = options.assignor
    if options.instance_id:
        settings["group.instance.id"] = options.instance_id
    return settings


def _commit(consumer: confluent_kafka.Consumer, topic: str) -> None:
    try:
        done = consumer.commit(asynchronous=False)
    except confluent_kafka.KafkaException as error:
        reporting.commit_failed(error)
        return
    reporting.committed(topic, {each.partition: each.offset for each in done or () if each.offset >= 0})


if __name__ == "__main__":
    main()
