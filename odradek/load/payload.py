"""Values for a load: letters at random, as those of Kafka's own load generator, and cheap to take."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_STOCK_BYTES = 1 << 16
_STRIDE = 4_099  # a prime, so that neighbours differ and the stock is gone through evenly


def payloads(size: int, seed: int = 0) -> Iterator[bytes]:
    """Yield values of `size` bytes for ever, the same ones for the same seed."""
    stock = bytes(random.Random(seed).choices(_LETTERS, k=_STOCK_BYTES + size))
    for number in count():
        start = number * _STRIDE % _STOCK_BYTES
        yield stock[start : start + size]
