"""Keys and values of a plain batch, quickly: a coordinator reads a million small records before it serves.

Takes batches that are not compressed, and records whose sizes are of the common kind (keys and values below 8 KiB, no
headers); for anything else it says None, and the careful reader takes over. Follows Kafka's storage format, record
inside a V2 batch. Must not know: what the records mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from odradek.protocol.records.batch import HEADER_SIZE

KeyAndValue = tuple[bytes, bytes | None]

NULL = 1
"""The size -1 as it is stored."""


def plain_records(data: bytes, start: int, end: int, count: int) -> Sequence[KeyAndValue] | None:
    """Return key and value of each of the `count` records of the uncompressed batch at data[start:end]; None where it
    is not of the common kind (or not well-formed)."""
    at = start + HEADER_SIZE
    found: list[KeyAndValue] = []
    try:
        for _ in range(count):
            size = data[at]
            at += 1
            if size > 0x7F:
                more = data[at]
                if more > 0x7F:
                    return None
                size = size & 0x7F | more << 7
                at += 1
            record_end = at + (size >> 1)
            at += 1  # attributes, all unused
            while data[at] > 0x7F:  # the timestamp
                at += 1
            at += 1
            while data[at] > 0x7F:  # the offset
                at += 1
            at += 1
            size = data[at]
            at += 1
            if size > 0x7F:
                more = data[at]
                if more > 0x7F:
                    return None
                size = size & 0x7F | more << 7
                at += 1
            if size & 1:
                return None
            key_end = at + (size >> 1)
            key = data[at:key_end]
            size = data[key_end]
            at = key_end + 1
            if size == NULL:
                value = None
            else:
                if size > 0x7F:
                    more = data[at]
                    if more > 0x7F:
                        return None
                    size = size & 0x7F | more << 7
                    at += 1
                if size & 1:
                    return None
                value_end = at + (size >> 1)
                value = data[at:value_end]
                at = value_end
            if data[at] != 0 or at + 1 != record_end:
                return None
            at = record_end
            found.append((key, value))
    except IndexError:
        return None
    return found if at == end else None
