"""The power fails in the k-th file operation of a coordinator of transactions and of the partitions that they write to,
for every k: each transaction is there as a whole or not at all, as was told, and none is left open.

The partitions and the coordinator share one disk, so that a crash hits either. What the producers were told is kept
beside it.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.deferred import Deferred, gather, then
from odradek.broker.transactions.markers import Written
from odradek.broker.transactions.state import Producer, TransactionState
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import LOG_OVERHEAD, iter_batches
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.control import end_transaction_marker
from odradek.protocol.records.record import Record, iter_records
from odradek.storage.names import TopicPartition
from tests.support.logs import open_at, small_config
from tests.support.memory_files import MemoryFiles, SimulatedCrash
from tests.unit.broker.transactions.shard_world import NODE, T01, TX, Told, World

PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
OUTCOMES = (True, False, True)
"""How each of the transactions is to end."""


class RealLeaders:
    """The partitions of the transactions: real logs, on the disk of the coordinator."""

    def __init__(self, world: World) -> None:
        self._world = world
        config = replace(small_config(), flush_messages=1)
        self.partitions = {}
        for place in PARTITIONS:
            directory = f"/data/{place}"
            if not world.files.exists(directory):
                world.files.mkdir(directory)
            log = open_at(world.files, config, directory=directory)
            log.producers.verify_transactions = False
            self.partitions[place] = Partition(log, NODE, 0, world.flusher)

    def write(self, marker: TransactionMarker, partitions: Sequence[TopicPartition]) -> Written | Deferred[Written]:
        """Write a marker, and tell once it is on the disk."""
        codes = gather([self._write_one(marker, self.partitions[place]) for place in partitions])
        return then(codes, lambda found: dict(zip(partitions, found, strict=True)))

    def _write_one(self, marker: TransactionMarker, partition: Partition) -> ErrorCode | Deferred[ErrorCode]:
        try:
            end = partition.append_marker(marker, self._world.clock.now_ms()).last_offset + 1
        except KafkaError as refused:
            return refused.code
        if partition.high_watermark >= end:
            return ErrorCode.NONE
        later: Deferred[ErrorCode] = Deferred()
        partition.when_committed(end, later.resolve)
        return later


class DiskWorld(World):
    """A shard whose markers go to partitions on its own disk, from its load on."""

    real: RealLeaders

    def open(self) -> None:
        """Open the partitions, and then the shard."""
        if not self.files.exists("/data"):
            self.files.mkdir("/data")
        self.real = RealLeaders(self)
        self.leaders = self.real  # type: ignore[assignment]  # not only remembered
        super().open()


class Life:
    """A coordinator with two partitions, from a start to the next crash."""

    def __init__(self, files: MemoryFiles) -> None:
        self.world = DiskWorld(files=files, flush_messages=1)
        self.leaders = self.world.real
        self.settle()

    def settle(self) -> None:
        """Let everything happen that is under way."""
        for _ in range(20):
            self.world.flusher.flush()
            self.world.scheduler.advance(0.5)

    def ask(self, told: Told) -> Told:
        """Wait for the answer."""
        self.settle()
        assert len(told.all) == 1
        return told

    def write(self, producer: Producer, number: int, sequence: int) -> None:
        """Write a record of a transaction to both partitions; returns once it is on the disk."""
        fields = BatchFields(
            producer_id=producer.producer_id, producer_epoch=producer.epoch, base_sequence=sequence, transactional=True
        )
        for partition in self.leaders.partitions.values():
            batch = build_batch([Record(0, 0, None, b"%d" % number)], fields)
            partition.append(batch, self.world.clock.now_ms())
        self.settle()

    def committed(self) -> list[set[int]]:
        """Return the transactions that each partition has committed; none may be open."""
        found = []
        for place, partition in self.leaders.partitions.items():
            assert partition.last_stable_offset == partition.log.log_end_offset, f"a transaction is open in {place}"
            open_numbers: dict[int, set[int]] = {}
            done: set[int] = set()
            log, at = partition.log, 0
            while at < log.log_end_offset:
                region = log.read(at, 1 << 20, log.log_end_offset, at_least_one=True)
                assert region.file is not None
                data = region.file.pread(region.length, region.position)
                for position, header in iter_batches(data):
                    at = header.next_offset
                    for record in iter_records(memoryview(data)[position : position + header.length + LOG_OVERHEAD]):
                        marker = end_transaction_marker(record) if header.is_control else None
                        if marker is None:
                            open_numbers.setdefault(header.producer_id, set()).add(int(record.value or b""))
                        else:
                            ended = open_numbers.pop(header.producer_id, set())
                            done |= ended if marker.committed else set()
            found.append(done)
        return found

    def ends(self) -> list[int]:
        """Return where all logs end."""
        logs = [self.world.log, *(partition.log for partition in self.leaders.partitions.values())]
        return [log.log_end_offset for log in logs]


class Journal:
    """What the producers asked for, and were told."""

    def __init__(self) -> None:
        self.began = False
        self.asked: dict[int, bool] = {}
        self.told: dict[int, bool] = {}


def run(files: MemoryFiles, journal: Journal) -> None:
    """Live through all transactions, the first with epochs that stay, all others with epochs that change."""
    life = Life(files)
    for directory in ("/", "/data"):
        files.sync_dir(directory)
    journal.began = True
    sequence = 0
    producer = life.ask(life.world.initialise()).producer
    for number, is_commit in enumerate(OUTCOMES):
        version = 2 if number else 0
        assert life.ask(life.world.add(producer, T01, version)).error is ErrorCode.NONE
        life.write(producer, number, sequence)
        journal.asked[number] = is_commit
        ended = life.ask(life.world.end(producer, is_commit, version))
        assert ended.error is ErrorCode.NONE
        journal.told[number] = is_commit
        sequence = sequence + 1 if ended.producer == producer else 0
        producer = ended.producer


def check(life: Life, journal: Journal) -> None:
    """What was told is so; what was only asked for is so in both partitions or in none."""
    first, second = life.committed()
    assert first == second
    for number in range(len(OUTCOMES)):
        if number in journal.told:
            assert (number in first) == journal.told[number], f"transaction {number} is not as was told"
        elif number in first:
            assert journal.asked.get(number), f"transaction {number} was never to be committed"


def shut_out(life: Life) -> None:
    """A new producer comes: what is still open is aborted."""
    for _ in range(3):
        if life.ask(life.world.initialise()).error is ErrorCode.NONE:
            return
    raise AssertionError("nobody may begin")


@pytest.mark.parametrize("seed", range(2))
def test_a_crash_at_any_operation_leaves_whole_transactions(seed: int) -> None:
    """And a second start finds all as the first one left it."""
    calm, calm_journal = MemoryFiles(seed), Journal()
    run(calm, calm_journal)
    assert calm_journal.told == dict(enumerate(OUTCOMES))
    ended_by_start = 0
    for crash_at in range(calm.operations):
        files, journal = MemoryFiles(seed + 100 * crash_at, crash_at), Journal()
        with pytest.raises(SimulatedCrash):
            run(files, journal)
        if not journal.began:
            continue
        life = Life(files.crash())
        known = life.world.shard.transactions.get(TX)
        assert known is None or not known.state.is_decided, "what was decided is done"
        is_open = known is not None and known.state is TransactionState.ONGOING
        if len(journal.asked) > len(journal.told) and not is_open:
            ended_by_start += 1
            check(life, journal)
        shut_out(life)
        check(life, journal)
        ends, states = life.ends(), dict(life.world.shard.transactions)
        again = Life(files_after_stop(life))
        assert again.ends() == ends
        kept = {name: known._replace(last_epoch=-1) for name, known in states.items()}
        assert again.world.shard.transactions == kept
        check(again, journal)
    assert ended_by_start, "some crash comes between a decision and its markers"


def files_after_stop(life: Life) -> MemoryFiles:
    """Stop in order, and return the files."""
    life.world.host.close()
    life.world.markers.stop()
    life.world.log.close()
    for partition in life.leaders.partitions.values():
        partition.log.close()
    return life.world.files
