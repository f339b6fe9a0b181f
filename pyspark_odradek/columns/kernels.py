"""Loops over the bytes of records, compiled by numba: from the body of a V2 batch to the buffers of Arrow columns.

Every function here checks each read against the end of the body, whatever the bytes say, and returns a negative number
where they are no records. Follows Kafka's storage format, record inside a V2 batch. Importing this module costs half a
second (numba), the first call of a function its compilation, which is cached on disk.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
FieldEnds: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.uint8]
Longs: TypeAlias = npt.NDArray[np.int64]

MALFORMED = -1

_VARINT_BITS = 35
_VARLONG_BITS = 70
"""A variable-length integer of 32 bits has at most five bytes, one of 64 bits ten."""


def _compiled(function: Any) -> Any:
    """Return the compiled function; where nothing can be cached (a read-only file system) every process compiles."""
    try:
        return numba.njit(function, cache=True, nogil=True, boundscheck=False)
    except RuntimeError:
        return numba.njit(function, nogil=True, boundscheck=False)


@_compiled
def _varlong(body: Bytes, at: int, end: int, bits: int) -> tuple[int, int]:
    """Return a zigzag integer and the position after it, MALFORMED as position where there is none."""
    raw = np.uint64(0)
    shift = np.uint64(0)
    while at < end and shift < bits:
        byte = np.uint64(body[at])
        at += 1
        raw |= (byte & np.uint64(0x7F)) << shift
        if byte < 0x80:
            return int(np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1))), at
        shift += np.uint64(7)
    return 0, MALFORMED


@_compiled
def _varint(body: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return a zigzag integer of 32 bits; those of its last byte that do not fit are dropped, as Kafka does."""
    if at < end and body[at] < 0x80:
        byte = np.int64(body[at])
        return int((byte >> 1) ^ -(byte & 1)), at + 1
    raw = np.uint64(0)
    shift = np.uint64(0)
    while at < end and shift < _VARINT_BITS:
        part = np.uint64(body[at])
        at += 1
        raw |= (part & np.uint64(0x7F)) << shift
        if part < 0x80:
            raw &= np.uint64(0xFFFFFFFF)
            return int(np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1))), at
        shift += np.uint64(7)
    return 0, MALFORMED


@_compiled
def _copy(source: Bytes, start: int, length: int, target: Bytes, at: int) -> None:
    """Copy bytes; with unsigned positions, which need no look for negative ones, this becomes a fast block copy."""
    from_at, to_at = np.uintp(start), np.uintp(at)
    for i in range(np.uintp(length)):
        target[to_at + i] = source[from_at + i]


@_compiled
def _after_headers(body: Bytes, at: int, end: int) -> int:
    """Return the position after the headers of a record that ends at `end`, MALFORMED where these are no headers."""
    count, at = _varint(body, at, end)
    if at < 0 or count < 0 or count > end - at:
        return MALFORMED
    for _ in range(count):
        name_length, at = _varint(body, at, end)
        if at < 0 or name_length < 0 or name_length > end - at:
            return MALFORMED
        value_length, at = _varint(body, at + name_length, end)
        if at < 0 or value_length > end - at:
            return MALFORMED
        if value_length > 0:
            at += value_length
    return at


