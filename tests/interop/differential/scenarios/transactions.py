"""The transaction coordinator: who may begin, add and end, at every version and in every state; and what it tells."""

from collections.abc import Generator, Sequence
from typing import NamedTuple

from tests.interop.differential.play import Ask, Step, Steps, Until
from tests.interop.differential.prepare import topic
from tests.support.wire import Message, served_versions

TIMEOUT_MS = 60_000
NOBODY = {"producer_id": -1, "producer_epoch": -1}
FIRST_OF_BROKERS = 4
FIRST_WITH_BUMPS = 5
FIRST_WITH_PRODUCER = 3

Prepared = Generator[Step, Message, "Producer"]


class Producer(NamedTuple):
    """Who begins, adds and ends."""

    transactional_id: str
    producer_id: int
    epoch: int

    def at(self, epoch: int) -> "Producer":
        """Return the same with another epoch."""
        return self._replace(epoch=epoch)


def transactions() -> Steps:
    """Beginning, adding, ending and looking at transactions, and all that is refused."""
    yield from topic("txn", 3)
    yield from _finding()
    yield from _beginning()
    yield from _adding()
    yield from _adding_offsets()
    yield from _ending()
    yield from _ending_with_bumps()
    yield from _fencing()
    yield from _looking()


# short spellings


def _begin(transactional_id: str | None, **fields: object) -> Message:
    return {"transactional_id": transactional_id, "transaction_timeout_ms": TIMEOUT_MS, **NOBODY, **fields}


def _initialised(transactional_id: str) -> Prepared:
    """Begin, whatever was before; for the preparation alone."""
    answer = yield Until("InitProducerId", 4, _begin(transactional_id), lambda told: not told["error_code"])
    producer_id, epoch = answer["producer_id"], answer["producer_epoch"]
    assert isinstance(producer_id, int)
    assert isinstance(epoch, int)
    return Producer(transactional_id, producer_id, epoch)


def _partitions(producer: Producer, version: int, topics: Sequence[tuple[str, list[int]]], verify: bool) -> Message:
    named = [{"name": name, "partitions": indexes} for name, indexes in topics]
    if version < FIRST_OF_BROKERS:
        return {
            "v3_and_below_transactional_id": producer.transactional_id,
            "v3_and_below_producer_id": producer.producer_id,
            "v3_and_below_producer_epoch": producer.epoch,
            "v3_and_below_topics": named,
        }
    transaction = {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "verify_only": verify,
        "topics": named,
    }
    return {"transactions": [transaction]}


def _open(transactional_id: str, version: int = 3) -> Prepared:
    """Begin a transaction with one partition."""
    producer = yield from _initialised(transactional_id)
    fields = _partitions(producer, version, [("txn", [0])], False)
    yield Until("AddPartitionsToTxn", version, fields, lambda _: True)
    return producer


def _end(producer: Producer, is_commit: bool) -> Message:
    return {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "committed": is_commit,
    }


def _settled(transactional_id: str) -> Steps:
    """Wait until the end of a transaction is complete."""
    yield Until("DescribeTransactions", 0, {"transactional_ids": [transactional_id]}, _is_complete)


def _is_complete(answer: Message) -> bool:
    return str(answer["transaction_states"][0]["transaction_state"]).startswith("Complete")


# what is asked


def _finding() -> Steps:
    yield Until("FindCoordinator", 4, {"key_type": 1, "coordinator_keys": ["t"]}, _is_found)
    for version in served_versions("FindCoordinator"):
        if version >= 4:
            yield Ask("ids", "FindCoordinator", version, {"key_type": 1, "coordinator_keys": ["t", "u", ""]})
        elif version >= 1:
            yield Ask("an id", "FindCoordinator", version, {"key_type": 1, "key": "t"})


def _is_found(answer: Message) -> bool:
    return not answer["coordinators"][0]["error_code"]


def _beginning() -> Steps:
    yield from _initialised("warm")
    for version in served_versions("InitProducerId"):

        def init(label: str, transactional_id: str | None, version: int = version, **fields: object) -> Ask:
            return Ask(label, "InitProducerId", version, _begin(transactional_id, **fields))

        name = f"begin-{version}"
        yield init("no id", None)
        yield init("empty id", "")
        yield init("first", name)
        yield init("second", name)
        yield init("no time", name, transaction_timeout_ms=0)
        yield init("negative time", name, transaction_timeout_ms=-1)
        yield init("too long", name, transaction_timeout_ms=900_001)
        yield init("longest", name, transaction_timeout_ms=900_000)
        if version < FIRST_WITH_PRODUCER:
            continue
        known = yield from _initialised(name)
        yield init("id alone", name, producer_id=known.producer_id)
        yield init("epoch alone", name, producer_epoch=known.epoch)
        yield init("another producer", name, producer_id=known.producer_id + 100_000, producer_epoch=known.epoch)
        yield init("going on", name, producer_id=known.producer_id, producer_epoch=known.epoch)
        yield init("going on again", name, producer_id=known.producer_id, producer_epoch=known.epoch)
        yield init("going on from nowhere", name, producer_id=known.producer_id, producer_epoch=known.epoch + 9)
        yield init("unknown id goes on", f"{name}-new", producer_id=known.producer_id, producer_epoch=3)


