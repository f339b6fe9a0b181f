"""What a topic's configuration asks of a batch, in the form that the check of each batch needs.

Knows the configuration's names; decides nothing about a batch. Follows Kafka's topic configs compression.type,
compression.*.level, message.timestamp.* and max.message.bytes (KIP-390, KIP-937).
"""

from dataclasses import dataclass

from odradek.config.topic import TopicConfig
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.compression import DEFAULT_LIMIT as DECOMPRESSED_LIMIT

NO_LIMIT_MS = (1 << 63) - 1
"""The value of a timestamp limit that means there is none."""
MAX_TIMESTAMP = (1 << 63) - 1
"""The last timestamp that a batch can hold."""

LEAST_DECOMPRESSED_LIMIT = 16 * 1024 * 1024
DECOMPRESSED_RATIO = 64
"""A batch may decompress to so many times the largest batch of its topic, within 16 and 128 MiB.

Clients bound their batches before they compress them (batch.size, max.request.size, message.max.bytes of librdkafka),
the Java client by a guess at the ratio that lags behind by a batch or two; tens of times is honest data.
"""
LEAST_RECORDS_LIMIT = 65_536
"""A batch may have as many records as its topic's largest batch has bytes, and always so many: a client that fills
batches of 1 MB before compressing them has a sixth of that at most, and librdkafka never more than a million."""

_CODECS = {"uncompressed": Codec.NONE} | {codec.name.lower(): codec for codec in Codec if codec}


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """The rules of one topic-partition; the defaults are Kafka's."""

    codec: Codec | None = None
    """What batches are to be compressed with; None leaves that to the producer."""
    level: int | None = None
    """Level for the codec; None is the codec's default."""
    log_append_time: bool = False
    """Whether the time of a record is when it was appended, rather than what its producer said."""
    timestamp_before_max_ms: int = NO_LIMIT_MS
    """How far a producer's timestamp may be in the past."""
    timestamp_after_max_ms: int = 3_600_000
    """How far a producer's timestamp may be in the future."""
    compacted: bool = False
    """Whether every record needs a key."""
    max_message_bytes: int = 1_048_588
    """Largest batch, header included, as it came and as it is stored."""
    partition: str = ""
    """``topic-partition`` for messages; may stay empty."""

    @property
    def decompressed_limit(self) -> int:
        """Bytes that the records of a batch may decompress to (MESSAGE_TOO_LARGE beyond them)."""
        return min(max(DECOMPRESSED_RATIO * self.max_message_bytes, LEAST_DECOMPRESSED_LIMIT), DECOMPRESSED_LIMIT)

    @property
    def records_limit(self) -> int:
        """Records that a batch may have (MESSAGE_TOO_LARGE beyond them)."""
        return max(self.max_message_bytes, LEAST_RECORDS_LIMIT)

    @property
    def concern_every_record(self) -> bool:
        """Whether a rule can be broken by a record that the header and its neighbours tell nothing of.

        A limit in the past is one: a header knows the first timestamp and the last, not the earliest. Such a limit is
        no default, while the one in the future is, and there the greatest timestamp of a batch is enough.
        """
        if self.compacted:
            return True
        return self.timestamp_before_max_ms != NO_LIMIT_MS and not self.log_append_time


def validation_rules(config: TopicConfig, partition: str = "") -> ValidationRules:
    """Return the rules that follow from a topic's configuration."""
    codec = _CODECS.get(config.compression_type)  # "producer" is no codec
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return ValidationRules(
        codec=codec,
        level=levels.get(codec) if codec else None,
        log_append_time=config.log_append_time,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        compacted=config.compacted,
        max_message_bytes=config.max_message_bytes,
        partition=partition,
    )
