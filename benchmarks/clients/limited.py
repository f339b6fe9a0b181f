"""A client that would produce more than its quota: it sends on as soon as it is answered, and the broker holds it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks import records, wire
from benchmarks.connection import Connection, produce_when_ready
from benchmarks.target import Endpoint

_VALUE = 1000
_LOOK_BACK_SECONDS = 12


@dataclass(frozen=True, slots=True)
class LimitedLoad:
    """Requests of `batch_records` records of 1 kB for so many seconds, by a client with a quota that is set already."""

    endpoint: Endpoint
    topic: str
    batch_records: int
    quota: int
    """Bytes a second."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of whole requests that were taken in so many seconds, and how many requests that were."""

    taken_bytes: int
    elapsed: float
    acknowledged: int


def produce(load: LimitedLoad) -> Held:
    """Send at the pace of the quota for as long as a broker looks back; then as fast as it is answered, and measure.

    Without the first part ten seconds' worth would come at once, and again every eleven seconds: what is measured would
    depend on how many of those fall into the time. It is measured from an answer to an answer, so that no wait is cut
    off.
    """
    batch = records.build_batch(records.values_of(load.batch_records, _VALUE), int(time.time() * 1000))
    request = bytes(wire.produce(load.topic, 0, batch))
    with Connection(load.endpoint.address) as connection:
        produce_when_ready(connection, load.topic, request, time.monotonic() + 10)
        acknowledged, began = 1, time.monotonic()
        for number in range(int(load.quota * _LOOK_BACK_SECONDS / len(request))):
            time.sleep(max(0.0, began + number * len(request) / load.quota - time.monotonic()))
            wire.acknowledged(connection.ask(request), load.topic)
            acknowledged += 1
        began = now = time.monotonic()
        taken = 0
        while now - began < load.seconds:
            wire.acknowledged(connection.ask(request), load.topic)
            acknowledged += 1
            taken += len(request)
            now = time.monotonic()
    return Held(taken, now - began, acknowledged)
