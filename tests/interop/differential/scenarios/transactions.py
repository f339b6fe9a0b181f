"""The transaction coordinator: who may begin, add and end, at every version and in every state; and what it tells."""

from tests.interop.differential.play import Ask, Steps, Until
from tests.interop.differential.prepare import topic
from tests.interop.differential.transactional import (
    FIRST_OF_BROKERS,
    FIRST_WITH_BUMPS,
    Prepared,
    Producer,
    adding,
    begin,
    coordinated,
    ending,
    initialised,
    settled,
)
from tests.support.wire import served_versions

FIRST_WITH_PRODUCER = 3


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


def _open(transactional_id: str, version: int = 3) -> Prepared:
    """Begin a transaction with one partition."""
    producer = yield from initialised(transactional_id)
    fields = adding(producer, version, [("txn", [0])], False)
    yield Until("AddPartitionsToTxn", version, fields, lambda _: True)
    return producer


def _finding() -> Steps:
    yield from coordinated()
    for version in served_versions("FindCoordinator"):
        if version >= 4:
            yield Ask("ids", "FindCoordinator", version, {"key_type": 1, "coordinator_keys": ["t", "u", ""]})
        elif version >= 1:
            yield Ask("an id", "FindCoordinator", version, {"key_type": 1, "key": "t"})


def _beginning() -> Steps:
    yield from initialised("warm")
    for version in served_versions("InitProducerId"):

        def init(label: str, transactional_id: str | None, version: int = version, **fields: object) -> Ask:
            return Ask(label, "InitProducerId", version, begin(transactional_id, **fields))

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
        known = yield from initialised(name)
        yield init("id alone", name, producer_id=known.producer_id)
        yield init("epoch alone", name, producer_epoch=known.epoch)
        yield init("another producer", name, producer_id=known.producer_id + 100_000, producer_epoch=known.epoch)
        yield init("going on", name, producer_id=known.producer_id, producer_epoch=known.epoch)
        yield init("going on again", name, producer_id=known.producer_id, producer_epoch=known.epoch)
        yield init("going on from nowhere", name, producer_id=known.producer_id, producer_epoch=known.epoch + 9)
        yield init("unknown id goes on", f"{name}-new", producer_id=known.producer_id, producer_epoch=3)


def _adding() -> Steps:
    for version in served_versions("AddPartitionsToTxn"):
        producer = yield from initialised(f"add-{version}")
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
                return Ask(f"{what} {label}", "AddPartitionsToTxn", version, adding(who, version, topics, verify))

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
                *adding(producer, version, [("txn", [0])], True)["transactions"],
                *adding(other, version, [("txn", [1])], True)["transactions"],
                *adding(other._replace(transactional_id="stranger"), version, [("txn", [1])], False)["transactions"],
            ]
            yield Ask("several", "AddPartitionsToTxn", version, {"transactions": several})


def _adding_offsets() -> Steps:
    for version in served_versions("AddOffsetsToTxn"):
        producer = yield from initialised(f"offsets-{version}")

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
            return Ask(f"{how} {label}", "EndTxn", version, ending(who, is_commit))

        for is_commit in (True, False):
            name = f"end-{version}-{is_commit}"
            producer = yield from initialised(name)
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
            yield from settled(producer.transactional_id)
            yield end("again", producer, is_commit)
            yield end("the other way", producer, not is_commit)
            if version < FIRST_WITH_BUMPS:
                fields = adding(producer, 3, [("txn", [1])], False)
                yield Ask(f"next after {is_commit} {version}", "AddPartitionsToTxn", 3, fields)


def _ending_with_bumps() -> Steps:
    """What follows the last end of a transaction, with its epoch and with the next (KIP-890)."""

    def end(label: str, who: Producer, is_commit: bool) -> Ask:
        return Ask(f"{'commit' if is_commit else 'abort'} {label}", "EndTxn", FIRST_WITH_BUMPS, ending(who, is_commit))

    for before in (None, True, False):
        state = {None: "nothing", True: "a commit", False: "an abort"}[before]
        for is_commit in (True, False):
            for is_retry in (True, False):
                name = f"bump-{before}-{is_commit}-{is_retry}"
                if before is None:
                    producer = yield from initialised(name)
                    yield from initialised(name)
                    producer = producer.at(producer.epoch + (0 if is_retry else 1))
                else:
                    producer = yield from _open(name)
                    yield Until(
                        "EndTxn", FIRST_WITH_BUMPS, ending(producer, before), lambda told: not told["error_code"]
                    )
                    yield from settled(name)
                    producer = producer.at(producer.epoch + (0 if is_retry else 1))
                how = "once more" if is_retry else "as the next"
                yield end(f"{how} after {state}", producer, is_commit)
                if not is_commit and not is_retry:
                    yield from settled(name)
                yield end(f"{how} after {state}, two epochs on", producer.at(producer.epoch + 2), is_commit)


def _fencing() -> Steps:
    """A producer that begins while the transaction of another is open."""
    for version in (3, 5):
        producer = yield from _open(f"fence-{version}", version)
        ids = {"transactional_ids": [producer.transactional_id]}
        yield Ask(f"began over an open one {version}", "InitProducerId", 4, begin(producer.transactional_id))
        yield from settled(producer.transactional_id)
        yield Ask(f"fenced {version}", "DescribeTransactions", 0, ids)
        yield Ask(f"began anew {version}", "InitProducerId", 4, begin(producer.transactional_id))
        yield Ask(f"fenced end {version}", "EndTxn", 3, ending(producer, True))
        yield Ask(f"fenced end {version}, new", "EndTxn", 5, ending(producer, True))
        fields = adding(producer, 3, [("txn", [0])], False)
        yield Ask(f"fenced add {version}", "AddPartitionsToTxn", 3, fields)
        yield Ask(f"fenced add {version}, old", "AddPartitionsToTxn", 0, fields)
        going_on = begin(producer.transactional_id, producer_id=producer.producer_id, producer_epoch=producer.epoch)
        yield Ask(f"fenced going on {version}", "InitProducerId", 5, going_on)
        yield Ask(f"fenced going on {version}, old", "InitProducerId", 3, going_on)


def _looking() -> Steps:
    producer = yield from _open("look-open")
    yield from initialised("look-empty")
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
