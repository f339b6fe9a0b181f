"""DescribeTransactions (api key 65): where transactions stand, asked of their coordinator (KIP-664)."""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, int64, string


class DescribeTransactionsRequest(Message, api_key=65, versions="0", flexible="0+"):
    """Which transactions."""

    transactional_ids: list[str] = array(string)


class DescribeTransactionsTopic(Struct):
    """Partitions of a topic that take part."""

    topic: str = string()
    partitions: list[int] = array(int32)


class DescribedTransactionState(Struct):
    """One transaction."""

    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    """Ongoing, PrepareCommit, ..., or empty with an error."""
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    """Milliseconds since 1970; -1: none has begun."""
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[DescribeTransactionsTopic] = array(DescribeTransactionsTopic)


class DescribeTransactionsResponse(Message, api_key=65, versions="0", flexible="0+"):
    """The transactions."""

    throttle_time_ms: int = int32()
    transaction_states: list[DescribedTransactionState] = array(DescribedTransactionState)
