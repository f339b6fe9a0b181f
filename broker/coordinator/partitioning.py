"""Which partition of an internal topic has a name: by Java's hash of it, as every broker and tool computes it.

Follows `Utils.abs(name.hashCode()) % partitions` of Kafka, where the absolute value of the smallest integer is 0.
"""

from array import array
from functools import lru_cache
from typing import Final

_SHORT: Final = 100
"""Characters of a name whose hash is remembered: members ask for the same few names over and over."""


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: 32 bits, signed, over UTF-16 units."""
    value = 0
    for unit in array("H", text.encode("utf-16-le" if _LITTLE else "utf-16-be", "surrogatepass")):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


@lru_cache(maxsize=10_000)
def _remembered_hash(name: str) -> int:
    return java_hash(name)


def partition_for(name: str, partitions: int) -> int:
    """Return the partition that has the group (or transactional id) of that name."""
    value = _remembered_hash(name) if len(name) <= _SHORT else java_hash(name)
    return 0 if value == -(1 << 31) else abs(value) % partitions


_LITTLE = array("H", [1]).tobytes()[0] == 1
