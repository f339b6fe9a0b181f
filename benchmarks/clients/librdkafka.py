"""The same loads through librdkafka (confluent-kafka), as users have it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks import records
from benchmarks.clients.figures import Meter, Requests, Transfer
from benchmarks.target import Endpoint

_DIFFERENT_VALUES = 1000


@dataclass(frozen=True, slots=True)
class ClientLoad:
    """Records of `value_size` bytes to or from a topic, with librdkafka's own settings but for `settings`."""

    endpoint: Endpoint
    topic: str
    value_size: int
    records: int
    warmup_records: int = 0
    settings: Mapping[str, str | int] = field(default_factory=dict)

    def configuration(self) -> dict[str, str | int]:
        """What the client is made with."""
        host, port = self.endpoint.address
        return {"bootstrap.servers": f"{host}:{port}", **self.settings}


class DeliveryError(Exception):
    """librdkafka reported an error, or records were left undelivered."""


def produce(load: ClientLoad) -> Transfer:
    """Hand over every record, then wait until all are acknowledged."""
    producer = Producer(load.configuration())
    values = records.values_of(_DIFFERENT_VALUES, load.value_size)
    _send(producer, load.topic, values, load.warmup_records)
    with Meter(load.endpoint.pid) as meter:
        _send(producer, load.topic, values, load.records)
    return Transfer(load.records * load.value_size, meter.elapsed, meter.broker_cpu, meter.client_cpu)


def produce_requests(load: ClientLoad) -> Requests:
    """One request for each record, as many in flight as librdkafka likes."""
    one_each: dict[str, str | int] = {"linger.ms": 0, "batch.num.messages": 1}
    producer = Producer(load.configuration() | one_each)
    values = records.values_of(1, load.value_size)
    _send(producer, load.topic, values, load.warmup_records)
    with Meter(load.endpoint.pid) as meter:
        _send(producer, load.topic, values, load.records)
    total = load.records + load.warmup_records
    return Requests(load.records, total, meter.elapsed, meter.broker_cpu, meter.client_cpu)


def _send(producer: Producer, topic: str, values: list[bytes], count: int) -> None:
    produce, poll = producer.produce, producer.poll
    for value in islice(cycle(values), count):
        while True:
            try:
                produce(topic, value)
                break
            except BufferError:
                poll(0.001)
    if producer.flush(60):
        raise DeliveryError(f"{len(producer)} records to {topic} were not acknowledged within a minute")


def consume(load: ClientLoad) -> Transfer:
    """Read partition 0 from the beginning, in lists of up to 10,000 messages."""
    consumer = Consumer(load.configuration() | {"group.id": "bench", "enable.auto.commit": "false"})
    left = load.records
    received = 0
    with Meter(load.endpoint.pid) as meter:
        consumer.assign([TopicPartition(load.topic, 0, 0)])
        deadline = time.monotonic() + 60
        while left > 0:
            messages = consumer.consume(10_000, 1.0)
            left -= len(messages)
            received += sum(map(len, messages))
            if time.monotonic() > deadline:
                raise DeliveryError(f"{left} of {load.records} records of {load.topic} did not come within a minute")
    consumer.close()
    if received < (load.records - left) * load.value_size:
        raise DeliveryError(f"reading {load.topic}: {received} bytes, an error among the messages")
    return Transfer(received, meter.elapsed, meter.broker_cpu, meter.client_cpu)
