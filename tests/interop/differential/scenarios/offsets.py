"""ListOffsets and OffsetForLeaderEpoch."""

from tests.interop.differential.play import Ask, Steps
from tests.interop.differential.prepare import NOW_MS, put, topic
from tests.support.wire import Record, served_versions

TIMESTAMPS = {
    "latest": -1,
    "earliest": -2,
    "highest timestamp": -3,
    "earliest local": -4,
    "latest tiered": -5,
    "earliest pending upload": -6,
    "meaningless": -9,
    "between two": NOW_MS + 1500,
    "of a record": NOW_MS + 2000,
    "before all": NOW_MS - 5,
    "after all": NOW_MS + 99_000,
    "zero": 0,
}


def offsets() -> Steps:
    """Ask five records a second apart, and an empty partition, for every kind of offset."""
    yield from topic("lo", 2)
    for index in range(5):
        yield from put("lo", [Record(b"k", b"v%d" % index)], NOW_MS + index * 1000)
    for version in served_versions("ListOffsets", 1):
        yield from _list(version)
    for version in served_versions("OffsetForLeaderEpoch", 2):
        for epoch in (0, 5, -1):
            asked = [
                {"partition": partition, "current_leader_epoch": -1, "leader_epoch": epoch} for partition in (0, 1, 7)
            ]
            fields = {"replica_id": -1, "topics": [{"topic": "lo", "partitions": asked}]}
            yield Ask(f"end of epoch {epoch}", "OffsetForLeaderEpoch", version, fields)
        stranger = [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]
        fields = {"replica_id": -1, "topics": [{"topic": "lo-none", "partitions": stranger}]}
        yield Ask("epoch of an unknown topic", "OffsetForLeaderEpoch", version, fields)


def _list(version: int) -> Steps:
    def ask(
        label: str, timestamp: int = -1, partition: int = 0, name: str = "lo", epoch: int = -1, **more: object
    ) -> Ask:
        asked = {"partition_index": partition, "timestamp": timestamp, "current_leader_epoch": epoch}
        fields = {"replica_id": -1, "topics": [{"name": name, "partitions": [asked]}], **more}
        return Ask(label, "ListOffsets", version, fields)

    for label, timestamp in TIMESTAMPS.items():
        yield ask(label, timestamp)
    yield ask("empty, latest", -1, partition=1)
    yield ask("empty, earliest", -2, partition=1)
    yield ask("empty, highest timestamp", -3, partition=1)
    yield ask("empty, by time", NOW_MS, partition=1)
    yield ask("unknown partition", partition=8)
    yield ask("unknown topic", name="lo-none")
    yield from _repeated(version)
    if version >= 4:
        yield ask("epoch ahead", epoch=99)
        yield ask("epoch right", epoch=0)
    if version >= 2:
        yield ask("read committed", isolation_level=1)


def _repeated(version: int) -> Steps:
    def ask(label: str, *topics: tuple[str, list[tuple[int, int]]]) -> Ask:
        wanted = [
            {
                "name": name,
                "partitions": [
                    {"partition_index": index, "timestamp": timestamp, "current_leader_epoch": -1}
                    for index, timestamp in places
                ],
            }
            for name, places in topics
        ]
        return Ask(label, "ListOffsets", version, {"replica_id": -1, "topics": wanted})

    yield ask("twice", ("lo", [(0, -1), (1, -1), (0, -2)]))
    yield ask("thrice", ("lo", [(0, -1), (0, -2), (0, -1)]))
    yield ask("twice in two topics", ("lo", [(0, -1)]), ("lo", [(0, -1), (1, -1)]))
    yield ask("topic twice", ("lo", [(0, -1)]), ("lo", [(1, -1)]))
    yield ask("unknown twice", ("lo-none", [(0, -1), (0, -1)]), ("lo", [(9, -1), (9, -1)]))
    yield ask("no partitions", ("lo", []), ("lo-none", []))
    yield ask("no topics")
