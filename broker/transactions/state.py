"""The states of a transaction, and what is known of a transactional id.

Values only. The numbers and names are Kafka's (`TransactionState`); the fields are those of the records of
`__transaction_state`. Must not know: how a state is reached (`decisions`), how it is stored (`records`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_TIME: Final = -1
LAST_EPOCH: Final = 0x7FFF
"""Never given to a producer, so that one can always be fenced."""

PER_SLICE: Final = 200
"""Partitions of a transaction that are worked on before others get their turn: a millisecond at most."""

Partitions = Mapping[str, frozenset[int]]
"""Partitions by topic; no topic without any."""
NO_PARTITIONS: Final[Partitions] = MappingProxyType({})


class TransactionState(IntEnum):
    """Where the transaction of a transactional id stands."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    """It is decided: markers are on their way."""
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    """Expired: its tombstone is on its way."""
    PREPARE_EPOCH_FENCE = 7
    """Never reached here, and never written by Kafka; it has a name that clients may ask for."""

    @property
    def title(self) -> str:
        """Kafka's name: "PrepareCommit"."""
        return _TITLES[self]

    @property
    def is_decided(self) -> bool:
        """Whether the end of the transaction is decided and under way."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


_TITLES: Final = {state: "".join(part.capitalize() for part in state.name.split("_")) for state in TransactionState}
STATE_TITLES: Final = frozenset(_TITLES.values())
"""What a state may be called in requests."""


class Producer(NamedTuple):
    """A producer as it names itself in requests."""

    producer_id: int
    epoch: int


class TransactionMetadata(NamedTuple):
    """What is known of a transactional id. Times are milliseconds since 1970 UTC."""

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: Partitions = NO_PARTITIONS
    updated_ms: int = NO_TIME
    started_ms: int = NO_TIME
    """When the transaction began; -1 where none has."""
    last_epoch: int = NO_PRODUCER_EPOCH
    """The epoch before this one, if it was its own producer that went on to the next: a retry may still name it."""
    previous_id: int = NO_PRODUCER_ID
    """The producer id before this one."""
    next_id: int = NO_PRODUCER_ID
    """The producer id that the next transaction has, where the epochs of this one are used up."""
    version: int = 0
    """The version of transactions (`transaction.version`) that the producer speaks."""

    @property
    def is_exhausted(self) -> bool:
        """Whether there is no epoch left for another producer of this id."""
        return is_exhausted(self.producer_epoch)


def is_exhausted(epoch: int) -> bool:
    """Whether no producer may be given a higher epoch."""
    return epoch >= LAST_EPOCH - 1


def in_slices(partitions: Partitions) -> Iterator[list[tuple[str, int]]]:
    """The partitions one by one, in their order, no more than `PER_SLICE` at a time."""
    some: list[tuple[str, int]] = []
    for topic in sorted(partitions):
        for index in sorted(partitions[topic]):
            some.append((topic, index))
            if len(some) == PER_SLICE:
                yield some
                some = []
    if some:
        yield some


def union(known: Partitions, added: Partitions) -> Partitions:
    """Return the partitions of both."""
    joined = dict(known)
    for topic, indexes in added.items():
        joined[topic] = joined[topic] | indexes if topic in joined else indexes
    return joined


def includes(known: Partitions, asked: Partitions) -> bool:
    """Return whether all that is asked for is known."""
    return all(topic in known and indexes <= known[topic] for topic, indexes in asked.items())
