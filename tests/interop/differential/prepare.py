"""Steps that bring a broker to where a scenario starts: topics that are ready, records in them."""

import time
import uuid
from collections.abc import Generator, Sequence

from tests.interop.differential.play import Step, Until
from tests.support.wire import BatchFields, Message, Record, build_batch

NOW_MS = int(time.time() * 1000) - 60_000
"""One time for all records of a run, so that both brokers get the same bytes."""

NO_ID = uuid.UUID(int=0)
NO_EPOCH = {"current_leader_epoch": -1}


def topic(name: str, partitions: int = 1, **config: object) -> Generator[Step, Message, uuid.UUID]:
    """Create a topic that node 1 has, wait until each partition's leader answers, and return the topic's id."""
    configs = [{"name": key.replace("_", "."), "value": str(value)} for key, value in config.items()]
    here = [{"partition_index": index, "broker_ids": [1]} for index in range(partitions)]
    new = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": here, "configs": configs}
    yield Until("CreateTopics", 7, {"timeout_ms": 8000, "topics": [new]}, lambda answer: True)
    described = yield Until(
        "Metadata", 12, {"topics": [{"name": name}], "allow_auto_topic_creation": False}, _has_leaders
    )
    latest = [{"partition_index": index, "timestamp": -1, **NO_EPOCH} for index in range(partitions)]
    yield Until("ListOffsets", 5, {"replica_id": -1, "topics": [{"name": name, "partitions": latest}]}, _is_served)
    topic_id = described["topics"][0]["topic_id"]
    assert isinstance(topic_id, uuid.UUID)
    return topic_id


def put(
    name: str, records: Sequence[Record], timestamp: int = NOW_MS, partition: int = 0
) -> Generator[Step, Message, None]:
    """Produce one batch and wait until it is appended."""
    batch = build_batch(records, BatchFields(timestamp=timestamp))
    data = [{"name": name, "partition_data": [{"index": partition, "records": batch}]}]
    yield Until("Produce", 11, {"acks": -1, "timeout_ms": 5000, "topic_data": data}, _is_appended)


def _has_leaders(answer: Message) -> bool:
    [found] = answer["topics"]
    return found["error_code"] == 0 and all(partition["leader_id"] >= 0 for partition in found["partitions"])


def _is_served(answer: Message) -> bool:
    return not any(partition["error_code"] for partition in answer["topics"][0]["partitions"])


def _is_appended(answer: Message) -> bool:
    return not answer["responses"][0]["partition_responses"][0]["error_code"]
