"""What the tests of a directory that changes hands ask of whoever serves it, and do to it, over the wire.

Only requests that odradek and Apache Kafka of every version since 2.8 answer alike.
"""

import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.broker import BrokerProcess, run_java
from tests.support.waiting import eventually
from tests.support.wire import WireClient, error_code
from tests.support.wire.batches import BatchFields, Record, build_batch

NOT_YET = {
    error_code(name)
    for name in (
        "COORDINATOR_LOAD_IN_PROGRESS",
        "NOT_COORDINATOR",
        "COORDINATOR_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "CONCURRENT_TRANSACTIONS",
    )
}
OFFSETS = "__consumer_offsets"
ALL_BYTES = 50 << 20
TRANSACTIONAL = 0x10


class Partition(NamedTuple):
    """What readers see of a partition."""

    start: int
    end: int
    stable_end: int
    """Where readers of committed data stop for now."""
    records: bytes


class Served(NamedTuple):
    """What a broker says of everything but groups: the same, whoever serves it."""

    ids: dict[str, str]
    configs: dict[str, dict[str, str]]
    partitions: dict[tuple[str, int], Partition]


class Producer(NamedTuple):
    """A producer id, and the epoch to write with."""

    producer_id: int
    epoch: int


NOBODY = Producer(-1, -1)
"""A producer that is not idempotent."""


def ask(broker: BrokerProcess, api: str, version: int, **fields: object) -> dict[str, Any]:
    """Ask once on a connection of its own."""
    with WireClient(broker.port) as wire:
        return wire.ask(api, version, **fields)


def _once_served(broker: BrokerProcess, api: str, version: int, **fields: object) -> dict[str, Any]:
    """Ask until nobody says "not yet": an answer may have its errors at any depth."""

    def answer() -> dict[str, Any] | None:
        found = ask(broker, api, version, **fields)
        return None if _errors(found) & NOT_YET else found

    found = eventually(answer, f"{api} is served\n{broker.log[-3000:]}", 60)
    assert found is not None
    return found


def _errors(answer: object) -> set[int]:
    if isinstance(answer, dict):
        found = {answer["error_code"]} if answer.get("error_code") else set()
        return found.union(*map(_errors, answer.values())) if answer else found
    return set[int]().union(*map(_errors, answer)) if isinstance(answer, list) else set()


def served(broker: BrokerProcess, *hidden: str) -> Served:
    """Return all topics with ids, configs and content; internal ones and `hidden` ones without their content."""
    answer = _once_served(broker, "Metadata", 10, topics=None, allow_auto_topic_creation=False)
    topics = {topic["name"]: topic for topic in answer["topics"] if topic["name"] not in hidden}
    return Served(
        {name: str(topic["topic_id"]) for name, topic in topics.items()},
        _configs(broker, sorted(topics)),
        {
            (name, place["partition_index"]): partition(broker, name, place["partition_index"])
            for name, topic in sorted(topics.items())
            if not topic["is_internal"]
            for place in topic["partitions"]
        },
    )


