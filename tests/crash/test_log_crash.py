"""The power fails in the k-th file operation, for every k: what was flushed is there afterwards, and all is in order.

Each scenario runs on a disk in memory until the crash, which keeps what was synced and a random share of the rest. Then
the node starts again, and what it has is held against a journal of what it had promised.
"""

from collections.abc import Callable

import pytest

from tests.crash.node import Node, crash_everywhere
from tests.support.logs import NOW_MS

SEEDS = range(2)


def appends_and_rolls(node: Node) -> None:
    """Fill several segments, with flushes and checkpoints in between."""
    for _ in range(3):
        node.append(4)
        node.flush()
        node.checkpoint()
        node.append(3)
        node.checkpoint()


def flush_at_the_end_of_a_segment(node: Node) -> None:
    """Flush and write the checkpoint just before a roll, and crash before the next flush."""
    node.append(3)
    node.flush()
    node.checkpoint()
    node.log.roll(NOW_MS)
    node.append(2)
    node.checkpoint()
    node.log.roll(NOW_MS)
    node.flush()
    node.checkpoint()


def clean_restarts(node: Node) -> None:
    """Stop cleanly, start, go on, and stop again."""
    node.append(6)
    node = node.restart()
    node.append(6)
    node.flush()
    node = node.restart()
    node.append(1)
    node.restart()


def truncations(node: Node) -> None:
    """Cut the log and write other records where it was cut."""
    node.append(8)
    node.flush()
    node.truncate(10)
    node.append(6)
    node.flush()
    node.checkpoint()
    node.truncate(2)
    node.append(9)
    node.flush()


def deleted_records(node: Node) -> None:
    """Move the start of the log up, over whole segments and within one."""
    node.append(12)
    node.flush()
    node.delete_records(9)
    node.checkpoint()
    node.append(4)
    node.delete_records(21)
    node.run_deletions()
    node.flush()
    node.checkpoint()


def deleted_topics(node: Node) -> None:
    """Delete a partition that has data, and make one of the same name."""
    node.append(9)
    node.flush()
    node.delete_records(9)
    node.checkpoint()
    node.delete()
    node.create_again()
    node.append(4)
    node.flush()
    node.checkpoint()
    node.run_deletions()
    node.append(2)


def retention(node: Node) -> None:
    """Old segments go by size and by age, also the one that is appended to, before and after they were flushed."""
    node.append(9)
    node.flush()
    node.checkpoint()
    node.retain(retention_bytes=1000)
    node.append(6)
    node.retain(retention_ms=8)
    node.run_deletions()
    node.append(3)
    node.retain(retention_bytes=0)
    node.checkpoint()
    node.append(4)
    node.flush()


def retention_around_a_restart(node: Node) -> None:
    """Segments go, the node stops in order, and goes on with what is left."""
    node.append(12)
    node.retain(retention_bytes=700)
    node = node.restart()
    node.append(2)
    node.retain(retention_bytes=0)
    node = node.restart()
    node.append(5)
    node.flush()
    node.checkpoint()


def everything(node: Node) -> None:
    """All that can happen to a log, in one life."""
    node.append(8)
    node.flush()
    node.delete_records(3)
    node.checkpoint()
    node.truncate(10)
    node.append(6)
    node.retain(retention_bytes=900)
    node.flush()
    node.checkpoint()
    node.log.roll(NOW_MS)
    node.delete_records(node.log.log_end_offset)
    node.run_deletions()
    node.append(1)
    node = node.restart()
    node.delete()
    node.create_again()
    node.append(2)
    node.checkpoint()


SCENARIOS = (
    appends_and_rolls,
    flush_at_the_end_of_a_segment,
    clean_restarts,
    truncations,
    deleted_records,
    deleted_topics,
    retention,
    retention_around_a_restart,
    everything,
)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_was_flushed_survives_a_crash_in_every_operation(scenario: Callable[[Node], None], seed: int) -> None:
    """Whatever the k-th operation is, nothing flushed is lost, and a second recovery finds nothing to do."""
    assert crash_everywhere(Node, scenario, seed) > 50
