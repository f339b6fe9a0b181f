"""The records of one partition of `__consumer_offsets`, as they are read back.

Owns: which record goes where. Committed offsets go into the store as they come; of the records of groups only the last
one of each key is kept, and handed out at the end in the order they have in the log, which is what a compacted log
would look like. Offsets of a transaction wait for its end, as they did when they were written. Must not know: logs,
what the records of groups mean.
"""

from __future__ import annotations

from collections.abc import Iterator

from odradek.broker.coordinator.effects import CoordinatorRecord
from odradek.broker.groups.offsets import OffsetStore
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

log = get_logger("groups")

KEYS_REMEMBERED = 100_000
"""Keys of offsets that need not be taken apart again: the same few come over and over."""


class GroupPlayback:
    """Makes the state of a shard of the records that are read back from its partition."""

    def __init__(self, offsets: OffsetStore, place: str) -> None:
        """`place` names the partition in log lines."""
        self._offsets = offsets
        self._place = place
        self._groups: dict[bytes, bytes | None] = {}
        self._known_keys: dict[bytes, OffsetKey] = {}
        self._unknown_types: set[int] = set()

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Take a record that counts at once; no value removes what the key names."""
        offset_key = self._known_keys.get(key) or self._learn_key(key)
        if offset_key is not None:
            self._offsets.apply(offset_key, value)
        else:
            self._groups.pop(key, None)  # to the end of the order
            self._groups[key] = value

    def replay_pending(self, producer_id: int, key: bytes, value: bytes | None, offset: int) -> None:
        """Take a record of an open transaction; `offset` is its own, in the log."""
        offset_key = self._learn_key(key)
        if offset_key is not None:
            self._offsets.apply_pending(producer_id, offset_key, value, offset)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Let what a transaction brought count, or forget it."""
        self._offsets.end_transaction(producer_id, committed)

    def group_records(self) -> Iterator[CoordinatorRecord]:
        """Return the last record of each key of groups, tombstones left out, in the order of the log."""
        for key, value in self._groups.items():
            if value is None:
                continue
            try:
                yield decode_record(key, value)
            except UnknownRecordError as unknown:
                self._warn_unknown(unknown.number)
            except DecodeError as bad:
                log.warning("a record is skipped that does not parse", reason=str(bad), partition=self._place)

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
                partition=self._place,
            )
