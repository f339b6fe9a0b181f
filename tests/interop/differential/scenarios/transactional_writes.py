"""Partitions in transactions: what is written to them, what ends there, and what readers of them see."""

from collections.abc import Sequence
from functools import partial

from tests.interop.differential.play import Ask, Steps, Tell, Until
from tests.interop.differential.prepare import NOW_MS, put, topic
from tests.interop.differential.scenarios.groups import ready
from tests.interop.differential.transactional import (
    Producer,
    added,
    batch,
    begin,
    coordinated,
    describe,
    describe_producers,
    ended,
    fetch,
    initialised,
    producing,
    settled,
    written,
)
from tests.support.wire import BatchFields, Message, Record, build_batch, served_versions

FIRST_THAT_ADDS = 12
FIRST_BY_ID = 13
PLAIN = 0
LONG_MS = 900_000
"""A transaction that nobody ends while the brokers are compared."""
AHEAD_MS = 3_600_000
"""Later than every marker, and not yet too far in the future: tests have run for a minute to an hour since NOW_MS."""


def transactional_writes() -> Steps:
    """Batches with and without a transaction around them, at every version of Produce that knows transactions."""
    yield from coordinated()
    for version in served_versions("Produce", 3):
        yield from _writing(version)
    yield from _beginning_over_an_open_one()


def markers() -> Steps:
    """Ends of transactions written by hand: early, late, twice, for strangers, and where brokers stamp the time."""
    yield from coordinated()
    yield from ready()
    for version in served_versions("WriteTxnMarkers", 1):
        yield from _marking(version)


def committed_reads() -> Steps:
    """Partitions with open, aborted and committed transactions, read at every version of Fetch and ListOffsets."""
    yield from coordinated()
    topic_id = yield from topic("tr", 4)
    here = {"topic": "tr", "topic_id": topic_id}
    aborting = yield from initialised("tr-aborting")
    committing = yield from initialised("tr-committing")
    lasting = yield from initialised("tr-lasting", transaction_timeout_ms=LONG_MS)
    # 0: an open one; 1: an aborted one; 2: aborted, committed, plain and open ones, entangled; 3: open, nothing written
    yield from added(aborting, ("tr", [1, 2]))
    yield from added(committing, ("tr", [2]))
    yield from added(lasting, ("tr", [0, 2, 3]))
    yield from put("tr", [Record(b"k", b"plain")])
    yield from written(lasting, "tr", 0, 0)
    yield from written(aborting, "tr", 1, 0)
    for sequence in range(2):
        yield from written(aborting, "tr", 2, sequence)
        yield from written(committing, "tr", 2, sequence)
    aborting = yield from ended(aborting, False)
    yield from put("tr", [Record(b"k", b"plain")], partition=2)
    yield from added(aborting, ("tr", [2]))
    yield from written(aborting, "tr", 2, 2)
    committing = yield from ended(committing, True)
    yield from written(lasting, "tr", 2, 0)
    aborting = yield from ended(aborting, False)
    # The newest by far: of markers nobody knows which ones have the same millisecond.
    yield from put("tr", [Record(b"k", b"plain")], NOW_MS + AHEAD_MS, partition=2)
    for version in served_versions("Fetch", 4):
        for partition in range(4):
            for offset in (0, 3, 6) if partition == 2 else (0, 1):
                yield fetch(f"committed of {partition} from {offset}", version, here, partition, offset)
        yield fetch("all from 0", version, here, 2, isolation=0)
    for version in served_versions("ListOffsets", 2):
        for isolation in (0, 1):
            for timestamp in (-1, -2, -3, NOW_MS, NOW_MS + 1, NOW_MS + AHEAD_MS - 1):
                asked = [
                    {"partition_index": index, "timestamp": timestamp, "current_leader_epoch": -1} for index in range(4)
                ]
                fields = {
                    "replica_id": -1,
                    "isolation_level": isolation,
                    "topics": [{"name": "tr", "partitions": asked}],
                }
                name = timestamp if timestamp < 0 else f"now + {timestamp - NOW_MS}"
                yield Ask(f"{name}, isolation {isolation}", "ListOffsets", version, fields)