@_compiled
def decode_records(
    body: Bytes,
    count: int,
    base_offset: int,
    base_time: int,
    time_step: int,
    max_time: int,
    first: int,
    until: int,
    rows: int,
    offsets: Longs,
    times: Longs,
    time_flags: Flags,
    key_ends: FieldEnds,
    key_flags: Flags,
    keys: Bytes,
    value_ends: FieldEnds,
    value_flags: Flags,
    values: Bytes,
) -> int:
    """Append the records of one batch whose offset is in [first, until) to the columns; return the rows there are now.

    `rows` is how many the columns have already; `key_ends` and `value_ends` have one entry more than rows, as Arrow's
    offsets do. A record's time is `base_time` plus `time_step` (1, or 0 where the batch has one time for all) times
    what it says itself, in ms; `times` are in microseconds, without flag where beyond `max_time`. The columns must have
    room for `count` rows more, and the bytes of `body`. Returns MALFORMED, with rows that are not to be used, where the
    bytes are not exactly `count` records.
    """
    end = len(body)
    at = 0
    key_end = np.int64(key_ends[rows])
    value_end = np.int64(value_ends[rows])
    for _ in range(count):
        length, at = _varint(body, at, end)
        if at < 0 or length < 1 or length > end - at:
            return MALFORMED
        record_end = at + length
        time_delta, at = _varlong(body, at + 1, record_end, _VARLONG_BITS)
        if at < 0:
            return MALFORMED
        offset_delta, at = _varint(body, at, record_end)
        if at < 0:
            return MALFORMED
        key_length, at = _varint(body, at, record_end)
        if at < 0 or key_length > record_end - at:
            return MALFORMED
        key_at = at
        if key_length > 0:
            at += key_length
        value_length, at = _varint(body, at, record_end)
        if at < 0 or value_length > record_end - at:
            return MALFORMED
        value_at = at
        if value_length > 0:
            at += value_length
        if at < record_end and body[at] == 0:
            at += 1
        else:
            at = _after_headers(body, at, record_end)
        if at != record_end:
            return MALFORMED
        offset = base_offset + offset_delta
        if first <= offset < until:
            offsets[rows] = offset
            time = base_time + time_delta * time_step
            time_flags[rows] = -max_time <= time <= max_time
            times[rows] = time * 1000
            key_flags[rows] = key_length >= 0
            if key_length > 0:
                _copy(body, key_at, key_length, keys, key_end)
                key_end += key_length
            value_flags[rows] = value_length >= 0
            if value_length > 0:
                _copy(body, value_at, value_length, values, value_end)
                value_end += value_length
            rows += 1
            key_ends[rows] = key_end
            value_ends[rows] = value_end
    return rows if at == end else MALFORMED


@_compiled
def decode_headers(
    body: Bytes,
    count: int,
    base_offset: int,
    first: int,
    until: int,
    rows: int,
    list_ends: FieldEnds,
    list_flags: Flags,
    name_ends: FieldEnds,
    names: Bytes,
    value_ends: FieldEnds,
    value_flags: Flags,
    values: Bytes,
) -> int:
    """Append the headers of the same records as `decode_records`; a record without headers has null instead of a list.

    `body` must have passed `decode_records`. The columns of names and values must have room for half as many entries as
    `body` has bytes, and for its bytes. Returns the rows there are now.
    """
    end = len(body)
    at = 0
    entries = np.int64(list_ends[rows])
    name_end = np.int64(name_ends[entries])
    value_end = np.int64(value_ends[entries])
    for _ in range(count):
        length, at = _varint(body, at, end)
        record_end = at + length
        _, at = _varlong(body, at + 1, record_end, _VARLONG_BITS)
        offset_delta, at = _varint(body, at, record_end)
        for _field in range(2):
            field_length, at = _varint(body, at, record_end)
            if field_length > 0:
                at += field_length
        offset = base_offset + offset_delta
        if first <= offset < until:
            header_count, at = _varint(body, at, record_end)
            for _header in range(header_count):
                name_length, at = _varint(body, at, record_end)
                _copy(body, at, name_length, names, name_end)
                name_end += name_length
                at += name_length
                value_length, at = _varint(body, at, record_end)
                value_flags[entries] = value_length >= 0
                if value_length > 0:
                    _copy(body, at, value_length, values, value_end)
                    value_end += value_length
                    at += value_length
                entries += 1
                name_ends[entries] = name_end
                value_ends[entries] = value_end
            list_flags[rows] = header_count > 0
            rows += 1
            list_ends[rows] = entries
        at = record_end
    return rows
