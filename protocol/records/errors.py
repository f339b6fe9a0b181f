"""What can be wrong with record bytes, as Kafka's error codes.

KafkaError
+-- CorruptRecord            CORRUPT_MESSAGE: the bytes are damaged (size field, magic, checksum)
+-- InvalidRecord            INVALID_RECORD: the bytes arrived as sent, and what was sent is not a valid batch
|   +-- DecompressionError   the compressed part does not decompress, or is larger than its limit
+-- UnsupportedCompression   UNSUPPORTED_COMPRESSION_TYPE
"""

from protocol.errors import ErrorCode, KafkaError


class CorruptRecord(KafkaError):  # noqa: N818 - Kafka's name
    """The bytes are damaged: a size field, a magic byte or a checksum that cannot be right."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)


class InvalidRecord(KafkaError):  # noqa: N818 - Kafka's name
    """The batch is undamaged, but breaks a rule of the record format."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)


class DecompressionError(InvalidRecord):
    """Compressed records do not decompress, or to more than the limit allows."""


class UnsupportedCompression(KafkaError):  # noqa: N818 - Kafka's name
    """The codec is unknown, or not allowed here."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message)
