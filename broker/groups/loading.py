"""Reading one partition of `__consumer_offsets` back into memory.

Owns: walking over the log in chunks, and which record goes where. Committed offsets go into the store as they come;
of the records of groups only the last one of each key is kept, and handed out at the end in the order they have in the
log, which is what a compacted log would look like. Offsets of a transaction wait for its end, as they did when they
were written. Must not know: threads, event loops, what the records of groups mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from odradek.broker.groups.effects import Record
from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.plain_records import plain_records
from odradek.broker.groups.records import (
    LEGACY_OFFSET_COMMIT,
    OFFSET_COMMIT,
    OffsetKey,
    UnknownRecordError,
    decode_offset_key,
    decode_record,
    record_type,
)
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import DecodeError
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

log = get_logger("groups")

RECORDS_PER_SLICE = 1000
"""Records taken in before others get their turn: some milliseconds' worth."""

KEYS_REMEMBERED = 100_000
"""Keys of offsets that need not be taken apart again: the same few come over and over."""


class Loader:
    """Reads one partition's log from its start to its end."""

    def __init__(self, source: Log, offsets: OffsetStore, chunk_bytes: int) -> None:
        self._log = source
        self._offsets = offsets
        self._chunk_bytes = chunk_bytes
        self._position = source.log_start_offset
        self._groups: dict[bytes, bytes | None] = {}
        self._known_keys: dict[bytes, OffsetKey] = {}
        self._unknown_types: set[int] = set()
        self.records = 0
        """How many there were."""

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
        """At most how much is to be read."""
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
                        for key, value in plain:
                            self._take_record(key, value)
                    else:
                        self._take_batch(batch, header)
                self._position = header.next_offset
                in_slice += max(1, header.records_count)
                if in_slice >= RECORDS_PER_SLICE:
                    in_slice = 0
                    yield
        if self._position == before:
            raise CorruptRecord(f"{self._log!r} has no complete batch at offset {before}")

    def group_records(self) -> Iterator[Record]:
        """Return the last record of each key of groups, tombstones left out, in the order of the log."""
        for key, value in self._groups.items():
            if value is None:
                continue
            try:
                yield decode_record(key, value)
            except UnknownRecordError as unknown:
                self._warn_unknown(unknown.number)
            except DecodeError as bad:
                self._warn_unreadable(str(bad))

    def _take_batch(self, batch: memoryview, header: BatchHeader) -> None:
        if header.is_control:
            for record in iter_records(batch):
                marker = end_transaction_marker(record)
                if marker is not None:
                    self._offsets.end_transaction(header.producer_id, marker.committed)
            return
        producer_id = header.producer_id if header.is_transactional else None
        for record in iter_entry_records(batch):
            if record.key is None:
                self._warn_unreadable(f"the record at offset {record.offset} has no key")
            elif producer_id is None:
                self._take_record(record.key, record.value)
            else:
                self._take_pending(producer_id, record.key, record.value, record.offset)

    def _take_record(self, raw: bytes, value: bytes | None) -> None:
        self.records += 1
        key = self._known_keys.get(raw) or self._learn_key(raw)
        if key is not None:
            self._offsets.apply(key, value)
        else:
            self._groups.pop(raw, None)  # to the end of the order
            self._groups[raw] = value

    def _take_pending(self, producer_id: int, raw: bytes, value: bytes | None, offset: int) -> None:
        self.records += 1
        key = self._learn_key(raw)
        if key is not None:
            self._offsets.apply_pending(producer_id, key, value, offset)

    def _learn_key(self, raw: bytes) -> OffsetKey | None:
        """Return whose offset the key names, None if it is a key of another type, or none at all."""
        try:
            if record_type(raw) not in (OFFSET_COMMIT, LEGACY_OFFSET_COMMIT):
                return None
            key = decode_offset_key(raw)
        except DecodeError:
            return None  # if it is the last of its kind, `group_records` will say what is wrong with it
        if len(self._known_keys) >= KEYS_REMEMBERED:
            self._known_keys.clear()
        self._known_keys[raw] = key
        return key

    def _warn_unknown(self, number: int) -> None:
        if number not in self._unknown_types:
            self._unknown_types.add(number)
            log.warning(
                "records of an unknown type are skipped: a later version wrote them, or they are of share or streams"
                " groups",
                type=number,
                topic=self._log.topic,
                partition=self._log.partition,
            )

    def _warn_unreadable(self, reason: str) -> None:
        log.warning(
            "a record is skipped that does not parse",
            reason=reason,
            topic=self._log.topic,
            partition=self._log.partition,
        )
