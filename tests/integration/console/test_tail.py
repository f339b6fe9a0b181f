"""Records as they come."""

from __future__ import annotations

import json
from collections.abc import Generator
from threading import Semaphore
from typing import Any

import pytest
from confluent_kafka import Producer
from starlette.requests import Request

from odradek.console.pages.tail import send_events
from odradek.console.searching import RecordFilter
from odradek.console.security import SESSION
from odradek.console.sessions import BrowserSession
from odradek.console.tailing import open_tail, tail
from odradek.console.visit import Visit
from odradek.terminal.errors import CommandError
from tests.support.broker import BrokerProcess
from tests.support.console import ConsoleVisitor


def produce(broker: BrokerProcess, topic: str, values: list[bytes]) -> None:
    """Write records to partition 0."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


def following(steps: Generator[Any, None, None], count: int) -> list[Any]:
    """Return the records of the steps until there are so many, with those left out as None."""
    found: list[Any] = []
    for step in steps:
        found += [*step.records, *[None] * step.left_out]
        if len(found) >= count:
            break
    return found


def test_only_what_is_wanted_comes(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """Records that are written come in order, those that the filter does not want left out."""
    visitor.post("/new-topic", name="console-tail", partitions="1")
    produce(broker, "console-tail", [b"before"])
    places = Semaphore(1)
    with visitor.app.state.console.clusters.borrow() as cluster:
        steps = tail(open_tail(cluster, "console-tail", {0: 1}), RecordFilter(value=b"x").accepts, places)
        assert next(steps).records == []
        produce(broker, "console-tail", [b"x1", b"no", b"x2"])
        assert [each.value for each in following(steps, 2)] == [b"x1", b"x2"]
        with pytest.raises(CommandError, match="close one of the pages"):
            next(tail(open_tail(cluster, "console-tail", {0: 1}), RecordFilter().accepts, places))
        steps.close()
        assert places.acquire(blocking=False), "the place is free again"


def test_too_fast_for_a_person(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """Of a load only the last records of each step come, and the others are counted."""
    visitor.post("/new-topic", name="console-fast", partitions="1")
    produce(broker, "console-fast", [b"%d" % number for number in range(2000)])
    with visitor.app.state.console.clusters.borrow() as cluster:
        steps = tail(open_tail(cluster, "console-fast", {0: 0}), RecordFilter().accepts, Semaphore(1))
        found = following(steps, 2000)
        steps.close()
    assert len(found) == 2000
    assert 50 <= sum(1 for each in found if each is not None) < 2000


def test_events_are_escaped(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """What a browser is sent is one line of JSON, with the record's data as text."""
    visitor.post("/new-topic", name="console-events", partitions="1")
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [],
        "app": visitor.app,
        "path_params": {"topic": "console-events"},
        SESSION: BrowserSession("1", True),
    }
    response: Any = send_events(Visit(Request(scope)))
    assert response.media_type == "text/event-stream"
    generator = response.body_iterator.ag_frame.f_locals["iterator"]
    assert next(generator) == b"event: open\ndata: {}\n\n"
    produce(broker, "console-events", [b"<img src=x>\r\n\n\xe2\x80\xa8data: y"])
    sent = next(each for each in generator if each != b":\n\n")
    kind, data, *rest = sent.decode().split("\n")
    assert (kind, rest) == ("event: records", ["", ""])
    step = json.loads(data.removeprefix("data: "))
    assert "&lt;img src=x&gt;" in step["markup"]
    assert "<img" not in step["markup"]
    generator.close()
