"""How long to wait before something is tried again (KIP-580): longer each time, and never all at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_JITTER: Final = 0.2
_DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double from the first to the longest, in seconds."""

    first_s: float
    longest_s: float

    def wait_s(self, failures: int, spread: Callable[[float, float], float] = random.uniform) -> float:
        """Return how long to wait after so many failures in a row, at least one; a fifth more or less by chance."""
        grown = self.first_s * 2.0 ** min(failures - 1, _DOUBLINGS)
        longest = max(self.first_s, self.longest_s)
        return min(grown, longest) * spread(1 - _JITTER, 1 + _JITTER)
