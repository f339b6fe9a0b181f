"""The pages of records and groups, used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.broker import BrokerProcess
from tests.support.browser import BrowserWindow

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]

HOSTILE = b"<img src=x onerror=\"document.title='broken into'\">"


@pytest.fixture(scope="module")
def topic(broker: BrokerProcess) -> str:
    """A topic with JSON, markup and bytes in it, and a group that is behind."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for number in range(30):
        producer.produce("browser-records", b'{"order": %d, "paid": true}' % number, b"k%d" % number, 0)
    producer.produce("browser-records", bytes(range(60)), HOSTILE, 0, headers=[("trace", b"7")])
    producer.produce("browser-records", HOSTILE, b"markup", 0)
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "browser-group"})
    consumer.commit(offsets=[TopicPartition("browser-records", 0, 12)], asynchronous=False)
    consumer.close()
    return "browser-records"


def test_records(window: BrowserWindow, topic: str, tmp_path: Path) -> None:
    """A person looks for records, opens one, downloads it, and writes one; markup in a record stays text."""
    window.open(f"/topics/{topic}/messages")
    window.wait_for("32 records found")
    assert "broken into" not in window.driver.title
    window.fill("Key contains", "k7")
    window.press("Search")
    window.wait_for("1 record found in the newest 32 looked through")
    window.find("details.record summary").click()
    window.wait_for('"paid": true')
    window.check_page("messages")
    [downloaded] = window.download("Download as JSON lines", tmp_path).splitlines()
    assert json.loads(downloaded)["key"] == "k7"
    window.fill("Key contains", "")
    window.fill("From (empty: the newest)", "30")
    window.fill("Header (name or name=value)", "trace=7")
    window.press("Search")
    window.wait_for("1 record found in 2 looked through")
    window.press("Produce")
    window.field("It has a key").click()
    window.fill("Key", "typed")
    window.fill("Value", "<b>by hand</b>")
    window.check_page("produce")
    window.find("form.stacked button").click()
    window.wait_for("written to partition 0 at offset 32")
    window.wait_for("<b>by hand</b>")


def test_records_as_they_come(window: BrowserWindow, broker: BrokerProcess) -> None:
    """Records appear on the page as they are written, as text; the person stops it."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    producer.produce("browser-live", b"before", b"live", 0)
    assert producer.flush(60) == 0
    window.open("/topics/browser-live/tail")
    window.wait_for("Waiting for records.")
    producer.produce("browser-live", HOSTILE, b"live", 0)
    assert producer.flush(60) == 0
    window.wait_for("onerror=")
    assert "broken into" not in window.driver.title
    window.check_page("tail")
    window.press("Stop")
    window.wait_for("Stopped. 1 records.")
    window.fill("Value contains", "wanted")
    window.press("Follow")
    window.wait_for("Waiting for records.")
    producer.produce("browser-live", b"left out", b"live", 0)
    producer.produce("browser-live", b"what is wanted", b"live", 0)
    assert producer.flush(60) == 0
    window.wait_for("what is wanted")
    assert "left out" not in window.text


def test_group(window: BrowserWindow, topic: str) -> None:
    """A person finds a group that is behind, sees what moving it would do, does it, and deletes it."""
    window.open("/groups")
    window.fill("Name contains", "browser-gr")
    window.wait_for_path("/groups?q=browser-gr&state=")
    window.check_page("groups")
    window.press("browser-group")
    window.wait_for("It has no members.")
    window.press("Its last hour in a chart")
    window.wait_for("Group browser-group")
    window.wait_for("Records that it is behind, by partition")
    window.check_page("group-chart")
    window.driver.back()
    window.wait_for("It has no members.")
    window.press("Move its offsets")
    window.fill("Go on at", "beginning")
    window.check_page("group")
    window.press("Show what would change")
    window.wait_for("Nothing is changed yet.")
    window.wait_for("-12")
    window.check_page("group-reset")
    window.press("Set these offsets")
    window.wait_for("the offsets of browser-group are set in 1 partitions")
    window.press("Delete this group")
    window.fill("Type browser-group to delete it", "browser-group")
    window.press("Delete group")
    window.wait_for("group browser-group is deleted")
