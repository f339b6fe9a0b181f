"""CreateTopics: names, counts, placements and configs, right and wrong, at every version."""

from tests.interop.differential.play import Ask, Steps
from tests.support.wire import served_versions

BAD_NAMES = ("", ".", "..", "a b", "x" * 250, "a/b", "ü")


def topics() -> Steps:
    """Ask for topics that can be created and for all the kinds that cannot."""
    for version in served_versions("CreateTopics"):
        yield from _one_by_one(version, f"ct{version}")
        yield from _several(version, f"ct{version}")


def _one_by_one(version: int, name: str) -> Steps:
    def create(label: str, **changed: object) -> Ask:
        topic = {"name": name, "num_partitions": 2, "replication_factor": 1, **changed}
        return Ask(label, "CreateTopics", version, {"timeout_ms": 8000, "topics": [topic]})

    def placed(label: str, *replicas: tuple[int, list[int]], **changed: object) -> Ask:
        assignments = [{"partition_index": index, "broker_ids": brokers} for index, brokers in replicas]
        counts = {"num_partitions": -1, "replication_factor": -1}
        return create(
            label, **{"name": f"{name}-{label.replace(' ', '-')}", **counts, "assignments": assignments, **changed}
        )

    def configured(label: str, key: str, value: str | None) -> Ask:
        return create(label, name=f"{name}-{label.replace(' ', '-')}", configs=[{"name": key, "value": value}])

    yield create("valid")
    yield create("exists")
    for bad in BAD_NAMES:
        yield create(f"name {bad[:4]!r}", name=bad)
    yield create("no partitions", name=f"{name}-none", num_partitions=0)
    yield create("default partitions", name=f"{name}-default", num_partitions=-1)
    yield create("two replicas", name=f"{name}-two", replication_factor=2)
    yield create("no replicas", name=f"{name}-zero", replication_factor=0)
    yield create("default replicas", name=f"{name}-minus", replication_factor=-1)
    yield configured("unknown config", "no.such", "1")
    yield configured("bad config", "retention.ms", "soon")
    yield configured("small segment", "segment.bytes", "10")
    yield configured("null config", "retention.ms", None)
    yield configured("good config", "retention.ms", "1000")
    yield placed("placed", (0, [1]), (1, [1]))
    yield placed("placed and counted", (0, [1]), num_partitions=2, replication_factor=1)
    yield placed("placed with a gap", (1, [1]))
    yield placed("placed on a stranger", (0, [7]))
    yield placed("placed twice", (0, [1, 1]))
    yield placed("placed nowhere", (0, []))
    yield create("with a dot", name=f"{name}-col.x")
    yield create("colliding with a dot", name=f"{name}-col_x")


def _several(version: int, name: str) -> Steps:
    def create(label: str, *topics: str, **fields: object) -> Ask:
        wanted = [{"name": each, "num_partitions": 1, "replication_factor": 1} for each in topics]
        return Ask(label, "CreateTopics", version, {"timeout_ms": 8000, "topics": wanted, **fields})

    yield create("twice in one request", f"{name}-tw", f"{name}-tw")
    yield create("one good, one bad", f"{name}-good", "a b")
    yield create("nothing")
    if version >= 1:
        yield create("validate", f"{name}-only", validate_only=True)
        yield create("validate what exists", name, validate_only=True)
        yield create("validated was not created", f"{name}-only")
