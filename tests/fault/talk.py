"""Requests of a plain Kafka client, in the few shapes that the tests of this package need."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import BatchFields, Message, Record, WireClient, build_batch, error_code

MEGABYTE = 1 << 20
STORAGE_ERROR = error_code("KAFKA_STORAGE_ERROR")
TIMEOUT_MS = 10_000

_BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")


class Appended(NamedTuple):
    """The answer to a produced batch."""

    error_code: int
    base_offset: int


def create_topic(wire: WireClient, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> int:
    """Create a topic and return the error code."""
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }
    [result] = wire.ask("CreateTopics", 5, timeout_ms=TIMEOUT_MS, topics=[topic])["topics"]
    code: int = result["error_code"]
    return code


def delete_topic(wire: WireClient, name: str) -> int:
    """Delete a topic and return the error code."""
    [result] = wire.ask("DeleteTopics", 5, timeout_ms=TIMEOUT_MS, topic_names=[name])["responses"]
    code: int = result["error_code"]
    return code


def delete_records(wire: WireClient, topic: str, offset: int) -> int:
    """Let partition 0 of a topic start at an offset, and return the error code."""
    wanted = {"name": topic, "partitions": [{"partition_index": 0, "offset": offset}]}
    [answer] = wire.ask("DeleteRecords", 1, timeout_ms=TIMEOUT_MS, topics=[wanted])["topics"][0]["partitions"]
    code: int = answer["error_code"]
    return code


def set_config(wire: WireClient, topic: str, key: str, value: str) -> int:
    """Change one config of a topic and return the error code."""
    config = {"name": key, "config_operation": 0, "value": value}
    resource = {"resource_type": 2, "resource_name": topic, "configs": [config]}
    [answer] = wire.ask("IncrementalAlterConfigs", 0, resources=[resource])["responses"]
    code: int = answer["error_code"]
    return code


def topics(wire: WireClient) -> set[str]:
    """Return the names of all topics."""
    return {topic["name"] for topic in wire.ask("Metadata", 4, topics=None)["topics"]}


def send_batch(wire: WireClient, topic: str, batch: bytes, partition: int = 0, acks: int = -1) -> None:
    """Send a batch to a partition, without waiting for the answer."""
    data = [{"name": topic, "partition_data": [{"index": partition, "records": batch}]}]
    wire.send("Produce", 9, acks=acks, timeout_ms=TIMEOUT_MS, topic_data=data)


def produce_batch(wire: WireClient, topic: str, batch: bytes, partition: int = 0) -> Appended:
    """Append a batch to a partition."""
    send_batch(wire, topic, batch, partition)
    [answer] = wire.answer("Produce", 9)["responses"][0]["partition_responses"]
    return Appended(answer["error_code"], answer["base_offset"])


def produce(
    wire: WireClient, topic: str, *values: bytes, partition: int = 0, fields: BatchFields | None = None
) -> Appended:
    """Append records with these values, in one batch."""
    batch = build_batch([Record(None, value) for value in values], fields)
    return produce_batch(wire, topic, batch, partition)


def fetch_fields(topic: str, partition: int, offset: int, **limits: int) -> Message:
    """Return the fields of a Fetch request for one partition; limits are those of the request."""
    wanted = {
        "partition": partition,
        "fetch_offset": offset,
        "partition_max_bytes": limits.get("max_bytes", MEGABYTE),
        "current_leader_epoch": -1,
    }
    return {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": MEGABYTE,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [wanted]}],
        **limits,
    }


def fetch(wire: WireClient, topic: str, offset: int, partition: int = 0, **limits: int) -> Message:
    """Fetch from an offset of a partition, and return the answer for that."""
    answer = wire.ask("Fetch", 11, **fetch_fields(topic, partition, offset, **limits))
    found: Message = answer["responses"][0]["partitions"][0]
    return found


def read_all(wire: WireClient, topic: str, partition: int = 0, start: int = 0) -> list[tuple[int, bytes]]:
    """Return offset and value of every record of a partition; offsets must follow each other without gaps."""
    records: list[tuple[int, bytes]] = []
    offset = start
    while True:
        answer = fetch(wire, topic, offset, partition)
        assert answer["error_code"] == 0, answer["error_code"]
        found = [record for record in _records(answer["records"] or b"") if record[0] >= offset]
        if not found:
            assert offset == answer["high_watermark"], (offset, answer["high_watermark"])
            return records
        assert [number for number, _ in found] == list(range(offset, offset + len(found)))
        records += found
        offset = found[-1][0] + 1


def values_of(records: Sequence[tuple[int, bytes]]) -> list[bytes]:
    """Return only the values."""
    return [value for _, value in records]


def assert_quiet(broker: BrokerProcess) -> None:
    """The broker must not have logged anything that it did not foresee."""
    assert "Traceback" not in broker.log, broker.log
    assert "Exception in callback" not in broker.log, broker.log


def when_served(wire: WireClient, topic: str, partition: int = 0) -> None:
    """Wait until a partition answers."""
    eventually(lambda: fetch(wire, topic, 0, partition)["error_code"] == 0, f"{topic}-{partition} is served")


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield offset and value of the records of uncompressed batches; a cut last batch is passed over."""
    position = 0
    while position + _BATCH_HEADER.size <= len(data):
        base_offset, length, *_, count = _BATCH_HEADER.unpack_from(data, position)
        end = position + 12 + length
        if end > len(data):
            return
        at = position + _BATCH_HEADER.size
        for _ in range(count):
            size, at = _varint(data, at)
            stop = at + size
            _, at = _varint(data, at + 1)  # attributes, then the delta of the timestamp
            delta, at = _varint(data, at)
            key, at = _varint(data, at)
            value, at = _varint(data, at + max(key, 0))
            yield base_offset + delta, data[at : at + max(value, 0)]
            at = stop
        position = end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
