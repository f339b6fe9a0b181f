"""How a client's batch is refused: codes and messages as Kafka words them.

A fault of the batch is a plain error of one code (`protocol.records.errors`, and `MessageTooLarge` here). Faults of
single records are collected over the whole batch, and reported per record (KIP-467).
"""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError

MOST_RECORD_ERRORS = 1000
"""Faults of single records that are looked for in a batch: each costs a sentence, and a batch may have a million. Kafka
has no such bound."""
_SHOWN_IN_MESSAGE = 3


class RecordError(NamedTuple):
    """What is wrong with one record."""

    batch_index: int
    """Place of the record in its batch, from 0."""
    message: str


class MessageTooLarge(KafkaError):  # noqa: N818 - Kafka's name
    """The batch is larger than the topic's max.message.bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size is {size} bytes which exceeds the maximum configured value of {limit}.",
        )


class TooManyRecordsInBatch(KafkaError):  # noqa: N818 - says what it is
    """The batch has more records than its topic takes in one; Kafka has no such limit.

    The code is that of a batch of too many bytes: a Java producer then sends the records again in smaller batches.
    """

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch has {count} records, more than the {limit} that are taken of its topic in one batch.",
        )


class RejectedRecords(KafkaError):  # noqa: N818 - says what it is about
    """Some records break a rule, so none is taken: INVALID_TIMESTAMP if that is what one of them breaks, or
    INVALID_RECORD.

    A produce response shows `record_errors` and the message from version 8 on.
    """

    def __init__(self, record_errors: Sequence[RecordError], invalid_timestamp: bool) -> None:
        if invalid_timestamp:
            code = ErrorCode.INVALID_TIMESTAMP
            message = "One or more records have been rejected due to invalid timestamp"
        else:
            code = ErrorCode.INVALID_RECORD
            shown = ", ".join(
                f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
                for error in record_errors[:_SHOWN_IN_MESSAGE]
            )
            message = (
                f"One or more records have been rejected due to {len(record_errors)} record errors in total, "
                f"and only showing the first three errors at most: [{shown}]"
            )
        super().__init__(code, message)
        self.record_errors = tuple(record_errors)
