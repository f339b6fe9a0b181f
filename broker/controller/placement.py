"""Which brokers hold the replicas of new partitions.

Two rules. `place_striped` is that of Kafka 4.3 (`StripedReplicaPlacer`): partitions and racks take turns, beginning
anywhere, and brokers that are fenced come last. `place_in_turn` is the one that articles describe: partition `i` begins
at broker `i mod n`, its replica `j` is on broker `(i + j) mod n` in the order of ids, so that a cluster can be
predicted and partitions added later go on where the topic ended. Pure: chance is passed in.
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Final, NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError

Placement = list[tuple[int, ...]]
"""The replicas of each partition, the preferred leader first."""

_NO_RACK: Final = ""


class UsableBroker(NamedTuple):
    """A broker that may get replicas; those about to stop, and those whose directories take none, are left out."""

    broker_id: int
    rack: str | None
    is_fenced: bool


def place_in_turn(brokers: Iterable[UsableBroker], replication_factor: int, first: int, count: int) -> Placement:
    """Return the replicas of `count` partitions from `first` on, at least one each.

    Raises KafkaError INVALID_REPLICATION_FACTOR if there are too few brokers, or none that is not fenced.
    """
    usable = list(brokers)
    _check(usable, replication_factor)
    order = sorted(one.broker_id for one in usable if not one.is_fenced)
    if len(order) < replication_factor:  # fenced ones only where it takes them
        order = sorted(one.broker_id for one in usable)
    n = len(order)
    return [
        tuple(order[(partition + replica) % n] for replica in range(replication_factor))
        for partition in range(first, first + count)
    ]


def place_striped(brokers: Iterable[UsableBroker], replication_factor: int, count: int, random: Random) -> Placement:
    """Return the replicas of `count` partitions, at least one each.

    Raises KafkaError INVALID_REPLICATION_FACTOR if there are too few brokers, or none that is not fenced.
    """
    usable = list(brokers)
    _check(usable, replication_factor)
    racks = _Racks(usable, random)
    return [racks.place(replication_factor) for _ in range(count)]


def _check(usable: Sequence[UsableBroker], replication_factor: int) -> None:
    problem = None
    if all(one.is_fenced for one in usable):
        problem = "All brokers are currently fenced."
    elif replication_factor > len(usable):
        problem = (
            f"The target replication factor of {replication_factor} cannot be reached because only"
            f" {len(usable)} broker(s) are registered."
        )
    if problem:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): {problem}",
        )


class _Stripe:
    """Brokers that take turns: each epoch begins one further on."""

    def __init__(self, brokers: list[int], random: Random) -> None:
        self._brokers = sorted(brokers)
        self._offset = random.randrange(len(brokers)) if brokers else 0
        self._epoch = 0
        self._at = 0

    def next(self, epoch: int) -> int | None:
        """Return the next broker of this epoch; None once all have been named."""
        if not self._brokers:
            return None
        if self._epoch != epoch:
            self._epoch, self._at = epoch, 0
            self._offset = (self._offset + 1) % len(self._brokers)
        if self._at >= len(self._brokers):
            return None
        self._at += 1
        return self._brokers[(self._offset + self._at - 1) % len(self._brokers)]

    def shuffle(self, random: Random) -> None:
        random.shuffle(self._brokers)
        self._epoch = self._at = self._offset = 0


class _Rack:
    """The brokers of one rack."""

    def __init__(self, brokers: list[UsableBroker], random: Random) -> None:
        self.unfenced = _Stripe([one.broker_id for one in brokers if not one.is_fenced], random)
        self.fenced = _Stripe([one.broker_id for one in brokers if one.is_fenced], random)

    def shuffle(self, random: Random) -> None:
        self.unfenced.shuffle(random)
        self.fenced.shuffle(random)


class _Racks:
    """All racks, and whose turn it is."""

    def __init__(self, usable: list[UsableBroker], random: Random) -> None:
        names = sorted({one.rack or _NO_RACK for one in usable})
        self._racks = [_Rack([one for one in usable if (one.rack or _NO_RACK) == name], random) for name in names]
        self._random = random
        self._unfenced = sum(not one.is_fenced for one in usable)
        self._offset = random.randrange(len(names))
        self._epoch = 0

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """Return the replicas of the next partition."""
        if self._epoch == self._unfenced and self._unfenced > 1:
            self._random.shuffle(self._racks)
            for rack in self._racks:
                rack.shuffle(self._random)
            self._epoch = 0
        if self._offset >= len(self._racks):
            self._offset = 0
        at = self._offset
        while (leader := self._rack(at).unfenced.next(self._epoch)) is None:
            at += 1
        replicas = [leader]
        skipped = at % len(self._racks)
        at = self._offset
        while len(replicas) < replication_factor:
            rack = self._rack(at)
            if at % len(self._racks) == skipped:
                skipped = -1  # the rack of the leader waits for its second turn
            else:
                candidate = rack.unfenced.next(self._epoch)
                if candidate is None:
                    candidate = rack.fenced.next(self._epoch)
                if candidate is not None:
                    replicas.append(candidate)
            at += 1
        self._epoch += 1
        self._offset += 1
        return tuple(replicas)

    def _rack(self, at: int) -> _Rack:
        return self._racks[at % len(self._racks)]
