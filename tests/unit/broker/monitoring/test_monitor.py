"""The pages of a node: when it is ready, and how a page is collected."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from odradek.broker.monitoring.monitor import Monitor
from odradek.metrics.http import Answer, PageRequest
from odradek.metrics.samples import AT_ONCE, Samples
from tests.support.scraped import get, parse
from tests.support.waiting import eventually

PORTS: dict[Monitor, int] = {}
"""Where each monitor has its pages."""


@pytest.fixture
async def monitor() -> AsyncIterator[Monitor]:
    """A monitor without a node."""
    made = Monitor(asyncio.get_running_loop(), ThreadPoolExecutor(1), "1.2.3")
    PORTS[made] = await made.start("127.0.0.1", 0)
    yield made
    del PORTS[made]
    await made.stop()


async def ask(monitor: Monitor, *paths: str) -> list[tuple[int, str]]:
    """Ask for pages at once."""
    address = f"127.0.0.1:{PORTS[monitor]}"
    return list(await asyncio.gather(*(asyncio.to_thread(get, address, path) for path in paths)))


async def test_node_that_starts_is_alive_and_not_ready(monitor: Monitor) -> None:
    """Nobody is sent there yet, and nobody ends it."""
    assert await ask(monitor, "/health", "/ready") == [(200, "alive\n"), (503, "the node starts, or stops\n")]


async def test_ready_tells_the_first_objection(monitor: Monitor) -> None:
    """In one line."""
    monitor.serving(True)
    monitor.ready_unless(lambda: None)
    monitor.ready_unless(lambda: "log directory /d cannot be written")
    monitor.ready_unless(lambda: "another")
    assert await ask(monitor, "/ready") == [(503, "log directory /d cannot be written\n")]


async def test_node_that_stops_is_not_ready_any_more(monitor: Monitor) -> None:
    """Although nothing else is wrong."""
    monitor.serving(True)
    assert await ask(monitor, "/ready") == [(200, "ready\n")]
    monitor.serving(False)
    assert (await ask(monitor, "/ready"))[0][0] == 503


async def test_those_who_ask_together_share_one_collection(monitor: Monitor) -> None:
    """Ten who look cost as much as one."""
    collected = waiting = 0

    def collect(samples: Samples, _now_s: float) -> Iterator[None]:
        nonlocal collected
        collected += 1
        while waiting < 6:
            yield
        samples.add("kafka_brokers", 3)

    async def look() -> Answer:
        nonlocal waiting
        waiting += 1
        return await monitor.page(PageRequest("/metrics", ""))

    monitor.collect(collect)
    for answer in await asyncio.gather(*(look() for _ in range(6))):
        assert parse(answer.body.decode()).value("kafka_brokers") == 3
    assert collected == 1


async def test_collector_that_fails_is_an_error_of_the_page(monitor: Monitor) -> None:
    """And the next one is made anew."""
    fails = True

    def collect(samples: Samples, _now_s: float) -> Iterator[None]:
        if fails:
            raise RuntimeError("a bug")
        samples.add("kafka_brokers", 3)
        yield

    monitor.collect(collect)
    assert [status for status, _ in await ask(monitor, "/metrics")] == [500]
    fails = False
    assert [status for status, _ in await ask(monitor, "/metrics")] == [200]


async def test_what_was_collected_is_given_back_once_everybody_has_a_page(monitor: Monitor) -> None:
    """On the thread, some at a time; who asks later gets what is collected then."""
    collected: list[Samples] = []

    def collect(samples: Samples, _now_s: float) -> Iterator[None]:
        collected.append(samples)
        for broker in range(3 * AT_ONCE):
            samples.add("kafka_broker_info", 1, str(broker), "h")
        for _ in range(20_000):
            yield

    monitor.collect(collect)
    for _ in range(2):
        answers = await ask(monitor, *["/metrics"] * 4)
        assert [len(parse(page).of("kafka_broker_info")) for _, page in answers] == [3 * AT_ONCE] * 4

    def is_given_back() -> bool:
        return not any(one.of("kafka_broker_info") for one in collected)

    await asyncio.to_thread(eventually, is_given_back, "the values to be given back")
