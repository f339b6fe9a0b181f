"""Numbers copied from topic to topic in transactions: who feeds, copies and reads, whose copiers end, and what holds.

A number is copied once. Its copy is seen by readers of committed records once it is committed, together with all others
of its transaction, and in the order of the numbers; when nothing goes wrong any more, no reader waits for a
transaction that nobody ends, not even where its copier has gone for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.simulation.clients import BrokenPromiseError, Ledger, SimulatedProducer
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.committed_readers import CommittedReader
from tests.simulation.copiers import (
    COPY_PARTITIONS,
    FIRST_KIND,
    NUMBERS,
    SECOND_KIND,
    Copied,
    Copier,
)

SUCCESSION_S = (0.05, 1.0, 5.0)
"""How long a copier that has ended is without a successor, one of these."""


class Copying:
    """Copiers, one for each partition of the numbers, and those around them."""

    def __init__(
        self, cluster: SimulatedCluster, ledger: Ledger, copiers: int, pause_s: float, tell: Callable[[str], None]
    ) -> None:
        """`copiers`: how many; `pause_s`: how long a feeder waits between numbers, on average."""
        self._cluster = cluster
        self._world = cluster.world
        self._ledger = ledger
        self._tell = tell
        self._copied = Copied(have_members=Random(f"members {cluster.world.seed}").random() < 0.5)
        self._born = 0
        bootstrap = cluster.bootstrap
        self._feeders = [
            SimulatedProducer(cluster.network, f"feed-{part}", bootstrap, ledger, part, True, pause_s, NUMBERS)
            for part in range(copiers)
        ]
        self._readers = [
            CommittedReader(cluster.network, f"committed-{part}", bootstrap, ledger, self._copied, part)
            for part in range(COPY_PARTITIONS)
        ]
        self._all: list[Copier] = []
        """All copiers that ever were."""
        self._copiers = [self._new_copier(part, f"copier-{part}") for part in range(copiers)]
        self._are_ending = True
        self._is_one_gone = False
        """Whether a copier is yet to have its successor."""

    def start(self) -> None:
        """Begin; copiers end from time to time until `let_live`."""
        for feeder in self._feeders:
            feeder.start()
        for reader in self._readers:
            reader.start()
        for copier in self._copiers:
            copier.start()
        self._end_one_later()

    def let_live(self) -> None:
        """Let no copier end any more."""
        self._are_ending = False

    def stop_feeding(self) -> None:
        """Let there be no more numbers."""
        for feeder in self._feeders:
            feeder.is_stopping = True

    def are_fed(self) -> bool:
        """Whether all numbers that were begun are there."""
        return all(feeder.is_done for feeder in self._feeders)

    def are_copied(self) -> bool:
        """Whether the copiers have come to the end of the numbers, and none is yet to come."""
        return not self._is_one_gone and all(
            one.position >= feeder.acknowledged for one, feeder in zip(self._copiers, self._feeders, strict=True)
        )

    def stop_copying(self) -> None:
        """Let copiers ask the group once more how far it has come."""
        for copier in self._copiers:
            copier.is_stopping = True

    def have_stopped(self) -> bool:
        """Whether they have."""
        return all(copier.is_done for copier in self._copiers)

    def read_again(self) -> None:
        """Let readers read all copies from the beginning."""
        for reader in self._readers:
            reader.begin_again()

    def are_read(self) -> bool:
        """Whether readers have come to the end of the logs, past all transactions."""
        return all(reader.is_at_end for reader in self._readers)

    def check(self) -> None:
        """Each number was read once and in its order, each transaction as a whole or not at all."""
        for reader in self._readers:
            reader.is_stopping = True
        copies = [copy for reader in self._readers for copy in reader.copies]
        numbers = [copy.partition(b" in ")[0] for copy in copies]
        for part, feeder in enumerate(self._feeders):
            name = feeder.process.name.encode()
            count = feeder.acknowledged
            if self._copiers[part].position != count:
                raise BrokenPromiseError(
                    f"the group has come to {self._copiers[part].position} of {count} numbers of {name!r}"
                )
            wanted = [number for odd in range(COPY_PARTITIONS) for number in range(1, count + 1) if number % 2 == odd]
            found = [int(number.rpartition(b"/")[2]) for number in numbers if number.startswith(name + b"/")]
            if found != wanted:
                raise BrokenPromiseError(f"of the {count} numbers of {name!r} readers find {found} in the end")
        there = set(copies)
        for transaction, written in self._copied.transactions.items():
            found_of_it = written & there
            if found_of_it != written and (found_of_it or transaction in self._copied.done):
                raise BrokenPromiseError(f"of the transaction {transaction!r} there is only {found_of_it}")

    # copiers that end

    def _new_copier(self, partition: int, transactional_id: str) -> Copier:
        self._born += 1
        cluster = self._cluster
        versions = self._world.random.choice((FIRST_KIND, SECOND_KIND))
        name = f"copier-{self._born}"
        copier = Copier(
            cluster.network, name, cluster.bootstrap, self._ledger, self._copied, partition, transactional_id, versions
        )
        self._all.append(copier)
        return copier

    def _end_all(self, partition: int) -> None:
        for copier in self._all:
            if copier.partition == partition:
                copier.process.is_alive = False

    def _end_one_later(self) -> None:
        self._world.after(self._world.random.uniform(0.5, 4.0), self._end_one)

    def _end_one(self) -> None:
        if not self._are_ending:
            return
        random = self._world.random
        self._is_one_gone = True
        partition = random.randrange(len(self._copiers))
        copier = self._copiers[partition]
        if random.random() < 0.7:
            self._tell(f"{copier.process.name} is killed")
            copier.process.is_alive = False
            # what a copier of another id does not end, only its timeout does
            keeps_id = random.random() < 0.6
        else:
            seconds = random.choice((0.5, 2.0, 6.0))
            self._tell(f"{copier.process.name} stands still for {seconds:g} s, and gets a successor")
            copier.is_succeeded = True
            copier.process.stopped_until = self._world.now + seconds
            # a group that fences knows it, whatever the id; otherwise the id is all that does
            keeps_id = not self._copied.have_members or random.random() < 0.5

        def succeed() -> None:
            transactional_id = copier.transactional_id
            if not keeps_id:
                transactional_id = f"copier-{partition}-{self._born}"
                if not self._copied.have_members:
                    self._end_all(partition)  # nothing would fence them
            successor = self._copiers[partition] = self._new_copier(partition, transactional_id)
            self._tell(f"{successor.process.name} goes on with the transactional id {transactional_id}")
            successor.start()
            self._is_one_gone = False
            self._end_one_later()

        self._world.after(random.choice(SUCCESSION_S), succeed)
