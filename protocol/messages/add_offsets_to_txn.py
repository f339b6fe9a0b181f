"""AddOffsetsToTxn (api key 25): a transaction will commit offsets of a group.

Version notes: error PRODUCER_FENCED with v2, flexible encoding with v3, error TRANSACTION_ABORTABLE with v4 (KIP-890).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, int16, int32, int64, string


class AddOffsetsToTxnRequest(Message, api_key=25, versions="0-4", flexible="3+"):
    """The transaction and the group."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


class AddOffsetsToTxnResponse(Message, api_key=25, versions="0-4", flexible="3+"):
    """Whether the group's partition of `__consumer_offsets` is in the transaction."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
