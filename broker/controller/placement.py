"""Which brokers hold the replicas of a partition.

Partition `i` begins at broker `i mod n`, its replica `j` is on broker `(i + j) mod n` of the live brokers in the
order of their ids. Deterministic, so that a cluster can be predicted; partitions added later go on where the topic
ended.
"""

from collections.abc import Sequence

from odradek.protocol.errors import ErrorCode, KafkaError


def place(brokers: Sequence[int], replication_factor: int, first_partition: int, count: int) -> list[tuple[int, ...]]:
    """Return the replicas of `count` partitions from `first_partition` on, the leader first.

    Raises KafkaError INVALID_REPLICATION_FACTOR if there are fewer brokers than replicas.
    """
    n = len(brokers)
    if replication_factor > n:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of"
            f" {replication_factor} cannot be reached because only {n} broker(s) are registered.",
        )
    order = sorted(brokers)
    return [
        tuple(order[(partition + replica) % n] for replica in range(replication_factor))
        for partition in range(first_partition, first_partition + count)
    ]
