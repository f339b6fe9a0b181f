"""The header of a batch as values to be shown, in the order of Kafka's own inspector. Pure.

A dump may show millions, and those of one producer differ in half of their values only: the others are put into a form
once.
"""

from __future__ import annotations

from odradek.protocol.records.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    CURRENT_MAGIC,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
)
from odradek.storage.segment.entry_walk import Fields

BOOL = ("false", "true")
CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd", "unknown-5", "unknown-6", "unknown-7")
NO_TIME, CREATE_TIME, APPEND_TIME = "NoTimestampType", "CreateTime", "LogAppendTime"

_MAX_INT32 = 0x7FFF_FFFF
_MAX_FORMS = 1024
"""Kept at a time, so that a log with a producer for every batch takes no more memory."""
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

    __slots__ = ("_batch", "_forms", "_horizon", "_message", "_no_horizon")

    def __init__(self, batch: str, message: str, horizon: str, no_horizon: str) -> None:
        """`batch` takes 9 values, as `_form` gives them, then 10, as `show` does: of these `%` is doubled.

        `message` takes 9.
        """
        self._batch = batch
        self._message = message
        self._horizon = horizon
        self._no_horizon = no_horizon
        self._forms: dict[tuple[int, int, int, int, bool], str] = {}

    def show(self, position: int, fields: Fields, valid: bool) -> str:
        """Return the text of a batch or an old message that begins at byte `position` of its file."""
        base, length, leader, magic, crc, bits, delta, base_time, max_time, producer, epoch, sequence, count = fields
        if magic != CURRENT_MAGIC:
            _, _, time, codec = _ATTRIBUTES[bits & 0xFF]
            time, size = time if magic else NO_TIME, length + LOG_OVERHEAD
            return self._message % (base, position, time, max_time, size, magic, codec, crc, BOOL[valid])
        kind = producer, epoch, leader, bits, valid
        return (self._forms.get(kind) or self._form(*kind)) % (
            base,
            base + delta,
            count,
            sequence,
            sequence if sequence == NO_SEQUENCE else (sequence + delta) & _MAX_INT32,
            self._horizon % base_time if bits & DELETE_HORIZON_BIT else self._no_horizon,
            position,
            max_time,
            length + LOG_OVERHEAD,
            crc,
        )

    def _form(self, producer: int, epoch: int, leader: int, bits: int, valid: bool) -> str:
        """Return the form of batches of a producer that are alike, and keep it."""
        transactional, control, time, codec = _ATTRIBUTES[bits & 0xFF]
        values = producer, epoch, leader, transactional, control, time, CURRENT_MAGIC, codec, BOOL[valid]
        if len(self._forms) >= _MAX_FORMS:
            self._forms.clear()
        form = self._forms[producer, epoch, leader, bits, valid] = self._batch % values
        return form
