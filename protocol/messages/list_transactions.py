"""ListTransactions (api key 66): the transactions that a broker coordinates (KIP-664).

Version notes: the filter by duration comes with v1 (KIP-994), the pattern of transactional ids with v2 (KIP-1152).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int16, int32, int64, string


class ListTransactionsRequest(Message, api_key=66, versions="0-2", flexible="0+"):
    """Which transactions; a filter that is empty lets all through."""

    state_filters: list[str] = array(string)
    producer_id_filters: list[int] = array(int64)
    duration_filter: int = int64("1+", default=-1)
    """Milliseconds for which they have been running at least; below 0: all."""
    transactional_id_pattern: str | None = string("2+", nullable="2+", default=None)
    """A regular expression for the whole transactional id."""


class ListedTransactionState(Struct):
    """One transaction."""

    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


class ListTransactionsResponse(Message, api_key=66, versions="0-2", flexible="0+"):
    """The transactions."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array(string)
    """Filters that name no state."""
    transaction_states: list[ListedTransactionState] = array(ListedTransactionState)
