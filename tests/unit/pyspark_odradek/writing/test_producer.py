"""The producer under a writer never waits for ever, and says why it gives up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import pytest

from pyspark_odradek.errors import BrokerUnreachableError, ClusterError, OptionError
from pyspark_odradek.writing import producer
from pyspark_odradek.writing.columns import ANY_PARTITION, NOW, Outgoing
from pyspark_odradek.writing.options import producer_settings
from pyspark_odradek.writing.producer import Sink
from tests.support.ports import free_ports

RECORD: Final[Outgoing] = ("t", b"v", None, ANY_PARTITION, NOW, None)


@pytest.fixture
def servers() -> str:
    """An address where nobody listens."""
    return f"127.0.0.1:{free_ports(1)[0]}"


def _sink(servers: str, **settings: str) -> Sink:
    dotted = {name.replace("_", "."): value for name, value in settings.items()}
    return Sink(producer_settings({"bootstrap.servers": servers, "delivery.timeout.ms": "1500", **dotted}))


def test_records_that_are_not_acknowledged_end_the_task(servers: str) -> None:
    """After delivery.timeout.ms the task ends, with what the connection complained of."""
    sink = _sink(servers)
    assert sink.send([RECORD]) == 1
    with pytest.raises(ClusterError, match=r"topic t were not acknowledged within 1500 ms.*Connect"):
        sink.finish()
    began = time.monotonic()
    sink.discard()
    assert time.monotonic() - began < 1


def test_memory_is_bounded(servers: str) -> None:
    """Where the queue is full no more rows are asked for, and that ends with the delivery of those in it."""
    sink = _sink(servers, queue_buffering_max_messages="10")
    asked = 0

    def records() -> Iterator[Outgoing]:
        nonlocal asked
        while True:
            asked += 1
            yield RECORD

    with pytest.raises(ClusterError, match="were not acknowledged"):
        sink.send(records())
    assert asked == 11
    sink.discard()


def test_nobody_answers(servers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that cannot be reached is told before a query starts, with the address."""
    monkeypatch.setattr(producer, "METADATA_TIMEOUT_S", 0.5)
    with pytest.raises(BrokerUnreachableError, match=f"no broker of {servers} answered within 0.5 s"):
        _sink(servers).check("t")


@pytest.mark.parametrize(
    "settings", [{"no_such_setting": "1"}, {"acks": "many"}, {"acks": "1", "enable_idempotence": "true"}]
)
def test_settings_that_librdkafka_does_not_take_are_told(servers: str, settings: dict[str, str]) -> None:
    """Unknown settings, and those with values that cannot be or that contradict each other."""
    with pytest.raises(OptionError, match="a setting kafka"):
        _sink(servers, **settings)
