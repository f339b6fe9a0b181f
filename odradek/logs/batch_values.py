"""The header of a batch as values to be shown, in the order of Kafka's own inspector. Pure.

A dump may show millions, so there is one tuple for each, and the forms that it is put into are made once.
"""

from __future__ import annotations

from odradek.logs.entries import Fields
from protocol.records.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
)

BOOL = ("false", "true")
CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd", "unknown-5", "unknown-6", "unknown-7")
NO_TIME, CREATE_TIME, APPEND_TIME = "NoTimestampType", "CreateTime", "LogAppendTime"

_MAX_INT32 = 0x7FFF_FFFF
_ATTRIBUTES = [
    (
        BOOL[bits & TRANSACTIONAL_BIT != 0],
        BOOL[bits & CONTROL_BIT != 0],
        APPEND_TIME if bits & LOG_APPEND_TIME_BIT else CREATE_TIME,
        CODEC_NAMES[bits & CODEC_MASK],
    )
    for bits in range(256)
]
"""What the attributes of a batch mean, by their low byte."""


class BatchForm:
    """How batches are written: by %-forms for a batch, for an old message, and for a delete horizon."""

    __slots__ = ("_batch", "_horizon", "_message", "_no_horizon")

    def __init__(self, batch: str, message: str, horizon: str, no_horizon: str) -> None:
        """`batch` takes 19 values, `message` 8, in the order in which `show` gives them."""
        self._batch = batch
        self._message = message
        self._horizon = horizon
        self._no_horizon = no_horizon

    def show(self, position: int, fields: Fields, valid: bool) -> str:
        """Return the text of a batch or an old message that begins at byte `position` of its file."""
        base, length, leader_epoch, magic, crc, attributes, delta, base_time, max_time = fields[:9]
        transactional, control, time, codec = _ATTRIBUTES[attributes & 0xFF]
        size = length + LOG_OVERHEAD
        if magic != CURRENT_MAGIC:
            time = time if magic else NO_TIME
            return self._message % (base, position, time, max_time, size, magic, codec, crc, BOOL[valid])
        producer, epoch, sequence, count = fields[9:]
        return self._batch % (
            base,
            base + delta,
            count,
            sequence,
            sequence if sequence == NO_SEQUENCE else (sequence + delta) & _MAX_INT32,
            producer,
            epoch,
            leader_epoch,
            transactional,
            control,
            self._horizon % base_time if attributes & DELETE_HORIZON_BIT else self._no_horizon,
            position,
            time,
            max_time,
            size,
            magic,
            codec,
            crc,
            BOOL[valid],
        )
