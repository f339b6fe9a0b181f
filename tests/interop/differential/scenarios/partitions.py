"""CreatePartitions, DeleteTopics and InitProducerId."""

import uuid

from tests.interop.differential.play import Ask, Steps, Until
from tests.interop.differential.prepare import topic
from tests.support.wire import served_versions


def partitions() -> Steps:
    """Add partitions, delete topics, ask for producer ids."""
    for version in served_versions("CreatePartitions"):
        yield from _grow(version)
    for version in served_versions("DeleteTopics", 1):
        yield from _delete(version)
    yield from _gone()
    yield from _producer_ids()


def _producer_ids() -> Steps:
    fields = {"transaction_timeout_ms": 60000, "producer_id": -1, "producer_epoch": -1}
    wanted = {"transactional_id": None, **fields}
    yield Until("InitProducerId", 4, wanted, lambda answer: answer["error_code"] == 0)
    for version in served_versions("InitProducerId"):  # with one that only an unstable feature would open
        yield Ask("idempotent", "InitProducerId", version, wanted)
        yield Ask("empty transactional id", "InitProducerId", version, {"transactional_id": "", **fields})


def _grow(version: int) -> Steps:
    name = f"cp{version}"
    yield from topic(name, 2)

    def grow(label: str, count: int, *replicas: list[int], of: str = name, validate_only: bool = False) -> Ask:
        assignments = [{"broker_ids": brokers} for brokers in replicas] or None
        wanted = {"name": of, "count": count, "assignments": assignments}
        fields = {"timeout_ms": 5000, "validate_only": validate_only, "topics": [wanted]}
        return Ask(label, "CreatePartitions", version, fields)

    yield grow("validate", 5, validate_only=True)
    yield grow("grow", 4)
    yield grow("the same", 4)
    yield grow("shrink", 1)
    yield grow("to nothing", 0)
    yield grow("negative", -1)
    yield grow("unknown topic", 4, of="cp-none")
    yield grow("placed", 5, [1])
    yield grow("too few placed", 8, [1])
    yield grow("placed on a stranger", 6, [9])
    yield grow("placed twice", 6, [1, 1])
    twice = {"name": name, "count": 7, "assignments": None}
    yield Ask("twice in one request", "CreatePartitions", version, {"timeout_ms": 5000, "topics": [twice, twice]})


def _delete(version: int) -> Steps:
    first, second = f"dt{version}a", f"dt{version}b"
    yield from topic(first)
    second_id = yield from topic(second)
    if version < 6:

        def by_name(label: str, *names: str) -> Ask:
            return Ask(label, "DeleteTopics", version, {"timeout_ms": 5000, "topic_names": list(names)})

        yield by_name("one", first)
        yield by_name("again", first)
        yield by_name("one and an unknown", second, "dt-none")
        return

    def delete(label: str, name: str | None, topic_id: uuid.UUID | None = None) -> Ask:
        wanted = {"name": name} if topic_id is None else {"name": name, "topic_id": topic_id}
        return Ask(label, "DeleteTopics", version, {"timeout_ms": 5000, "topics": [wanted]})

    yield delete("by name", first)
    yield delete("by id", None, second_id)
    yield delete("by unknown id", None, uuid.UUID(int=3))
    yield delete("by name and id", "x", uuid.UUID(int=3))
    yield delete("by neither", None)
    yield delete("by unknown name", "dt-none")


def _gone() -> Steps:
    fields = {"topics": [{"name": "dt6a"}], "allow_auto_topic_creation": False}
    yield Until("Metadata", 12, fields, lambda answer: answer["topics"][0]["error_code"] != 0)
    yield Ask("deleted", "Metadata", 12, fields)
