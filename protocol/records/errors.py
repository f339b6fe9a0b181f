"""What can be wrong with record bytes, as Kafka's error codes.

KafkaError
+-- CorruptRecord            CORRUPT_MESSAGE: the bytes are damaged (size field, magic, checksum)
+-- InvalidRecord            INVALID_RECORD: the bytes arrived as sent, and what was sent is not a valid batch
+-- UnsupportedCompression   UNSUPPORTED_COMPRESSION_TYPE: the codec exists, but may not be used here
+-- DecompressionError       UNKNOWN_SERVER_ERROR: no known codec, or it does not decompress. Kafka has no code for
|                            this; its own code is what reaches a producer, and stops it from trying again
+-- TooMuchData              MESSAGE_TOO_LARGE: the records decompress to more than the limit
    +-- TooManyRecords       there are more of them than are converted at a time
"""

from odradek.protocol.errors import ErrorCode, KafkaError


class CorruptRecord(KafkaError):  # noqa: N818 - Kafka's name
    """The bytes are damaged: a size field, a magic byte or a checksum that cannot be right."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)


class InvalidRecord(KafkaError):  # noqa: N818 - Kafka's name
    """The batch is undamaged, but breaks a rule of the record format."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)


class UnsupportedCompression(KafkaError):  # noqa: N818 - Kafka's name
    """The codec is not allowed here."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message)


class DecompressionError(KafkaError):
    """Compressed records are of no known codec, or do not decompress."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNKNOWN_SERVER_ERROR, message)


class TooMuchData(KafkaError):  # noqa: N818 - says what it is
    """Compressed records hold more bytes than the limit: a bomb, or a limit too low for honest data."""

    def __init__(self, limit: int) -> None:
        super().__init__(ErrorCode.MESSAGE_TOO_LARGE, f"The records decompress to more than {limit} bytes")


class TooManyRecords(TooMuchData):
    """There are more records than are converted between versions at a time, which costs an object for each."""

    def __init__(self, limit: int) -> None:
        KafkaError.__init__(self, ErrorCode.MESSAGE_TOO_LARGE, f"There are more than {limit} records to be converted")