def _writing(version: int) -> Steps:
    name = f"tw{version}"
    topic_id = yield from topic(name, 4)
    where = {"name": name, "topic_id": topic_id}
    fetched = {"topic": name, "topic_id": topic_id}
    yield from initialised(name)
    producer = yield from initialised(name)

    def send(label: str, *places: tuple[int, bytes], who: str | None = name, acks: int = -1) -> Ask:
        return Ask(label, "Produce", version, producing(who, where, *places, acks=acks))

    def one(label: str, who: Producer, sequence: int, partition: int = 0, attributes: int = 0x10) -> Ask:
        return send(label, (partition, batch(who, sequence, attributes)), who=who.transactional_id)

    yield one("partition that is not added", producer, 0, 1)
    yield describe(f"not added {version}", name)
    yield from added(producer, (name, [0]))
    yield one("another id", producer._replace(transactional_id="nobody"), 0)
    yield one("empty id", producer._replace(transactional_id=""), 0)
    yield send("no id", (0, batch(producer, 0)), who=None)
    yield one("another producer", producer.other(), 0)
    yield one("old epoch", producer.at(-1), 0)
    yield one("newer epoch", producer.at(producer.epoch + 1), 0)
    yield one("not from the first sequence", producer, 5)
    yield describe_producers(f"refused {version}", name, [0])
    yield one("first", producer, 0)
    yield one("first again", producer, 0)
    yield one("second", producer, 1)
    yield one("gap", producer, 9)
    yield one("not transactional", producer, 2, attributes=PLAIN)
    yield one("not transactional, newer epoch", producer.at(producer.epoch + 1), 0, attributes=PLAIN)
    yield send("nobody's", (0, build_batch([Record(b"k", b"1")], BatchFields(timestamp=NOW_MS))), who=None)
    yield send("transactional of nobody", (0, _of_nobody()))
    yield one("unknown partition", producer, 0, 9)
    yield send("one that is added, one that is not, one unknown", *_each(producer, {0: 2, 2: 0, 9: 0}))
    yield send("of two producers", (0, batch(producer, 3)), (1, batch(producer.other(), 0)))
    yield send("one is not transactional", (0, batch(producer, 3)), (3, batch(producer, 0, PLAIN)))
    yield send("acks 1", (0, batch(producer, 4)), acks=1)
    yield Tell("Produce", version, producing(name, where, (0, batch(producer, 5)), acks=0))
    open_ones = {"topics": [{"name": name, "partition_indexes": [0]}]}
    yield Until("DescribeProducers", 0, open_ones, lambda answer: _last_sequence(answer) == 5)
    yield describe_producers(f"open {version}", name, [0, 1, 2, 3])
    yield describe(f"open {version}", name)
    yield fetch(f"open {version}", 12, fetched, 0)
    yield one("older epoch, open", producer.at(producer.epoch - 1), 6)
    yield one("newer epoch, open", producer.at(producer.epoch + 1), 0)
    yield one("after a newer epoch was refused", producer, 6)
    following = yield from ended(producer, True, 5 if version >= FIRST_THAT_ADDS else 3)
    yield describe_producers(f"committed {version}", name, [0, 1, 2])
    yield fetch(f"committed {version}", 12, fetched, 0)
    yield one("after the commit, old epoch", producer, 7)
    yield one("after the commit", following, 0 if version >= FIRST_THAT_ADDS else 7)
    yield one("not transactional after the commit", following, 1, 2, PLAIN)
    yield describe(f"after the commit {version}", name)
    if version < FIRST_THAT_ADDS:
        yield from added(following, (name, [0]))
    yield one("of the next transaction", following, 1 if version >= FIRST_THAT_ADDS else 7)
    yield describe_producers(f"open again {version}", name, [0])
    yield from ended(following, False, 5 if version >= FIRST_THAT_ADDS else 3)
    yield describe_producers(f"aborted {version}", name, [0])
    for isolation in (0, 1):
        yield fetch(f"aborted {version}, {isolation}", 12, fetched, 0, isolation=isolation)


def _each(producer: Producer, sequences: dict[int, int]) -> Sequence[tuple[int, bytes]]:
    return [(partition, batch(producer, sequence)) for partition, sequence in sequences.items()]


def _of_nobody() -> bytes:
    return build_batch([Record(b"k", b"1")], BatchFields(timestamp=NOW_MS, attributes=0x10))


def _last_sequence(answer: Message) -> object:
    return max((each["last_sequence"] for each in answer["topics"][0]["partitions"][0]["active_producers"]), default=-1)


def _beginning_over_an_open_one() -> Steps:
    topic_id = yield from topic("tb")
    producer = yield from initialised("tb")
    yield from added(producer, ("tb", [0]))
    yield from written(producer, "tb", 0, 0)
    yield Ask("over an open one", "InitProducerId", 4, begin("tb"))
    yield from settled("tb")
    yield describe("begun over an open one", "tb")
    yield describe_producers("begun over an open one", "tb", [0])
    zombie = producing("tb", {"name": "tb"}, (0, batch(producer, 1)))
    yield Ask("zombie", "Produce", 11, zombie)
    yield Ask("zombie that adds", "Produce", 12, zombie)
    yield fetch("begun over an open one", 12, {"topic": "tb", "topic_id": topic_id}, 0)
    following = yield from initialised("tb")
    yield describe("begun again", "tb")
    yield Ask("of the new epoch", "Produce", 12, producing("tb", {"name": "tb"}, (0, batch(following, 0))))
    yield describe_producers("of the new epoch", "tb", [0])


def _mark(version: int, label: str, *wanted: Message) -> Ask:
    return Ask(label, "WriteTxnMarkers", version, {"markers": list(wanted)})


def _marker(
    topic_name: str,
    producer: Producer,
    *partitions: int,
    coordinator_epoch: int = 0,
    is_commit: bool = True,
    **more: object,
) -> Message:
    return {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "transaction_result": is_commit,
        "coordinator_epoch": coordinator_epoch,
        "transaction_version": 0,
        "topics": [{"name": topic_name, "partition_indexes": partitions}],
        **more,
    }