def _configs(broker: BrokerProcess, topics: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the topics' own configs."""
    resources = [{"resource_type": 2, "resource_name": name, "configuration_keys": None} for name in topics]
    return {
        each["resource_name"]: {
            entry["name"]: entry["value"] for entry in each["configs"] if entry["config_source"] == 1
        }
        for each in ask(broker, "DescribeConfigs", 4, resources=resources)["results"]
    }


def _partitions(broker: BrokerProcess, topic: str) -> list[dict[str, Any]]:
    """Return what is told of the partitions of a topic, nothing if there is no such topic."""
    answer = ask(broker, "Metadata", 10, topics=[{"name": topic}], allow_auto_topic_creation=False)
    partitions: list[dict[str, Any]] = answer["topics"][0]["partitions"]
    return partitions


def start_of(broker: BrokerProcess, topic: str, index: int) -> int:
    """Return where a partition begins, which retention may move on at any time."""
    return _offset(broker, topic, index, -2)


def partition(broker: BrokerProcess, topic: str, index: int) -> Partition:
    """Return what readers see of a partition, of which nothing is deleted meanwhile."""
    start, end = start_of(broker, topic, index), _offset(broker, topic, index, -1)
    at, records = start, b""
    while at < end:
        part = fetch(broker, topic, index, at)["records"]
        at = _end_of(part)
        records += part
    return Partition(start, end, _offset(broker, topic, index, -1, 1), records)


def _end_of(batches: bytes) -> int:
    """Return the offset after the last batch."""
    position = following = 0
    while position < len(batches):
        base, size = struct.unpack_from(">qi", batches, position)
        following = base + struct.unpack_from(">i", batches, position + 23)[0] + 1
        position += size + 12
    return following


def _offset(broker: BrokerProcess, topic: str, index: int, timestamp: int, isolation: int = 0) -> int:
    place = {"partition_index": index, "timestamp": timestamp, "current_leader_epoch": -1}
    topics = [{"name": topic, "partitions": [place]}]
    answer = _once_served(broker, "ListOffsets", 5, replica_id=-1, isolation_level=isolation, topics=topics)
    offset: int = answer["topics"][0]["partitions"][0]["offset"]
    return offset


def fetch(broker: BrokerProcess, topic: str, index: int, offset: int, isolation: int = 0) -> dict[str, Any]:
    """Fetch everything from an offset on."""
    place = {
        "partition": index,
        "fetch_offset": offset,
        "partition_max_bytes": ALL_BYTES,
        "current_leader_epoch": -1,
        "log_start_offset": -1,
    }
    answer = _once_served(
        broker,
        "Fetch",
        11,
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=ALL_BYTES,
        isolation_level=isolation,
        session_epoch=-1,
        topics=[{"topic": topic, "partitions": [place]}],
    )
    fetched: dict[str, Any] = answer["responses"][0]["partitions"][0]
    assert fetched["error_code"] == 0, fetched
    return fetched


def leader_epoch(broker: BrokerProcess, topic: str) -> int:
    """Return the leader epoch of partition 0."""
    answer = _once_served(broker, "Metadata", 10, topics=[{"name": topic}], allow_auto_topic_creation=False)
    epoch: int = answer["topics"][0]["partitions"][0]["leader_epoch"]
    return epoch


def create(broker: BrokerProcess, topic: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic; underscores in the names of configs stand for dots."""
    entries = [{"name": name.replace("_", "."), "value": value} for name, value in configs.items()]
    new = {"name": topic, "num_partitions": partitions, "replication_factor": 1, "configs": entries}
    [answer] = ask(broker, "CreateTopics", 5, timeout_ms=8000, topics=[new])["topics"]
    assert answer["error_code"] == 0, answer


def delete(broker: BrokerProcess, topic: str) -> None:
    """Delete a topic."""
    [answer] = ask(broker, "DeleteTopics", 5, topic_names=[topic], timeout_ms=8000)["responses"]
    assert answer["error_code"] == 0, answer
    eventually(lambda: not _partitions(broker, topic), f"topic {topic} is no longer told", 60)


def alter(broker: BrokerProcess, topic: str, name: str, value: str) -> None:
    """Set a config of a topic."""
    config = {"name": name, "config_operation": 0, "value": value}
    resource = {"resource_type": 2, "resource_name": topic, "configs": [config]}
    [answer] = ask(broker, "IncrementalAlterConfigs", 1, resources=[resource])["responses"]
    assert answer["error_code"] == 0, answer
    eventually(lambda: _configs(broker, [topic])[topic].get(name) == value, f"{name} of {topic} is told", 60)


def add_partitions(broker: BrokerProcess, topic: str, count: int) -> None:
    """Let a topic have this many partitions."""
    [answer] = ask(
        broker, "CreatePartitions", 2, topics=[{"name": topic, "count": count, "assignments": None}], timeout_ms=8000
    )["results"]
    assert answer["error_code"] == 0, answer
    eventually(lambda: len(_partitions(broker, topic)) == count, f"{count} partitions of {topic} are told", 60)


def produce(
    broker: BrokerProcess,
    topic: str,
    values: Sequence[bytes],
    producer: Producer = NOBODY,
    sequence: int = -1,
    transactional_id: str | None = None,
    timestamp: int | None = None,
) -> tuple[int, int]:
    """Append a batch to partition 0, all with one key; return error code and base offset."""
    fields = BatchFields(
        timestamp=timestamp,
        attributes=0 if transactional_id is None else TRANSACTIONAL,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
    )
    batch = build_batch([Record(b"k", value) for value in values], fields)
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    answer = _once_served(
        broker, "Produce", 7, transactional_id=transactional_id, acks=-1, timeout_ms=8000, topic_data=data
    )
    [appended] = answer["responses"][0]["partition_responses"]
    return appended["error_code"], appended["base_offset"]


def new_producer(broker: BrokerProcess, transactional_id: str | None = None) -> Producer:
    """Get a producer id; a transactional one ends what its predecessor left open."""
    if transactional_id is not None:
        _once_served(broker, "FindCoordinator", 2, key=transactional_id, key_type=1)
    answer = _once_served(
        broker, "InitProducerId", 1, transactional_id=transactional_id, transaction_timeout_ms=900_000
    )
    assert answer["error_code"] == 0, answer
    return Producer(answer["producer_id"], answer["producer_epoch"])


def begin(broker: BrokerProcess, transactional_id: str, producer: Producer, topic: str) -> None:
    """Let a transaction write to partition 0 of a topic."""
    answer = _once_served(
        broker,
        "AddPartitionsToTxn",
        3,
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[{"name": topic, "partitions": [0]}],
    )
    assert not _errors(answer), answer


def end(broker: BrokerProcess, transactional_id: str, producer: Producer, committed: bool) -> None:
    """End a transaction."""
    answer = _once_served(
        broker,
        "EndTxn",
        3,
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=committed,
    )
    assert answer["error_code"] == 0, answer


def commit(broker: BrokerProcess, group: str, topic: str, offset: int) -> None:
    """Commit an offset in partition 0, as a consumer without a group does."""
    _once_served(broker, "FindCoordinator", 2, key=group, key_type=0)
    places = [
        {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": "m"}
    ]
    topics = [{"name": topic, "partitions": places}]
    answer = _once_served(
        broker, "OffsetCommit", 7, group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics
    )
    assert not _errors(answer), answer


def committed(broker: BrokerProcess, group: str) -> dict[tuple[str, int], int]:
    """Return all that a group has committed."""
    answer = _once_served(broker, "OffsetFetch", 5, group_id=group, topics=None)
    return {
        (topic["name"], place["partition_index"]): place["committed_offset"]
        for topic in answer["topics"]
        for place in topic["partitions"]
    }


def inspect(files: Sequence[Path], *options: str) -> str:
    """Let Apache Kafka's DumpLogSegments read files; it must find nothing to complain of."""
    dumped = run_java(
        "org.apache.kafka.tools.DumpLogSegments", "--files", ",".join(map(str, files)), *options
    ).stdout.decode()
    complaints = "isvalid: false|[Mm]ismatch|Non-consecutive|Found|[Ii]nvalid|[Cc]orrupt|Exception|out of order"
    wrong = re.findall(f"^.*(?:{complaints}).*$", dumped, re.MULTILINE)
    assert not wrong, "\n".join(wrong[:10])
    return dumped
