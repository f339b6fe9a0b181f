"""Clients that take more than their share are told to wait, and nothing is read from them until they have (KIP-219).

Owns: which requests count for what. The answer goes out at once, then the connection stops reading (`Throttled`). What
is measured, and what is too much, is in `broker.quotas`. Fetches are decided on before they are answered, in their
handler. There is no such step where no quota is set, and of a producer below its limit only what it sends is taken from
what is left.

Exempt, as in Kafka: what nodes ask each other, producers without acks from the quota of time, and whatever is handed on
to a controller, which has the quotas of that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import perf_counter
from typing import Final

from odradek.broker.quotas.enforcement import PERCENT_PER_SECOND, ClientQuotaEnforcement
from odradek.broker.quotas.telling import throttled, told_throttle_ms
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, HandOver, LastAnswer, Response, Throttled
from odradek.protocol.registry import API, Api, ApiKey

Work = Callable[[RequestContext, memoryview, bool], Response | Deferred[Response]]
"""Answers a frame without looking at quotas again."""

BETWEEN_NODES: Final = frozenset(
    {
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.ENVELOPE,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALTER_PARTITION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.WRITE_TXN_MARKERS,
    }
)
"""What clients do not ask: it takes from nobody's share."""
MUTATIONS: Final = frozenset({ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS})
"""Whose handlers tell by themselves how long to wait, since they refuse what is too much."""


class Throttling:
    """Counts requests, and throttles who goes above a quota."""

    def __init__(self, quotas: ClientQuotaEnforcement, forwarded: Collection[ApiKey] = ()) -> None:
        """`forwarded` are the APIs that a controller answers, and throttles."""
        self._quotas = quotas
        self._forwarded = frozenset(forwarded)
        self.generation: object
        """What is set at present: what was found out for a client counts while it is that."""
        self.is_timed: bool
        """Whether it matters how long requests take, Produce and Fetch too."""
        self.follow()

    def follow(self) -> None:
        """Other quotas are set."""
        self.generation, self.is_timed = self._quotas.generation, self._quotas.is_timed

    def handle(self, work: Work, context: RequestContext, frame: memoryview) -> Response | Deferred[Response]:
        """Work on a frame that is neither Produce nor Fetch, and count it; raises what `work` does."""
        began = perf_counter() if self.is_timed else 0.0
        answer = work(context, frame, True)
        key = ApiKey(frame[1])  # there is none above 255
        if key in BETWEEN_NODES:
            return answer
        return self.count(context, key, len(frame), answer, perf_counter() - began if self.is_timed else 0.0)

    def produced(
        self, context: RequestContext, size: int, answer: Response | Deferred[Response], began: float
    ) -> Response | Deferred[Response]:
        """Count a Produce request of so many bytes, whose work began then by the performance counter; 0 if time
        does not matter.

        Hot path: what is left to its client is taken from; where that is not known or not enough it is measured.
        """
        seconds = perf_counter() - began if began else 0.0
        allowance = context.allowance
        if allowance is not None and allowance.generation is self.generation and isinstance(answer, bytes):
            written, worked = allowance.produced, allowance.worked
            bytes_left, percent_left = written.left - size, worked.left - seconds * PERCENT_PER_SECOND
            if bytes_left >= 0.0 and percent_left > 0.0:
                written.left, worked.left = bytes_left, percent_left
                return answer
        return self.count(context, ApiKey.PRODUCE, size, answer, seconds)

    def count(
        self,
        context: RequestContext,
        key: ApiKey,
        size: int,
        answer: Response | Deferred[Response],
        seconds: float = 0.0,
    ) -> Response | Deferred[Response]:
        """Count a request of so many bytes that took so long, once it is answered."""
        api, version = API[key], context.api_version
        if isinstance(answer, Deferred):
            return answer.then(lambda response: self._settled(context, api, version, size, seconds, response))
        return self._settled(context, api, version, size, seconds, answer)

    def _settled(
        self, context: RequestContext, api: Api, version: int, size: int, seconds: float, answer: Response
    ) -> Response:
        """Count a request that is answered, and throttle its client if it was too much."""
        if isinstance(answer, CloseConnectionError | HandOver | LastAnswer | Throttled):
            return answer
        quotas, told_ms, throttle_ms = self._quotas, 0, 0
        if api.key in self._forwarded or api.key in MUTATIONS:
            told_ms = told_throttle_ms(answer, api, version)
        if api.key == ApiKey.PRODUCE:
            throttle_ms = quotas.produced(context, size)
        if answer is not None and api.key not in self._forwarded:
            throttle_ms = max(throttle_ms, quotas.worked(context, seconds))
        if throttle_ms > told_ms:
            return throttled(answer, api, version, throttle_ms)
        return Throttled(answer, told_ms / 1000) if told_ms > 0 else answer
