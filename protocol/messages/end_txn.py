"""EndTxn (api key 26): commit or abort a transaction.

Version notes: error PRODUCER_FENCED with v2, flexible encoding with v3, error TRANSACTION_ABORTABLE with v4. With v5
the end of a transaction gives the producer its next epoch (KIP-890, transaction.version 2).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, boolean, int16, int32, int64, string


class EndTxnRequest(Message, api_key=26, versions="0-5", flexible="3+"):
    """The transaction, and how it ends."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


class EndTxnResponse(Message, api_key=26, versions="0-5", flexible="3+"):
    """Whether its end is decided; with v5 the producer id and epoch of the next transaction."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64("5+", default=-1)
    producer_epoch: int = int16("5+", default=-1)