def _adding() -> Steps:
    for version in served_versions("AddPartitionsToTxn"):
        producer = yield from _initialised(f"add-{version}")
        for verify in (False, True) if version >= FIRST_OF_BROKERS else (False,):
            what = "verify" if verify else "add"

            def add(
                label: str,
                who: Producer,
                *topics: tuple[str, list[int]],
                version: int = version,
                verify: bool = verify,
                what: str = what,
            ) -> Ask:
                return Ask(f"{what} {label}", "AddPartitionsToTxn", version, _partitions(who, version, topics, verify))

            yield add("for nobody", producer._replace(transactional_id=""), ("txn", [0]))
            yield add("for a stranger", producer._replace(transactional_id="stranger"), ("txn", [0]))
            yield add("of another producer", producer._replace(producer_id=producer.producer_id + 9), ("txn", [0]))
            yield add("of an old epoch", producer.at(-1), ("txn", [0]))
            yield add("of a new epoch", producer.at(producer.epoch + 1), ("txn", [0]))
            yield add("unknown topic", producer, ("txn", [0]), ("txn-none", [0]))
            yield add("unknown partition", producer, ("txn", [0, 9, -1]))
            yield add("some", producer, ("txn", [0, 1]))
            yield add("some again", producer, ("txn", [1, 0, 0]))
            yield add("one more", producer, ("txn", [2]))
            yield Ask(f"after {what} {version}", "DescribeTransactions", 0, {"transactional_ids": [f"add-{version}"]})
        if version >= FIRST_OF_BROKERS:
            other = yield from _open(f"add-other-{version}")
            several = [
                *_partitions(producer, version, [("txn", [0])], True)["transactions"],
                *_partitions(other, version, [("txn", [1])], True)["transactions"],
                *_partitions(other._replace(transactional_id="stranger"), version, [("txn", [1])], False)[
                    "transactions"
                ],
            ]
            yield Ask("several", "AddPartitionsToTxn", version, {"transactions": several})


def _adding_offsets() -> Steps:
    for version in served_versions("AddOffsetsToTxn"):
        producer = yield from _initialised(f"offsets-{version}")

        def add(label: str, who: Producer, version: int = version) -> Ask:
            fields = {
                "transactional_id": who.transactional_id,
                "producer_id": who.producer_id,
                "producer_epoch": who.epoch,
                "group_id": "txn-group",
            }
            return Ask(label, "AddOffsetsToTxn", version, fields)

        yield add("for nobody", producer._replace(transactional_id=""))
        yield add("for a stranger", producer._replace(transactional_id="stranger"))
        yield add("of another producer", producer._replace(producer_id=producer.producer_id + 9))
        yield add("of a new epoch", producer.at(producer.epoch + 1))
        yield add("well", producer)
        yield add("twice", producer)
        yield Ask(f"offsets added {version}", "DescribeTransactions", 0, {"transactional_ids": [f"offsets-{version}"]})


def _ending() -> Steps:
    for version in served_versions("EndTxn"):

        def end(label: str, who: Producer, is_commit: bool, version: int = version) -> Ask:
            how = "commit" if is_commit else "abort"
            return Ask(f"{how} {label}", "EndTxn", version, _end(who, is_commit))

        for is_commit in (True, False):
            name = f"end-{version}-{is_commit}"
            producer = yield from _initialised(name)
            yield end("of nobody", producer._replace(transactional_id=""), is_commit)
            yield end("of a stranger", producer._replace(transactional_id="stranger"), is_commit)
            yield end("of another producer", producer._replace(producer_id=producer.producer_id + 9), is_commit)
            yield end("of a new epoch", producer.at(producer.epoch + 1), is_commit)
            if is_commit or version < FIRST_WITH_BUMPS:
                yield end("of nothing", producer, is_commit)
            producer = yield from _open(f"{name}-open", min(version, 3))
            yield end("of an old epoch", producer.at(-1), is_commit)
            yield end("with a new epoch", producer.at(producer.epoch + 1), is_commit)
            yield end("well", producer, is_commit)
            yield from _settled(producer.transactional_id)
            yield end("again", producer, is_commit)
            yield end("the other way", producer, not is_commit)
            if version < FIRST_WITH_BUMPS:
                fields = _partitions(producer, 3, [("txn", [1])], False)
                yield Ask(f"next after {is_commit} {version}", "AddPartitionsToTxn", 3, fields)


