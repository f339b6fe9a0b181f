"""What a producer notices of a fail-over: how long it waited for acknowledgements, and what it was refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

_INTERVAL_SECONDS = 0.005
_SETTINGS: Mapping[str, str | int | float | bool] = {
    "acks": "all",
    "linger.ms": 0,
    "message.timeout.ms": 60_000,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 100,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "topic.metadata.refresh.fast.interval.ms": 20,
    "topic.metadata.refresh.interval.ms": 1000,
    "log_level": 0,
}
"""A producer that asks again quickly: what is measured is the cluster, not how long a client rests."""


@dataclass(frozen=True, slots=True)
class Acknowledgements:
    """The longest time between two acknowledgements of a load, in seconds, and how many records were refused."""

    longest_gap: float
    refused: int


class SteadyProducer:
    """Sends a record every five milliseconds to partition 0 of a topic, in a thread, until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, **_SETTINGS})
        self._topic = topic
        self._stop = threading.Event()
        self._times: list[float] = []
        self._refused = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin, and return once something is acknowledged."""
        self._thread.start()
        self.await_acknowledgement_after(0.0)

    def await_acknowledgement_after(self, moment: float, seconds: float = 60) -> float:
        """Wait until something sent later than a moment (monotonic) is acknowledged, and return when that was."""
        deadline = time.monotonic() + seconds
        while not self._times or self._times[-1] <= moment:
            if time.monotonic() > deadline:
                raise OSError(f"nothing was acknowledged within {seconds:.0f} s")
            time.sleep(0.002)
        return self._times[-1]

    def finish(self) -> Acknowledgements:
        """Stop, and return what was noticed."""
        self._stop.set()
        self._thread.join()
        self._producer.flush(60)
        gaps = [later - earlier for earlier, later in zip(self._times, self._times[1:], strict=False)]
        return Acknowledgements(max(gaps), self._refused)

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL_SECONDS):
            self._producer.produce(self._topic, bytes(100), partition=0, on_delivery=self._delivered)
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._times.append(time.monotonic())
        else:
            self._refused += 1
