"""What can go wrong in the log engine, each with the error code that a client is given.

KafkaError
+-- LogError                           root of everything that this package raises
    +-- StorageError                   KAFKA_STORAGE_ERROR: the disk, or what stands on it, cannot be used
    |   +-- CorruptFile                a file of ours has content that cannot be right
    |   +-- InvalidOffset              an offset cannot stand where it was found
    |   +-- DirectoryLocked            another broker uses the log directory
    |   +-- DirectoryFailed            the log directory has failed, until the next start
    |   +-- IncompatibleDirectory      the log directory belongs to another node or cluster, or to a newer format
    +-- OffsetOutOfRange               OFFSET_OUT_OF_RANGE
    +-- RecordListTooLarge             RECORD_LIST_TOO_LARGE: more than a segment can hold
    +-- OutOfOrderSequence             OUT_OF_ORDER_SEQUENCE_NUMBER
    +-- InvalidProducerEpoch           INVALID_PRODUCER_EPOCH
    +-- InvalidTxnState                INVALID_TXN_STATE
    +-- CoordinatorFenced              TRANSACTION_COORDINATOR_FENCED

`except StorageError` is thus "the disk failed"; the others are answers to a request that broke a rule. An `OSError`
passes through the small modules unchanged: the log and the log manager know which directory and operation it hit.
"""

from collections.abc import Callable

from odradek.protocol.errors import ErrorCode, KafkaError

_LONGEST_REASON = 200
"""Characters: a reason may quote the file, and a corrupt file may have a line of any length."""


class LogError(KafkaError):
    """Root of the errors of the log engine; `kafka_code` is the code that its instances carry."""

    kafka_code = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str) -> None:
        super().__init__(self.kafka_code, message)


class StorageError(LogError):
    """A file operation failed, or a log directory or file cannot be used."""

    kafka_code = ErrorCode.KAFKA_STORAGE_ERROR


class CorruptFile(StorageError):  # noqa: N818 - says what it is about
    """The content of a file cannot be right; `path` is the file, `reason` says what is wrong with it."""

    def __init__(self, path: str, reason: str) -> None:
        if len(reason) > _LONGEST_REASON:
            reason = reason[:_LONGEST_REASON] + "…"
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class NotInMemory(Exception):  # noqa: N818 - says what happened
    """A read that is not to wait needs what only the disk has: run `bring` on any thread, and read again.

    Not a `LogError`: only those get it who ask not to wait.
    """

    def __init__(self, bring: Callable[[], object]) -> None:
        super().__init__("to be read from the disk first")
        self.bring = bring


class InvalidOffset(StorageError):  # noqa: N818 - Kafka's name
    """An offset does not follow the one before it, or is too far from the base offset of its segment."""


class DirectoryLocked(StorageError):  # noqa: N818 - says what happened
    """Another process, Apache Kafka included, holds the lock of a log directory."""


class DirectoryFailed(StorageError):  # noqa: N818 - says what happened
    """A log lies in a log directory that has failed: before the next start it cannot be used."""


class IncompatibleDirectory(StorageError):  # noqa: N818 - says what it is about
    """A log directory is another node's or cluster's, or was written in a format that we do not know."""


class OffsetOutOfRange(LogError):  # noqa: N818 - Kafka's name
    """The offset is below the start of the log or beyond its end."""

    kafka_code = ErrorCode.OFFSET_OUT_OF_RANGE


class RecordListTooLarge(LogError):  # noqa: N818 - Kafka's name
    """The batches of one append are larger than a segment may become."""

    kafka_code = ErrorCode.RECORD_LIST_TOO_LARGE


class OutOfOrderSequence(LogError):  # noqa: N818 - Kafka's name
    """A batch of an idempotent producer does not follow its last one (KIP-98)."""

    kafka_code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class InvalidProducerEpoch(LogError):  # noqa: N818 - Kafka's name
    """A newer instance of the producer has written already (KIP-98)."""

    kafka_code = ErrorCode.INVALID_PRODUCER_EPOCH


class InvalidTxnState(LogError):  # noqa: N818 - Kafka's name
    """The batch does not fit the state of its producer's transaction on this partition (KIP-890)."""

    kafka_code = ErrorCode.INVALID_TXN_STATE


class CoordinatorFenced(LogError):  # noqa: N818 - after Kafka's TransactionCoordinatorFencedException
    """A transaction marker comes from a coordinator that is no longer the current one (KIP-98)."""

    kafka_code = ErrorCode.TRANSACTION_COORDINATOR_FENCED