def _ending_with_bumps() -> Steps:
    """What follows the last end of a transaction, with its epoch and with the next (KIP-890)."""

    def end(label: str, who: Producer, is_commit: bool) -> Ask:
        return Ask(f"{'commit' if is_commit else 'abort'} {label}", "EndTxn", FIRST_WITH_BUMPS, _end(who, is_commit))

    for before in (None, True, False):
        state = {None: "nothing", True: "a commit", False: "an abort"}[before]
        for is_commit in (True, False):
            for is_retry in (True, False):
                name = f"bump-{before}-{is_commit}-{is_retry}"
                if before is None:
                    producer = yield from _initialised(name)
                    yield from _initialised(name)
                    producer = producer.at(producer.epoch + (0 if is_retry else 1))
                else:
                    producer = yield from _open(name)
                    yield Until("EndTxn", FIRST_WITH_BUMPS, _end(producer, before), lambda told: not told["error_code"])
                    yield from _settled(name)
                    producer = producer.at(producer.epoch + (0 if is_retry else 1))
                how = "once more" if is_retry else "as the next"
                yield end(f"{how} after {state}", producer, is_commit)
                if not is_commit and not is_retry:
                    yield from _settled(name)
                yield end(f"{how} after {state}, two epochs on", producer.at(producer.epoch + 2), is_commit)


def _fencing() -> Steps:
    """A producer that begins while the transaction of another is open."""
    for version in (3, 5):
        producer = yield from _open(f"fence-{version}", version)
        ids = {"transactional_ids": [producer.transactional_id]}
        yield Ask(f"began over an open one {version}", "InitProducerId", 4, _begin(producer.transactional_id))
        yield from _settled(producer.transactional_id)
        yield Ask(f"fenced {version}", "DescribeTransactions", 0, ids)
        yield Ask(f"began anew {version}", "InitProducerId", 4, _begin(producer.transactional_id))
        yield Ask(f"fenced end {version}", "EndTxn", 3, _end(producer, True))
        yield Ask(f"fenced end {version}, new", "EndTxn", 5, _end(producer, True))
        fields = _partitions(producer, 3, [("txn", [0])], False)
        yield Ask(f"fenced add {version}", "AddPartitionsToTxn", 3, fields)
        yield Ask(f"fenced add {version}, old", "AddPartitionsToTxn", 0, fields)
        going_on = _begin(producer.transactional_id, producer_id=producer.producer_id, producer_epoch=producer.epoch)
        yield Ask(f"fenced going on {version}", "InitProducerId", 5, going_on)
        yield Ask(f"fenced going on {version}, old", "InitProducerId", 3, going_on)


def _looking() -> Steps:
    producer = yield from _open("look-open")
    yield from _initialised("look-empty")
    ids = ["look-open", "look-empty", "look-none", ""]
    yield Ask("all kinds", "DescribeTransactions", 0, {"transactional_ids": ids})
    yield Ask("one twice", "DescribeTransactions", 0, {"transactional_ids": ["look-empty", "look-empty"]})
    yield Ask("none", "DescribeTransactions", 0, {"transactional_ids": []})
    for version in served_versions("ListTransactions"):

        def listing(label: str, version: int = version, **fields: object) -> Ask:
            if version >= 2:
                fields.setdefault("transactional_id_pattern", "look-.*")
            return Ask(label, "ListTransactions", version, {"state_filters": [], "producer_id_filters": [], **fields})

        yield listing("open", state_filters=["Ongoing"])
        yield listing("unknown states", state_filters=["Ongoing", "Odd", "ongoing", ""])
        yield listing("dead", state_filters=["Dead", "PrepareEpochFence"])
        yield listing("of a producer", producer_id_filters=[producer.producer_id])
        yield listing("of nobody", producer_id_filters=[-5])
        if version >= 1:
            yield listing("long", duration_filter=3_600_000, state_filters=["Ongoing"])
            yield listing(
                "long, whatever they are", duration_filter=3_600_000, producer_id_filters=[producer.producer_id]
            )
            yield listing("no time", duration_filter=-7, state_filters=["Ongoing"])
        if version >= 2:
            yield listing("a part of the id", transactional_id_pattern="look")
            yield listing("the whole id", transactional_id_pattern="look-(open|empty)")
            yield listing("an empty pattern", transactional_id_pattern="", producer_id_filters=[producer.producer_id])
            yield listing("no pattern", transactional_id_pattern=None, producer_id_filters=[producer.producer_id])
            yield listing("a bad pattern", transactional_id_pattern="look-(")
