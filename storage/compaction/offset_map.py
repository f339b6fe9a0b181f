"""The last offset of every key, in memory of a fixed size.

Keys are told apart by their MD5, as in Kafka: 16 bytes stand for a key of any length, and 8 for its offset. The table
is one block of bytes with open addressing, so that a hundred million keys take no objects. Follows Kafka's log
behaviour, log cleaner, offset map (`SkimpyOffsetMap`).
"""

from hashlib import md5
from struct import Struct

SLOT_BYTES = 24
NOT_FOUND = -1

_HASH_BYTES = 16
_VALUE = Struct(">q")
_unpack = _VALUE.unpack_from
_pack = _VALUE.pack_into
_number = int.from_bytes


class OffsetMap:
    """A table for up to `capacity` keys, in at most `max_bytes` bytes of which at most `load_factor` is in use.

    `latest_offset` is the last offset up to which the log is reflected, set by whoever fills the table.
    """

    __slots__ = ("_slots", "_table", "capacity", "latest_offset", "size")

    def __init__(self, max_bytes: int, load_factor: float, wanted_keys: int) -> None:
        """Make an empty table; no larger than `wanted_keys` need, since memory costs time, too.

        A load factor that leaves no slot for a key, or none free, is taken as the nearest that does.
        """
        load_factor = min(max(load_factor, 0.01), 1.0)
        needed = int(wanted_keys / load_factor) + 2
        self._slots = max(2, min(needed, max_bytes // SLOT_BYTES))
        self._table = bytearray(self._slots * SLOT_BYTES)
        self.capacity = max(1, min(int(self._slots * load_factor), self._slots - 1))
        """How many keys fit."""
        self.size = 0
        """How many keys there are."""
        self.latest_offset = -1

    @property
    def table_bytes(self) -> int:
        """Memory of the table."""
        return len(self._table)

    def put(self, key: bytes, offset: int) -> bool:
        """Note that the record at `offset`, which is 0 or more, has this key; return False if there is no room."""
        digest = md5(key, usedforsecurity=False).digest()
        table = self._table
        at = _number(digest[:8], "little") % self._slots * SLOT_BYTES
        while True:
            end = at + _HASH_BYTES
            if not _unpack(table, end)[0]:  # offsets are kept plus one, so that 0 says that the slot is free
                if self.size >= self.capacity:
                    return False
                table[at:end] = digest
                self.size += 1
                break
            if table[at:end] == digest:
                break
            at = end + 8
            if at == len(table):
                at = 0
        _pack(table, end, offset + 1)
        return True

    def get(self, key: bytes) -> int:
        """Return the last offset that was put for the key, -1 if there is none."""
        digest = md5(key, usedforsecurity=False).digest()
        table = self._table
        at = _number(digest[:8], "little") % self._slots * SLOT_BYTES
        while True:
            end = at + _HASH_BYTES
            found: int = _unpack(table, end)[0]
            if not found:
                return NOT_FOUND
            if table[at:end] == digest:
                return found - 1
            at = end + 8
            if at == len(table):
                at = 0
