"""What clients may take, as requests ask for it: bytes, time of the event loop, changes of the cluster.

Owns: from what is set in the image to who is throttled, and for how long. Must not know: requests, answers,
connections: `dispatch.throttling` tells clients and stops reading from them. What limits count for a client is found
out once for each connection and each change of quotas (`ClientAllowance`), and kept in the context of its requests.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from odradek.broker.metadata.client_quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    NO_QUOTAS,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    ClientQuotas,
)
from odradek.broker.quotas.buckets import TokenBucket
from odradek.broker.quotas.precedence import ClientsQuotas, quotas_of_client
from odradek.broker.quotas.rates import Windows
from odradek.broker.quotas.sensors import Remembered, Sensor
from odradek.broker.runtime.context import UNLIMITED, RateLimits, RequestContext
from odradek.protocol.errors import ErrorCode, KafkaError

PERCENT_PER_SECOND: Final = 100.0
"""A request that takes one thread for a second."""


class ClientAllowance(RateLimits):
    """What one client may take, alone or with others; None where there is no limit."""

    __slots__ = ("fetched", "timed", "written")

    def __init__(
        self, generation: object, produced: Sensor | None, fetched: Sensor | None, worked: Sensor | None
    ) -> None:
        self.generation = generation
        self.written = produced
        """Bytes of requests."""
        self.fetched = fetched
        """Bytes of answers."""
        self.timed = worked
        """Time of the event loop, in percent."""
        self.produced = UNLIMITED if produced is None else produced
        self.worked = UNLIMITED if worked is None else worked


class MutationQuota:
    """Tokens for the changes of one request, one for each partition; `throttle_ms` says how it went."""

    def __init__(
        self, bucket: TokenBucket | None = None, now_ms: Callable[[], float] = float, *, is_strict: bool = False
    ) -> None:
        """`is_strict`: what there are no tokens for is refused, since the client knows the error. Without a bucket
        there are always some."""
        self._bucket = bucket
        self._now_ms = now_ms
        self._is_strict = is_strict
        self.throttle_ms = 0

    def take(self, partitions: int) -> None:
        """Take tokens; raise KafkaError THROTTLING_QUOTA_EXCEEDED where there are none.

        One that finds the bucket not below zero may take more than there is, as in Kafka.
        """
        bucket, now_ms = self._bucket, self._now_ms()
        if bucket is None:
            return
        if self._is_strict:
            throttle_ms = bucket.throttle_ms(now_ms)
            if throttle_ms:
                self.throttle_ms = throttle_ms
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")
            bucket.take(partitions, now_ms)
            return
        bucket.take(partitions, now_ms)
        self.throttle_ms = max(self.throttle_ms, bucket.throttle_ms(now_ms))


NO_MUTATION_QUOTA: Final = MutationQuota()
"""Of a client that may change as much as it likes."""


class ClientQuotaEnforcement:
    """What is set, and what each client has taken."""

    def __init__(self, clients: Windows, controller: Windows, now_ms: Callable[[], float]) -> None:
        """`clients` are the windows of quota.window.*, `controller` those of controller.quota.window.*."""
        self._windows = clients
        self._controller_windows = controller
        self._now_ms = now_ms
        self._quotas = NO_QUOTAS
        self._sensors: dict[str, Remembered[Sensor]] = {
            key: Remembered() for key in (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)
        }
        self._buckets: Remembered[TokenBucket] = Remembered()
        self.generation: object = object()
        """Another one with every change of quotas."""
        self.is_active = False
        """Whether anything is set for anybody."""
        self.is_timed = False
        """Whether it matters how long requests take."""

    def follow(self, quotas: ClientQuotas) -> None:
        """Other quotas count from now on."""
        self._quotas = quotas
        self.generation = object()
        self.is_active = any(IP not in dict(one.parts) for one in quotas.values())
        self.is_timed = any(REQUEST_PERCENTAGE in one.values for one in quotas.values())

    def allowance(self, context: RequestContext) -> ClientAllowance:
        """Return what the client of a request may take."""
        known = context.allowance
        if isinstance(known, ClientAllowance) and known.generation is self.generation:
            return known
        found = quotas_of_client(self._quotas, context.principal.name, context.client_id or "")
        now_ms = self._now_ms()
        allowance = ClientAllowance(
            self.generation,
            self._sensor(found, PRODUCER_BYTE_RATE, now_ms),
            self._sensor(found, CONSUMER_BYTE_RATE, now_ms),
            self._sensor(found, REQUEST_PERCENTAGE, now_ms),
        )
        context.allowance = allowance
        return allowance

    def produced(self, context: RequestContext, size: int) -> int:
        """Note the bytes of a produce; return for how many ms the client is throttled."""
        sensor = self.allowance(context).written
        if sensor is None:
            return 0
        sensor.left -= size
        return sensor.settle(self._now_ms()) if sensor.left < 0 else 0

    def most_fetched(self, context: RequestContext) -> int | None:
        """Return the most bytes that a fetch may have without being throttled for ever; None for any number."""
        sensor = self.allowance(context).fetched
        if sensor is None:
            return None
        return int(min(sensor.limit * self._windows.shortest_s, (1 << 31) - 1))

    def before_fetch(self, context: RequestContext, size: int) -> int:
        """Return for how many ms a client is throttled that is about to be sent so many bytes; none are noted yet."""
        sensor = self.allowance(context).fetched
        return 0 if sensor is None else sensor.settle_before(size, self._now_ms())

    def fetched(self, context: RequestContext, size: int) -> None:
        """Note the bytes of an answer to a fetch."""
        sensor = self.allowance(context).fetched
        if sensor is not None:
            sensor.left -= size

    def worked(self, context: RequestContext, seconds: float) -> int:
        """Note the time that a request took; return for how many ms the client is throttled, a window at most."""
        sensor = self.allowance(context).timed
        if sensor is None:
            return 0
        sensor.left -= seconds * PERCENT_PER_SECOND
        if sensor.left > 0:
            return 0
        return min(sensor.settle(self._now_ms()), self._windows.size_ms)

    def mutations(self, context: RequestContext, *, is_strict: bool) -> MutationQuota:
        """Return what a request may change."""
        if not self.is_active:
            return NO_MUTATION_QUOTA
        found = quotas_of_client(self._quotas, context.principal.name, context.client_id or "")
        limit = found.find(CONTROLLER_MUTATION_RATE)
        if limit is None or not limit.limit < inf:
            return NO_MUTATION_QUOTA
        bucket = self._buckets.get(limit.share, lambda: TokenBucket(self._controller_windows, limit.limit))
        bucket.limit = limit.limit
        return MutationQuota(bucket, self._now_ms, is_strict=is_strict)

    def _sensor(self, quotas: ClientsQuotas, key: str, now_ms: float) -> Sensor | None:
        found = quotas.find(key)
        if found is None or not found.limit < inf:
            return None
        sensor = self._sensors[key].get(found.share, lambda: Sensor(self._windows, found.limit))
        sensor.change(found.limit, now_ms)
        return sensor
