"""The records of `__transaction_state`: what a transaction coordinator remembers.

The api key is the type number with which the key of a record begins; the value begins with its version. An absent
value (null) removes what the key names. Version 1 of the value is flexible, and knows the producer ids and epochs
before and after this one (KIP-890).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, int8, int16, int32, int64, string


class TransactionLogKey(Message, api_key=0, versions="0"):
    """A transactional id."""

    transactional_id: str = string()


class TransactionPartitions(Struct):
    """Partitions of a topic that take part."""

    topic: str = string()
    partition_ids: list[int] = array(int32)


class TransactionLogValue(Message, api_key=0, versions="0-1", flexible="1+"):
    """The state of its last transaction."""

    producer_id: int = int64()
    previous_producer_id: int = int64("1+", tag=0, default=-1)
    next_producer_id: int = int64("1+", tag=1, default=-1)
    producer_epoch: int = int16()
    next_producer_epoch: int = int16("1+", tag=3, default=-1)
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: list[TransactionPartitions] | None = array(TransactionPartitions, nullable="0+")
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16("1+", tag=2, default=0)
