"""Why a partition takes no records."""

from odradek.cluster.log_dirs import LogDirFacts
from odradek.cluster.topology import PartitionState
from odradek.cluster.writability import reason

PLACE = ("orders", 0)
FREE = 1 << 30


def _partition(leader: int | None = 1, isr: tuple[int, ...] = (1, 2), min_isr: int = 1) -> PartitionState:
    return PartitionState(*PLACE, leader=leader, replicas=(1, 2), isr=isr, min_isr=min_isr)


def _directory(path: str = "/data", error: str | None = None, free: int | None = FREE) -> LogDirFacts:
    return LogDirFacts(path, error, usable_bytes=free, sizes={PLACE: 5})


def test_nothing_is_to_be_seen() -> None:
    """A leader, enough replicas in sync, space on the disk or none that is told of."""
    assert reason([_partition()], {1: [_directory()]}) is None
    assert reason([_partition()], {1: [_directory(free=None)]}) is None
    assert reason([_partition()], {}) is None


def test_what_is_wrong_is_named() -> None:
    """The leader that is missing, replicas that are not in sync, the disk of the leader and nobody else's."""
    full, failed = _directory(free=10), _directory(error="KAFKA_STORAGE_ERROR")
    assert reason([_partition()], {1: [full]}) == "the disk of broker 1 is full: 10 B are left for /data"
    assert reason([_partition()], {1: [_directory()], 2: [full]}) is None
    assert reason([_partition()], {1: [failed]}) == "log directory /data of broker 1 has failed (KAFKA_STORAGE_ERROR)"
    assert reason([_partition(isr=(1,), min_isr=2)], {1: [full]}) == (
        "partition 0 of orders has 1 replica in sync, and its min.insync.replicas asks for 2"
    )
    assert reason([_partition(leader=None)], {}) == "partition 0 of orders has no leader among brokers 1, 2"
    assert reason([_partition(leader=None)], {2: [failed]}) == (
        "partition 0 of orders has no leader among brokers 1, 2: log directory /data of broker 2 has failed "
        "(KAFKA_STORAGE_ERROR)"
    )


def test_of_several_directories_that_of_the_partition_counts() -> None:
    """Another one may be full; where the partition is in none of them, any that is."""
    other = LogDirFacts("/other", None, usable_bytes=0)
    assert reason([_partition()], {1: [other, _directory()]}) is None
    assert reason([_partition()], {1: [other]}) == "the disk of broker 1 is full: 0 B are left for /other"
