"""Batch headers for the tests of producer state, with only the fields that matter there."""

from odradek.protocol.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader

PRODUCER = 7


def batch(
    sequence: int,
    count: int = 1,
    *,
    epoch: int = 0,
    producer_id: int = PRODUCER,
    transactional: bool = False,
    at: int = 0,
) -> BatchHeader:
    """A data batch of `count` records from `sequence` on; `at` is its timestamp in ms."""
    attributes = TRANSACTIONAL_BIT if transactional else 0
    return BatchHeader(0, 100, 0, 2, 0, attributes, count - 1, at, at, producer_id, epoch, sequence, count)


def marker(*, epoch: int = 0, producer_id: int = PRODUCER, at: int = 0) -> BatchHeader:
    """A transaction marker."""
    return BatchHeader(0, 66, 0, 2, 0, TRANSACTIONAL_BIT | CONTROL_BIT, 0, at, at, producer_id, epoch, -1, 1)
