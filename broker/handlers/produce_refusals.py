"""How produce requests are refused as a whole, and how a client is told that wants no answer at all.

Which errors there are is Kafka's log behaviour, produce path; here is how each of them is told. Never hot.
"""

from __future__ import annotations

from typing import Final

from odradek.broker.handlers.produce_results import Topics
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.hot.produce import FIRST_BY_ID, ProduceResult, encode_produce_response
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.records.batch import (
    ATTRIBUTES_AT,
    CURRENT_MAGIC,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    TRANSACTIONAL_BIT,
    attributes_of_only,
    entry_size,
)
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.errors import CorruptRecord, DecompressionError
from odradek.storage.validation import check_produce_records

FIRST_OF_ZSTD = 7
_LARGEST_INT32 = 0x7FFFFFFF
IN_TRANSACTION: Final = ErrorCode.NONE
"""Stands where a refusal would: there is none, and some batches are part of a transaction."""


def refusal_of(request: ProduceRequest, version: int, partitions: PartitionTable) -> ErrorCode | None:
    """Why the request as a whole is refused, None if it is not, or IN_TRANSACTION.

    Kafka looks at the first entry of every partition before any is asked: one that can be none (its size, its magic)
    ends the request, and so does a transactional batch without a transactional id. In versions before zstd the codec
    is read then, too, for partitions that are here, and one that nobody knows ends the request.
    """
    in_transaction = False
    for wanted in request.topic_data:
        for data in wanted.partition_data:
            records = data.records
            if not records:
                continue
            attributes = attributes_of_only(records)
            if attributes < 0:
                try:
                    if not entry_size(records):
                        if _overflows(records):
                            return ErrorCode.UNKNOWN_SERVER_ERROR
                        continue
                except CorruptRecord as corrupt:
                    return corrupt.code
                # no entry is too short to have it, and an old one has no such bit
                attributes = records[ATTRIBUTES_AT + 1] if records[MAGIC_AT] == CURRENT_MAGIC else 0
            if attributes & TRANSACTIONAL_BIT:
                if request.transactional_id is None:
                    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                in_transaction = True
    if version < FIRST_OF_ZSTD and _has_unknown_codec(request, version, partitions):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return IN_TRANSACTION if in_transaction else None


def _overflows(records: Buffer) -> bool:
    """Whether an entry that is not whole has a size field to which Java cannot add what stands before it."""
    length = int.from_bytes(records[LENGTH_AT : LENGTH_AT + 4], "big")
    return len(records) > MAGIC_AT and length > _LARGEST_INT32 - LOG_OVERHEAD


def _has_unknown_codec(request: ProduceRequest, version: int, partitions: PartitionTable) -> bool:
    for wanted in request.topic_data:
        topic = partitions.find(wanted.name)
        for data in wanted.partition_data:
            if topic is None or topic.get(data.index) is None:
                continue
            try:
                check_produce_records(data.records, version)
            except DecompressionError:
                return True
            except KafkaError:
                continue
    return False


def unknown_topic(version: int) -> ErrorCode:
    """The error for a topic that is not here, named or by its id."""
    return ErrorCode.UNKNOWN_TOPIC_ID if version >= FIRST_BY_ID else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def refuse_all(head: bytes, version: int, request: ProduceRequest, code: ErrorCode) -> bytes:
    """The answer that has the same error for every partition."""
    topics: Topics = [
        (
            wanted.topic_id if version >= FIRST_BY_ID else wanted.name,
            [ProduceResult(data.index, code) for data in wanted.partition_data],
        )
        for wanted in request.topic_data
        if wanted.partition_data
    ]
    return encode_produce_response(head, version, topics)


def close_on_error(topics: Topics) -> None:
    """acks=0: the client learns of an error only by losing its connection."""
    for ref, results in topics:
        for result in results:
            if result.error_code:
                raise CloseConnectionError(
                    f"a produce with acks=0 to {ref}-{result.partition} failed: {ErrorCode(result.error_code).name}"
                )
