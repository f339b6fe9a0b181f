"""What a produce request may carry: from version 3 on exactly one batch, of version 2, of a codec the version knows.

Follows Kafka's produce path, the checks of a request before any log is asked (ProduceRequest.validateRecords, KIP-110).
"""

from odradek.protocol.records.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CURRENT_MAGIC,
    MAGIC_AT,
    Codec,
    attributes_of_only,
    entry_size,
)
from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.errors import DecompressionError, InvalidRecord, UnsupportedCompression

_FIRST_VERSION_OF_MAGIC_2 = 3
_FIRST_VERSION_OF_ZSTD = 7


def check_produce_records(data: Buffer | None, version: int) -> None:
    """Raise an error if a produce request of `version` may not carry `data` for a partition.

    Of versions below 3 nothing is asked here: what they carry is looked at by `convert_message_set`.
    Bytes after the batch that are no complete batch are no fault; `validate_client_batch` cuts them off. Raises
    InvalidRecord (no batch, several, or of an old version), UnsupportedCompression (zstd before version 7),
    CorruptRecord (what follows is no batch at all).
    """
    if version >= _FIRST_VERSION_OF_ZSTD and data is not None and attributes_of_only(data) >= 0:
        return  # what nearly all are
    if version < _FIRST_VERSION_OF_MAGIC_2:
        return
    size = entry_size(data) if data is not None else 0
    if data is None or not size:
        raise InvalidRecord(
            f"Produce requests with version {version} must have at least one record batch per partition"
        )
    if data[MAGIC_AT] != CURRENT_MAGIC:
        raise InvalidRecord(
            f"Produce requests with version {version} are only allowed to contain record batches with magic version 2"
        )
    if version < _FIRST_VERSION_OF_ZSTD and size > ATTRIBUTES_AT + 1:
        codec = data[ATTRIBUTES_AT + 1] & CODEC_MASK
        if codec == Codec.ZSTD:
            raise UnsupportedCompression(
                f"Produce requests with version {version} are not allowed to use ZStandard compression"
            )
        if codec > Codec.ZSTD:
            raise DecompressionError(f"Unknown compression type id: {codec}")
    if len(data) != size and entry_size(data, size):
        raise InvalidRecord(
            f"Produce requests with version {version} are only allowed to contain "
            "exactly one record batch per partition"
        )
