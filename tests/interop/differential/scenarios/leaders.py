"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, UpdateFeatures, UnregisterBroker."""

from tests.interop.differential.play import Ask, Steps
from tests.interop.differential.prepare import topic
from tests.interop.differential.scenarios.groups import ready
from tests.interop.differential.transactional import coordinated
from tests.support.wire import Message, served_versions

NODE = 1


def leaders() -> Steps:
    """Elections and reassignments where there is one broker, so that none of them has anything to do."""
    yield from topic("le", 3)
    yield from ready()  # both internal topics are there, whatever was asked before: answers list all topics
    yield from coordinated()
    for version in served_versions("ElectLeaders"):
        yield from _elect(version)
    for version in served_versions("AlterPartitionReassignments"):
        yield from _reassign(version)
    for version in served_versions("ListPartitionReassignments"):
        for label, topics in (
            ("all", None),
            ("none", []),
            ("some", [{"name": "le", "partition_indexes": [0, 9]}, {"name": "le-none", "partition_indexes": [0]}]),
        ):
            yield Ask(label, "ListPartitionReassignments", version, {"timeout_ms": 8000, "topics": topics})


def features() -> Steps:
    """Levels that cannot be finalized; nothing is changed, since the two clusters begin with different levels."""
    for version in served_versions("UpdateFeatures"):
        for label, update in (
            ("negative", _update("group.version", -1)),
            ("too new", _update("group.version", 99)),
            ("unknown feature", _update("no.such.feature", 1)),
            ("no name", _update("", 1)),
            ("unknown feature off", _update("no.such.feature", 0)),
            ("down as an upgrade", _update("group.version", 0)),
            ("metadata far too new", _update("metadata.version", 99)),
            ("metadata off", _update("metadata.version", 0, 3, downgrade=True)),
            ("metadata of Kafka 3.3", _update("metadata.version", 6, 3, downgrade=True)),
            ("metadata down as an upgrade", _update("metadata.version", 7)),
            ("metadata down, safe", _update("metadata.version", 7, 2, downgrade=True)),
            ("metadata down, unsafe", _update("metadata.version", 7, 3, downgrade=True)),
            ("kind of change unknown", _update("group.version", 1, 9)),
            ("kraft too new", _update("kraft.version", 9)),
        ):
            fields = {"timeout_ms": 8000, "feature_updates": [update], "validate_only": False}
            yield Ask(label, "UpdateFeatures", version, fields)
        same = [_update("group.version", 1), _update("group.version", 1)]
        yield Ask("twice", "UpdateFeatures", version, {"timeout_ms": 8000, "feature_updates": same})
        yield Ask("nothing", "UpdateFeatures", version, {"timeout_ms": 8000, "feature_updates": []})
        mixed = [_update("group.version", 1), _update("no.such.feature", 1), _update("group.version", 99)]
        mixed[2]["feature"] = "transaction.version"
        yield Ask("good and bad", "UpdateFeatures", version, {"timeout_ms": 8000, "feature_updates": mixed})
        dry = {"timeout_ms": 8000, "feature_updates": [_update("group.version", 1)], "validate_only": True}
        yield Ask("the same level, validated", "UpdateFeatures", version, dry)
        kept = {"timeout_ms": 8000, "feature_updates": [_update("group.version", 1)]}
        yield Ask("the same level", "UpdateFeatures", version, kept)
    for broker in (99, -1):
        yield Ask(f"broker {broker}", "UnregisterBroker", 0, {"broker_id": broker})


def _elect(version: int) -> Steps:
    cases: tuple[tuple[str, list[tuple[str, list[int]]]], ...] = (
        ("settled", [("le", [0, 1])]),
        ("unknown", [("le", [0, 7, -1]), ("le-none", [0]), ("", [0])]),
        ("twice", [("le", [0, 0])]),
        ("none", []),
    )
    for kind in (0, 1, 2, -1):
        for label, topics in cases:
            wanted = [{"topic": name, "partitions": indexes} for name, indexes in topics]
            fields = {"election_type": kind, "topic_partitions": wanted, "timeout_ms": 8000}
            yield Ask(f"{label}, kind {kind}", "ElectLeaders", version, fields)
    yield Ask(
        "kind that there is not, all",
        "ElectLeaders",
        version,
        {"election_type": 7, "topic_partitions": None, "timeout_ms": 8000},
    )


def _reassign(version: int) -> Steps:
    for label, replicas in (
        ("as it is", [NODE]),
        ("none", []),
        ("twice", [NODE, NODE]),
        ("unknown broker", [99]),
        ("unknown broker beside", [NODE, 99]),
        ("negative", [-1]),
        ("called off", None),
    ):
        for allowed in (True, False):
            yield _reassignment(f"{label}, {allowed}", version, "le", 0, replicas, allowed=allowed)
    yield _reassignment("unknown partition", version, "le", 9, [NODE])
    yield _reassignment("negative partition", version, "le", -1, [NODE])
    yield _reassignment("unknown topic", version, "le-none", 0, [NODE])
    yield _reassignment("no topic name", version, "", 0, None)
    yield Ask("no topics", "AlterPartitionReassignments", version, {"timeout_ms": 8000, "topics": []})


def _reassignment(
    label: str, version: int, name: str, index: int, replicas: list[int] | None, *, allowed: bool = True
) -> Ask:
    partitions = [{"partition_index": index, "replicas": replicas}]
    topics = [{"name": name, "partitions": partitions}]
    fields = {"timeout_ms": 8000, "allow_replication_factor_change": allowed, "topics": topics}
    return Ask(label, "AlterPartitionReassignments", version, fields)


def _update(feature: str, level: int, kind: int = 1, *, downgrade: bool = False) -> Message:
    return {"feature": feature, "max_version_level": level, "upgrade_type": kind, "allow_downgrade": downgrade}
