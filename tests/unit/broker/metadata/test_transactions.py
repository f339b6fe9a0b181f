"""Transactions of metadata records."""

from uuid import UUID

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.metadata.records import Message
from odradek.broker.metadata.transactions import TransactionFilter
from odradek.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    TopicRecord,
)
from tests.unit.broker.metadata.support import record_of

ONE, TWO = TopicRecord(name="one", topic_id=UUID(int=1)), TopicRecord(name="two", topic_id=UUID(int=2))


def passed(messages: list[Message]) -> tuple[list[list[str]], bool]:
    """Return the names that each record lets through, and whether a transaction is left open."""
    transactions = TransactionFilter()
    out = []
    for message in messages:
        topics = [record.message for record in transactions.accept(record_of(message))]
        out.append([topic.name for topic in topics if isinstance(topic, TopicRecord)])
    return out, transactions.is_open


def test_records_outside_a_transaction_pass_at_once() -> None:
    """Most of Kafka's changes are one batch and need no transaction."""
    assert passed([ONE, TWO]) == ([["one"], ["two"]], False)


def test_records_of_a_transaction_pass_together_at_its_end() -> None:
    """In order, after the end."""
    assert passed([BeginTransactionRecord(), ONE, TWO, EndTransactionRecord()]) == ([[], [], [], ["one", "two"]], False)


def test_records_of_an_aborted_transaction_never_pass() -> None:
    """What follows the abort passes again."""
    assert passed([BeginTransactionRecord(), ONE, AbortTransactionRecord(), TWO]) == ([[], [], [], ["two"]], False)


def test_open_transaction_has_no_effect() -> None:
    """As at the end of a log that a crash cut short."""
    assert passed([ONE, BeginTransactionRecord(), TWO]) == ([["one"], [], []], True)


@pytest.mark.parametrize(
    "messages",
    [[BeginTransactionRecord(), BeginTransactionRecord()], [EndTransactionRecord()], [AbortTransactionRecord()]],
)
def test_unmatched_marks_are_corrupt(messages: list[Message]) -> None:
    """Transactions do not nest, and none ends that has not begun."""
    with pytest.raises(CorruptMetadataError):
        passed(messages)
