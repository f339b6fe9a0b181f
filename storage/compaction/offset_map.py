"""The last offset of every key, in memory of a fixed size.

Keys are told apart by their MD5, as in Kafka: 16 bytes stand for a key of any length, and 8 for its offset. The table
is two blocks of memory with open addressing, so that a hundred million keys take no objects. Follows Kafka's log
behaviour, log cleaner, offset map (`SkimpyOffsetMap`).
"""

from array import array
from hashlib import md5

SLOT_BYTES = 24
NOT_FOUND = -1

_DIGEST_BYTES = 16
_OFFSET_BYTES = 8


class OffsetMap:
    """A table for up to `capacity` keys, in at most `max_bytes` bytes of which at most `load_factor` is in use.

    `latest_offset` is the last offset up to which the log is reflected, set by whoever fills the table.
    """

    __slots__ = ("_digests", "_offsets", "_slots", "capacity", "latest_offset", "size")

    def __init__(self, max_bytes: int, load_factor: float, wanted_keys: int) -> None:
        """Make an empty table; no larger than `wanted_keys` need, since memory costs time, too.

        A load factor that leaves no slot for a key, or none free, is taken as the nearest that does.
        """
        load_factor = min(max(load_factor, 0.01), 1.0)
        needed = int(wanted_keys / load_factor) + 2
        self._slots = max(2, min(needed, max_bytes // SLOT_BYTES))
        self._digests = bytearray(self._slots * _DIGEST_BYTES)
        self._offsets = array("q", bytes(_OFFSET_BYTES)) * self._slots  # plus one, so that 0 says that a slot is free
        self.capacity = max(1, min(int(self._slots * load_factor), self._slots - 1))
        """How many keys fit; at least one slot stays free, where a search ends."""
        self.size = 0
        """How many keys there are."""
        self.latest_offset = -1

    @property
    def table_bytes(self) -> int:
        """Memory of the table."""
        return self._slots * SLOT_BYTES

    def put(self, key: bytes, offset: int) -> bool:
        """Note that the record at `offset`, which is 0 or more, has this key; return False if there is no room."""
        digest = md5(key, usedforsecurity=False).digest()
        offsets, digests, slots = self._offsets, self._digests, self._slots
        slot = hash(digest) % slots
        while offsets[slot]:
            at = slot * _DIGEST_BYTES
            if digests[at : at + _DIGEST_BYTES] == digest:
                offsets[slot] = offset + 1
                return True
            slot = slot + 1 if slot + 1 < slots else 0
        if self.size >= self.capacity:
            return False
        at = slot * _DIGEST_BYTES
        digests[at : at + _DIGEST_BYTES] = digest
        offsets[slot] = offset + 1
        self.size += 1
        return True

    def get(self, key: bytes) -> int:
        """Return the last offset that was put for the key, -1 if there is none."""
        digest = md5(key, usedforsecurity=False).digest()
        offsets, digests, slots = self._offsets, self._digests, self._slots
        slot = hash(digest) % slots
        while found := offsets[slot]:
            at = slot * _DIGEST_BYTES
            if digests[at : at + _DIGEST_BYTES] == digest:
                return found - 1
            slot = slot + 1 if slot + 1 < slots else 0
        return NOT_FOUND
