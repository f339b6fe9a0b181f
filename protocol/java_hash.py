"""Java's hash of a string, by which Kafka spreads names over partitions and partitions over fetchers."""

import sys
from array import array
from typing import Final

_LITTLE: Final = sys.byteorder == "little"


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: 32 bits, signed, over UTF-16 units."""
    value = 0
    for unit in array("H", text.encode("utf-16-le" if _LITTLE else "utf-16-be", "surrogatepass")):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value
