"""How much consumers may fetch: consumer_byte_rate, and their part of request_percentage (KIP-13, KIP-124, KIP-219).

As in Kafka a fetch that would be too much is answered with nothing at all, not even with what its session would tell,
and counts for nothing. What may be sent at once is bounded by what the quota could ever let pass.
"""

from __future__ import annotations

from time import perf_counter

from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.responses import FileRegion, Response


class FetchQuotas:
    """The quotas, as one consumer's fetch sees them."""

    __slots__ = ("_began", "_context", "_quotas", "_seconds")

    def __init__(self, quotas: ClientQuotaEnforcement, context: RequestContext) -> None:
        self._quotas = quotas
        self._context = context
        self._began = perf_counter()
        self._seconds: float | None = None

    def most_bytes(self, asked: int) -> int:
        """Return how many bytes may be sent of those that are asked for."""
        most = self._quotas.most_fetched(self._context)
        return asked if most is None else min(asked, most)

    def waits(self) -> None:
        """The fetch has been looked at, and waits: from now on it takes next to no time."""
        if self._seconds is None:
            self._seconds = perf_counter() - self._began

    def throttle_ms(self, size: int) -> int:
        """Return for how many ms the consumer is throttled that is about to be sent records of so many bytes."""
        self.waits()
        worked_ms = self._quotas.worked(self._context, self._seconds or 0.0)
        return max(worked_ms, self._quotas.before_fetch(self._context, size))

    def sent(self, response: Response) -> Response:
        """Note an answer, and return it."""
        self._quotas.fetched(self._context, size_of(response))
        return response


def size_of(response: Response) -> int:
    """Return how many bytes an answer has."""
    if isinstance(response, bytes):
        return len(response)
    if isinstance(response, list):
        return sum(piece.length if isinstance(piece, FileRegion) else len(piece) for piece in response)
    return 0
