"""Says at the start which partitions hold back readers of committed records.

A transaction that Apache Kafka left open is ended by its coordinator, which this version does not have: until Apache
Kafka has run on the directory again, the last stable offset of the partition stays where the transaction began.
"""

from collections.abc import Iterable
from itertools import islice

from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.logging import get_logger

NAMED = 16
"""Partitions that are named in the broker's log, each in a line of its own; the others are counted."""

log = get_logger("partitions")


def report_open_transactions(partitions: Iterable[Partition]) -> None:
    """Write a line for each partition in which a transaction is open, up to `NAMED`, and one for all others."""
    held = ((one, stable) for one in partitions if (stable := one.last_stable_offset) < one.high_watermark)
    for partition, stable_offset in islice(held, NAMED):
        log.warning(
            "a transaction of Apache Kafka is open: consumers with isolation.level=read_committed get nothing from this"
            " offset on, and nothing from it on is compacted; this version cannot end transactions. What helps: start"
            " Apache Kafka on this directory until they have ended (transaction.timeout.ms, or kafka-transactions"
            " abort), or read with read_uncommitted",
            topic=partition.topic,
            partition=partition.index,
            last_stable_offset=stable_offset,
            high_watermark=partition.high_watermark,
        )
    others = sum(1 for _ in held)
    if others:
        log.warning("transactions are open in other partitions, too", partitions=others)
