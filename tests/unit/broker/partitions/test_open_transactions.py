"""What is said at the start of transactions that Apache Kafka left open."""

import pytest

from odradek.broker.partitions import open_transactions
from odradek.broker.partitions.open_transactions import report_open_transactions
from tests.support.log_lines import LogLines
from tests.support.partitions import Node


def test_a_partition_that_holds_readers_back_is_named_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, with the offset at which readers of committed records wait; ended transactions are no matter."""
    logged = LogLines()
    monkeypatch.setattr(open_transactions, "log", logged)
    node = Node()
    node.create("t")
    node.create("done")
    node.append("t", b"plain")
    node.begin_transaction("t", 7, b"a", b"b")
    node.begin_transaction("done", 8, b"a")
    node.end_transaction("done", 8, committed=True)
    report_open_transactions(node.table)
    [line] = logged.lines
    assert line.fields == {"topic": "t", "partition": 0, "last_stable_offset": 1, "high_watermark": 3}
    assert "read_uncommitted" in line.event


def test_many_partitions_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is not filled with them."""
    logged = LogLines()
    monkeypatch.setattr(open_transactions, "log", logged)
    node = Node()
    for number in range(open_transactions.NAMED + 3):
        node.create(f"t{number}")
        node.begin_transaction(f"t{number}", 7, b"a")
    report_open_transactions(node.table)
    assert len(logged.lines) == open_transactions.NAMED + 1
    assert logged.lines[-1].fields == {"partitions": 3}
