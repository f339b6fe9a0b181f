"""UpdateFeatures of transaction.version: what clients are told at each level, and how transactions go on."""

from collections.abc import Callable, Iterator

from tests.interop.differential.play import Ask, Steps, Until
from tests.interop.differential.prepare import topic
from tests.interop.differential.transactional import (
    FIRST_WITH_BUMPS,
    added,
    batch,
    coordinated,
    describe,
    describe_producers,
    ending,
    fetch,
    initialised,
    producing,
    settled,
    written,
)
from tests.support.wire import Message, served_versions

FEATURE = "transaction.version"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def transaction_versions() -> Steps:
    """From 2 to 0 and back: every step, those that are refused too, with a transaction that is open meanwhile."""
    topic_id = yield from topic("tv", 4)
    yield from coordinated()
    lasting = yield from initialised("tv-lasting")
    yield from added(lasting, ("tv", [3]))
    yield from written(lasting, "tv", 3, 0)
    for number, (level, kind) in enumerate(((1, SAFE_DOWNGRADE), (0, UNSAFE_DOWNGRADE), (1, UPGRADE), (2, UPGRADE))):
        for refused in ((3, UPGRADE), (-1, SAFE_DOWNGRADE), (level, UPGRADE if kind != UPGRADE else 9)):
            yield _update(f"refused {refused}, {number}", 1, *refused)
        yield _update(f"{number}, from {level}", 1 if number % 2 else 2, level, kind)
        yield Until("ApiVersions", 4, _CLIENT, _is_at(level))
        for version in (3, 4):
            yield Ask(f"told at {number}", "ApiVersions", version, _CLIENT, _of_transactions)
        yield from _at(number, level)
    yield Ask("open over all levels", "EndTxn", 3, ending(lasting, True))
    yield from settled("tv-lasting")
    yield fetch("open over all levels", 12, {"topic": "tv", "topic_id": topic_id}, 3)


_CLIENT = {"client_software_name": "test", "client_software_version": "1"}


def _update(label: str, version: int, level: int, kind: int) -> Ask:
    update = {"feature": FEATURE, "max_version_level": level, "upgrade_type": kind}
    return Ask(label, "UpdateFeatures", version, {"timeout_ms": 8000, "feature_updates": [update]})


def _at(number: int, level: int) -> Steps:
    """What producers of every age may do, whatever they have been told.

    At level 0 Apache Kafka 4.3 fails at those of version 2, and with them at whatever has their transactional id.
    """
    for version in served_versions("EndTxn"):
        if level == 0 and version >= FIRST_WITH_BUMPS:
            continue
        name = f"tv-{number}-{version}"
        producer = yield from initialised(name)
        for produce in (11, 12) if level else (11,):
            if produce == 12 or version % 2 or not level:
                yield from added(producer, ("tv", [0]))
            request = producing(name, {"name": "tv"}, (produce - 11, batch(producer, 0)))
            yield Ask(f"{name}, {produce}", "Produce", produce, request)
        yield Ask(f"{name} ends", "EndTxn", version, ending(producer, True))
        yield from settled(name)
        yield describe(f"{name} has ended", name)
        yield Ask(f"{name} ends again", "EndTxn", version, ending(producer, True))
    yield describe_producers(f"after {number}", "tv", [0, 1])


def _levels(answer: Message) -> Iterator[Message]:
    return (each for each in answer["finalized_features"] if each["name"] == FEATURE)


def _level(answer: Message) -> int:
    return max((int(each["max_version_level"]) for each in _levels(answer)), default=0)


def _is_at(level: int) -> Callable[[Message], bool]:
    return lambda answer: _level(answer) == level


def _of_transactions(answer: Message) -> Message:
    """Return what is told of the feature."""
    supported = [each for each in answer["supported_features"] if each["name"] == FEATURE]
    return {"supported_features": supported, "finalized_features": list(_levels(answer))}
