"""Which partition of an internal topic has a name: by Java's hash of it, as every broker and tool computes it.

Follows `Utils.abs(name.hashCode()) % partitions` of Kafka, where the absolute value of the smallest integer is 0.
"""

from functools import lru_cache
from typing import Final

from odradek.protocol.java_hash import java_hash

_SHORT: Final = 100
"""Characters of a name whose hash is remembered: members ask for the same few names over and over."""


@lru_cache(maxsize=10_000)
def _remembered_hash(name: str) -> int:
    return java_hash(name)


def partition_for(name: str, partitions: int) -> int:
    """Return the partition that has the group (or transactional id) of that name."""
    value = _remembered_hash(name) if len(name) <= _SHORT else java_hash(name)
    return 0 if value == -(1 << 31) else abs(value) % partitions
