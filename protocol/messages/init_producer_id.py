"""InitProducerId (api key 22): a producer id and epoch, for idempotent and transactional producers.

Version notes: flexible encoding comes with v2, the producer's present id and epoch with v3 (KIP-360), the error
PRODUCER_FENCED with v4, TRANSACTION_ABORTABLE with v5 (KIP-890), two-phase commit with v6 (KIP-939), which Kafka 4.3
does not count as stable.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, boolean, int16, int32, int64, string


class InitProducerIdRequest(Message, api_key=22, versions="0-6", flexible="2+"):
    """Who wants a producer id."""

    transactional_id: str | None = string(nullable="0+")
    transaction_timeout_ms: int = int32()
    producer_id: int = int64("3+", default=-1)
    producer_epoch: int = int16("3+", default=-1)
    enable2_pc: bool = boolean("6+")
    keep_prepared_txn: bool = boolean("6+")


class InitProducerIdResponse(Message, api_key=22, versions="0-6", flexible="2+"):
    """The producer id and its epoch."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
    ongoing_txn_producer_id: int = int64("6+", default=-1)
    ongoing_txn_producer_epoch: int = int16("6+", default=-1)