def _marking(version: int) -> Steps:
    name, stamped = f"tm{version}", f"tm{version}-stamped"
    topic_id = yield from topic(name, 5)
    stamped_id = yield from topic(stamped, message_timestamp_type="LogAppendTime")
    stranger = Producer("", 800_000 + version, 4)
    yield from _marking_without_transaction(version, name, topic_id, stranger)
    yield from _marking_transactions(version, (name, topic_id), (stamped, stamped_id), stranger)


def _marking_without_transaction(version: int, name: str, topic_id: object, stranger: Producer) -> Steps:
    mark, marker = partial(_mark, version), partial(_marker, name)
    yield mark("none")
    yield mark("no partitions", marker(stranger))
    yield mark("no topics", marker(stranger, topics=[]))
    yield mark("unknown partitions", marker(stranger, 9, -1))
    yield mark("unknown topic", marker(stranger, topics=[{"name": "tm-none", "partition_indexes": [0]}]))
    yield mark("bad names", marker(stranger, topics=[{"name": "a b", "partition_indexes": [0]}]))
    yield mark("stranger", marker(stranger, 1))
    yield mark("stranger again", marker(stranger, 1))
    yield mark("stranger, older epoch", marker(stranger.at(3), 1))
    yield mark("stranger, newer epoch", marker(stranger.at(6), 1, is_commit=False))
    yield mark("stranger, newer coordinator", marker(stranger.at(6), 1, coordinator_epoch=7))
    yield mark("stranger, older coordinator", marker(stranger.at(6), 1, coordinator_epoch=3))
    yield mark("negative", marker(stranger.at(-1), 4, coordinator_epoch=-1))
    yield mark("nobody", marker(Producer("", -1, 0), 4))
    yield mark("producer twice", marker(stranger, 1), marker(stranger, 2))
    yield mark("marker twice", marker(stranger.at(8), 1), marker(stranger.at(8), 1))
    yield mark("both ways", marker(stranger.at(9), 2), marker(stranger.at(9), 2, is_commit=False))
    twice = [{"name": name, "partition_indexes": [index]} for index in (1, 2)]
    yield mark("topic twice", marker(stranger.at(9), topics=twice))
    yield mark("coordinator epoch below none", marker(stranger, 4, coordinator_epoch=-2))
    yield mark("no version", marker(stranger, 4, transaction_version=-1))
    yield describe_producers(f"strangers {version}", name, [1, 4])
    yield fetch(f"of strangers {version}", 12, {"topic": name, "topic_id": topic_id}, 1)
    yield fetch(f"of other strangers {version}", 12, {"topic": name, "topic_id": topic_id}, 2)
    yield fetch(f"of odd strangers {version}", 12, {"topic": name, "topic_id": topic_id}, 4)
    yield mark("of groups", marker(stranger, topics=[{"name": "__consumer_offsets", "partition_indexes": [0, 99]}]))


def _marking_transactions(
    version: int, plain: tuple[str, object], with_append_time: tuple[str, object], stranger: Producer
) -> Steps:
    (name, topic_id), (stamped, stamped_id) = plain, with_append_time
    mark, marker = partial(_mark, version), partial(_marker, name)
    producer = yield from initialised(name, transaction_timeout_ms=LONG_MS)
    yield from initialised(name, transaction_timeout_ms=LONG_MS)
    producer = producer.at(producer.epoch + 1)
    yield from added(producer, (name, [0, 2, 3]), (stamped, [0]))
    for partition in (0, 2, 3):
        yield from written(producer, name, partition, 0)
    yield from written(producer, stamped, 0, 0)
    yield mark("older epoch", marker(producer.at(producer.epoch - 1), 0))
    yield mark("several", marker(producer, 0, 9, is_commit=False), marker(stranger, 1, 0), marker(producer, 2))
    # A partition twice in a marker: Apache Kafka 4.3 never answers, so this cannot be asked of it.
    yield mark("again", marker(producer, 0))
    yield mark("again, the other way", marker(producer, 2, is_commit=False))
    yield describe_producers(f"marked {version}", name, [0, 2, 3])
    for transaction_version in (2, 1, 3, -1):
        for more in (0, 1) if transaction_version >= 0 else (1,):
            label = f"version {transaction_version}, epoch + {more}"
            where = [{"name": name, "partition_indexes": [3]}]
            each = marker(producer.at(producer.epoch + more), transaction_version=transaction_version, topics=where)
            yield mark(label, each)
    yield describe_producers(f"marked with versions {version}", name, [3])
    for partition in (0, 2, 3):
        for isolation in (0, 1):
            label = f"marked {partition}, {version}, {isolation}"
            yield fetch(label, 12, {"topic": name, "topic_id": topic_id}, partition, isolation=isolation)
    yield mark("stamped", marker(producer, topics=[{"name": stamped, "partition_indexes": [0]}]))
    yield fetch(f"stamped {version}", 12, {"topic": stamped, "topic_id": stamped_id}, 0)
