"""Metadata, DescribeCluster and DescribeTopicPartitions."""

import uuid

from tests.interop.differential.play import Ask, Steps
from tests.interop.differential.prepare import topic
from tests.support.wire import served_versions

NAMES = {"a topic": "md", "an invalid name": "a b", "an empty name": ""}


def metadata() -> Steps:
    """Ask for topics by name and id, for none, and for the cluster."""
    topic_id = yield from topic("md", 3)
    for version in served_versions("Metadata"):
        yield from _topics(version, topic_id)
    for version in served_versions("DescribeCluster"):
        fields = {"include_cluster_authorized_operations": True, "endpoint_type": 1}
        yield Ask("cluster", "DescribeCluster", version, fields)
    yield from _partitions()


def _topics(version: int, topic_id: uuid.UUID) -> Steps:
    asked = {"allow_auto_topic_creation": False}
    if version >= 8:
        asked["include_topic_authorized_operations"] = True
    if 8 <= version <= 10:
        asked["include_cluster_authorized_operations"] = True
    for label, name in NAMES.items():
        yield Ask(label, "Metadata", version, {"topics": [{"name": name}], **asked})
    missing = {"name": f"md-none{version}"}  # versions below 4 create it, so each needs its own
    yield Ask("a missing topic", "Metadata", version, {"topics": [missing], **asked})
    if version >= 4:
        yield Ask("two topics", "Metadata", version, {"topics": [{"name": "md"}, missing], **asked})
    if version >= 1:
        yield Ask("no topics", "Metadata", version, {"topics": [], **asked})
    if version >= 10:
        yield Ask("by id", "Metadata", version, {"topics": [{"name": None, "topic_id": topic_id}], **asked})
        unknown = {"name": None, "topic_id": uuid.UUID(int=77)}
        yield Ask("by unknown id", "Metadata", version, {"topics": [unknown], **asked})
        yield from _names_and_ids(version, topic_id)


def _names_and_ids(version: int, topic_id: uuid.UUID) -> Steps:
    by_id, by_name = {"name": None, "topic_id": topic_id}, {"name": "md"}
    new = {"name": f"md-new{version}"}
    mixed = {
        "name with its id": [{"name": "md", "topic_id": topic_id}],
        "name with an unknown id": [{"name": "md", "topic_id": uuid.UUID(int=77)}],
        "name and id": [by_name, by_id],
        "missing name and id": [new, by_id],
        "empty name and id": [{"name": ""}, by_id],
        "id twice": [by_id, by_id],
        "name twice": [by_name, by_name],
        "neither": [{"name": None}],
        "neither, and a name": [{"name": None}, by_name],
        "neither, and an id": [{"name": None}, by_id],
    }
    for label, topics in mixed.items():
        yield Ask(label, "Metadata", version, {"topics": topics, "allow_auto_topic_creation": True})
    yield Ask(f"not created {version}", "Metadata", 9, {"topics": [new], "allow_auto_topic_creation": False})


def _partitions() -> Steps:
    def describe(label: str, *names: str, limit: int = 2000, **fields: object) -> Ask:
        topics = [{"name": name} for name in names]
        return Ask(label, "DescribeTopicPartitions", 0, {"topics": topics, "response_partition_limit": limit, **fields})

    yield describe("all partitions", "md")
    yield describe("first two", "md", "md-none", limit=2)
    yield describe("from a cursor", "md", cursor={"topic_name": "md", "partition_index": 1})
    yield describe("missing", "md-none")
    yield describe("invalid name", "a b")
    yield describe("one twice", "md", "md")
    yield describe("empty name", "")
    yield describe("empty name and another", "", "md")
    cursors = [("", 0), ("a", 0), ("md", 2), ("md", 3), ("md", -1), ("zz", 0)]
    for name, index in cursors:
        for names in (("",), ("", "md"), ("md", "md-none"), ("md",)):
            for limit in (2000, 1, 0):
                cursor = {"topic_name": name, "partition_index": index}
                yield describe(f"{names} from {name!r} {index}, {limit}", *names, limit=limit, cursor=cursor)
