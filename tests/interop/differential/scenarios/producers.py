"""DescribeProducers: what a partition remembers of those that wrote to it."""

from tests.interop.differential.play import Ask, Steps, Until
from tests.interop.differential.prepare import NOW_MS, put, topic
from tests.support.wire import BatchFields, Message, Record, build_batch, served_versions

ONE = [Record(b"a", b"1")]
INTERNAL = "__consumer_offsets"


def producers() -> Steps:
    """Producers without ids, new ones, ones that went on, began again, were refused; topics that are not there."""
    yield from topic("dp", 3)
    yield from put("dp", ONE, partition=1)
    for producer, epoch, sequence in (
        (7001, 0, 0),
        (7001, 0, 1),
        (7002, 3, 0),
        (7002, 4, 0),
        (7003, 0, 5),
        (7003, 0, 9),
    ):
        yield _send(0, producer, epoch, sequence)
    yield _send(2, 7001, 0, 0)
    for version in served_versions("DescribeProducers"):

        def describe(label: str, *topics: tuple[str, list[int]], version: int = version) -> Ask:
            asked = [{"name": name, "partition_indexes": indexes} for name, indexes in topics]
            return Ask(label, "DescribeProducers", version, {"topics": asked})

        yield describe("idempotent producers", ("dp", [0]))
        yield describe("several partitions", ("dp", [2, 0, 1]))
        yield describe("unknown partitions", ("dp", [0, 9, -1]))
        yield describe("unknown topic", ("dp-none", [0]), ("dp", [1]))
        yield describe("bad names", ("a b", [0]), ("", [0]))
        yield describe("twice", ("dp", [0, 0]), ("dp", [0]))
        yield describe("no partitions", ("dp", []))
        yield describe("no topics")
    yield Until("DeleteRecords", 2, _deletion(), _is_deleted)
    yield describe("after all records are deleted", ("dp", [0]))


def _send(partition: int, producer: int, epoch: int, sequence: int) -> Ask:
    fields = BatchFields(
        timestamp=NOW_MS + sequence, producer_id=producer, producer_epoch=epoch, base_sequence=sequence
    )
    data = [{"name": "dp", "partition_data": [{"index": partition, "records": build_batch(ONE, fields)}]}]
    label = f"{producer} epoch {epoch} sequence {sequence} to {partition}"
    return Ask(label, "Produce", 11, {"acks": -1, "timeout_ms": 3000, "topic_data": data})


def _deletion() -> Message:
    return {"timeout_ms": 3000, "topics": [{"name": "dp", "partitions": [{"partition_index": 0, "offset": -1}]}]}


def _is_deleted(answer: Message) -> bool:
    return not answer["topics"][0]["partitions"][0]["error_code"]
