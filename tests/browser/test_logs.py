"""The pages of logs and charts, used."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.broker import BrokerProcess
from tests.support.browser import BrowserWindow

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]
RECORDS = 300


@pytest.fixture
def filled(broker: BrokerProcess, topic: str) -> str:
    """Return a topic with three segments and more."""
    config = {"segment.bytes": "1048576", "index.interval.bytes": "4096", "retention.ms": "3600000"}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(topic, 1, config=config)])[topic].result(60)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1})
    for number in range(RECORDS):
        producer.produce(topic, b"<b>%d</b>" % number + bytes(12_000), key=b"<i>key</i>")
    assert producer.flush(60) == 0
    return topic


def test_a_look_into_a_log(window: BrowserWindow, filled: str) -> None:
    """From the list to the picture of a log, a look-up in it, and down to the bytes of a batch."""
    window.open("/logs")
    window.fill("Topic and partition contain", f"{filled}-0")
    window.press("Search")
    window.wait_for("1 partition in")
    window.check_page("logs")
    window.press(f"{filled}-0")
    window.wait_for("Segments to scale")
    assert "retention.ms" in window.text
    window.fill("Offset, time (2026-11-21T10:00), or how long ago (15m)", "150")
    window.press("Show the way")
    window.wait_for("Which entry of the offset index")
    window.check_page("log")
    window.press("The batch, byte by byte")
    window.wait_for("baseOffset")
    assert "<i>key</i>" in window.text
    window.check_page("log-batch")


def test_a_segment(window: BrowserWindow, filled: str) -> None:
    """A segment's file with its indexes, and its batches."""
    window.open(f"/logs/{filled}/0/0")
    window.wait_for("Batches from byte 0 on")
    window.check_page("log-segment")
    window.press("Next batches, from byte " + window.find("p.pages a").text.rpartition("byte ")[2])
    window.wait_for("Batches from byte")
    assert "Batches from byte 0 on" not in window.text
    window.fill("From the batch that has this byte on", "100")
    window.press("Show")
    window.wait_for("Batches from byte 0 on")


def test_the_charts(window: BrowserWindow) -> None:
    """The charts are there, and keep nobody out."""
    window.open("/charts")
    window.wait_for("Records written per second")
    window.check_page("charts")
