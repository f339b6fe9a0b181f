"""Reading one partition of an internal topic back, from its start to its end.

Owns: walking over the log in chunks and slices, and the checks of what is read. What records mean is up to the
`Playback` they are handed to. Must not know: threads, event loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from odradek.broker.coordinator.plain_records import plain_records
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.records.batch import (
    CURRENT_MAGIC,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    BatchHeader,
    check_crc,
    iter_batches,
)
from odradek.protocol.records.control import end_transaction_marker
from odradek.protocol.records.errors import CorruptRecord
from odradek.protocol.records.legacy import check_message_crc
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import iter_records
from odradek.storage.log.log import Log
from odradek.storage.names import LOG_SUFFIX

log = get_logger("coordinator")

RECORDS_PER_SLICE = 1000
"""Records taken in before others get their turn: some milliseconds' worth."""


class Playback(Protocol):
    """Takes the records of a partition in, in their order."""

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Take a record that counts at once; no value removes what the key names."""

    def replay_pending(self, producer_id: int, key: bytes, value: bytes | None, offset: int) -> None:
        """Take a record of a producer's open transaction, which counts if that is committed; with its offset."""

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Take the marker that ends the open transaction of a producer."""


class Loader:
    """Reads one partition's log from its start to its end."""

    def __init__(self, source: Log, playback: Playback, chunk_bytes: int) -> None:
        """`chunk_bytes` is read at a time, or one batch if that is larger."""
        self._log = source
        self._playback = playback
        self._chunk_bytes = chunk_bytes
        self._position = source.log_start_offset
        self.records = 0
        """Records with a key that were read so far, markers of transactions not counted."""

    @property
    def is_at_end(self) -> bool:
        """Whether everything that is in the log was read."""
        return self._position >= self._log.log_end_offset

    @property
    def place(self) -> str:
        """Where it reads on, for people: a file, and an offset in it."""
        segment = self._log.segments.holding(self._position)
        return f"{segment.path(LOG_SUFFIX)} at offset {self._position}"

    @property
    def bytes_left(self) -> int:
        """Bytes still to be read, at most."""
        return 0 if self.is_at_end else self._log.size

    def next_chunk(self) -> Callable[[], bytes]:
        """Return what reads the next chunk, on any thread; StorageError where the log cannot be read."""
        found = self._log.read(self._position, self._chunk_bytes, self._log.log_end_offset, at_least_one=True)
        file, position, length = found.file, found.position, found.length
        if file is None:
            return bytes
        return lambda: file.pread(length, position)

    def take(self, chunk: bytes) -> Iterator[None]:
        """Take in a chunk, in slices: the work is done when the iterator is at its end.

        Raises:
            KafkaError: the log is corrupt there.
        """
        if not chunk:
            self._position = self._log.log_end_offset
            return
        before, in_slice = self._position, 0
        with memoryview(chunk) as view:
            for position, header in iter_batches(view):
                if header.last_offset < self._position:
                    continue
                end = position + header.length + LOG_OVERHEAD
                with view[position:end] as batch:
                    plain = None
                    if header.magic < CURRENT_MAGIC:  # of a Kafka before 0.11
                        check_message_crc(batch)
                    else:
                        check_crc(batch, header)
                        if header.attributes & ~LOG_APPEND_TIME_BIT == 0:
                            plain = plain_records(chunk, position, end, header.records_count)
                    if plain is not None:
                        replay = self._playback.replay
                        for key, value in plain:
                            replay(key, value)
                        self.records += len(plain)
                    else:
                        self._take_batch(batch, header)
                self._position = header.next_offset
                in_slice += max(1, header.records_count)
                if in_slice >= RECORDS_PER_SLICE:
                    in_slice = 0
                    yield
        if self._position == before:
            raise CorruptRecord(f"{self._log!r} has no complete batch at offset {before}")

    def _take_batch(self, batch: memoryview, header: BatchHeader) -> None:
        if header.is_control:
            for record in iter_records(batch):
                marker = end_transaction_marker(record)
                if marker is not None:
                    self._playback.end_transaction(header.producer_id, marker.committed)
            return
        producer_id = header.producer_id if header.is_transactional else None
        for record in iter_entry_records(batch):
            if record.key is None:
                log.warning(
                    "a record is skipped that has no key",
                    offset=record.offset,
                    topic=self._log.topic,
                    partition=self._log.partition,
                )
                continue
            self.records += 1
            if producer_id is None:
                self._playback.replay(record.key, record.value)
            else:
                self._playback.replay_pending(producer_id, record.key, record.value, record.offset)
