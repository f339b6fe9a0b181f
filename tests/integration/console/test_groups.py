"""Groups in the console: their lag, moving their offsets, and deleting them."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.broker import BrokerProcess
from tests.support.console import ConsoleVisitor

TOPIC = "console-read"
LAGGING = "console-read-late"
"""A topic that one group alone reads, so that nobody else's lag is the largest."""
HOSTILE = "a/b <script>alert(1)</script>?&%2e"


def commit(broker: BrokerProcess, group: str, offset: int, topic: str = TOPIC) -> None:
    """Commit an offset for partition 0, without ever being a member."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


@pytest.fixture(scope="module", autouse=True)
def topic(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """A topic with a hundred records in its first partition."""
    visitor.post("/new-topic", name=TOPIC, partitions="2")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for number in range(100):
        producer.produce(TOPIC, str(number), partition=0)
    assert producer.flush(60) == 0


def test_lag_is_shown(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """The list, the group and the topic show how far a group is behind."""
    visitor.post("/new-topic", name=LAGGING, partitions="1")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for number in range(100):
        producer.produce(LAGGING, str(number), partition=0)
    assert producer.flush(60) == 0
    commit(broker, "console-lagging", 40, LAGGING)
    visitor.app.state.console.overviews.forget()
    listed = visitor.get("/groups?q=console-LAG")
    assert '<a href="/groups/group?name=console-lagging">' in listed
    assert '<td class="number">60</td>' in listed
    assert '<td class="number">60</td>' in visitor.get("/groups/group?name=console-lagging")
    assert "console-lagging" in visitor.get(f"/topics/{LAGGING}")
    assert '<td class="number">60</td>' in visitor.get(f"/topics?q={LAGGING}")
    assert "No group is like that" in visitor.get("/groups?q=console-lagging&state=stable")


def test_reset_is_shown_before_it_is_done(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """A dry run changes nothing; what it showed is what is set."""
    commit(broker, "console-moved", 40)
    page = visitor.get("/groups/reset?name=console-moved&to=beginning")
    assert "Nothing is changed yet" in page
    assert '<td class="number">-40</td>' in page
    assert '<td class="number">40</td>' in visitor.get("/groups/group?name=console-moved")
    status, page = visitor.post("/groups/reset?name=console-moved", shown=f"{TOPIC} 0 7")
    assert (status, "the offsets of console-moved are set in 1 partitions" in page) == (303, True)
    assert '<td class="number">93</td>' in page
    assert f'value="{TOPIC} 0 17"' in visitor.get("/groups/reset?name=console-moved&shift=10")
    both = visitor.get(f"/groups/reset?name=console-moved&to=end&topic={TOPIC}")
    assert f'value="{TOPIC} 0 100\n{TOPIC} 1 0"' in both


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "give either a place"),
        ("to=end&shift=1", "give either a place"),
        ("to=soon", "is no place in a topic"),
        ("to=end&partition=0", "say of which topic"),
        (f"to=end&topic={TOPIC}&partition=7", "has no partition 7"),
        ("shift=1.5", "is no whole number"),
    ],
)
def test_reset_that_cannot_be(broker: BrokerProcess, visitor: ConsoleVisitor, query: str, reason: str) -> None:
    """What does not say where to go is refused with a sentence."""
    commit(broker, "console-refused", 1)
    response = visitor.client.get(f"/groups/reset?name=console-refused&{query}")
    assert response.status_code in (400, 502)
    assert reason in response.text.lower()


@pytest.mark.parametrize("shown", ["", "x", f"{TOPIC} 0 many", f"{TOPIC} 0"])
def test_reset_form_that_was_changed(visitor: ConsoleVisitor, shown: str) -> None:
    """A form that does not say which offsets to set sets none."""
    assert visitor.post("/groups/reset?name=console-moved", shown=shown)[0] == 400


def test_group_with_members_is_left_alone(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """A group with members is shown with them, and neither moved nor deleted."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "console-busy", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "client.id": "reader-<b>"})
    consumer.subscribe([TOPIC])
    assert consumer.poll(60) is not None
    page = visitor.get("/groups/group?name=console-busy")
    assert "reader-&lt;b&gt;" in page
    assert "stop the consumers first" in page
    response = visitor.client.get("/groups/reset?name=console-busy&to=end")
    assert (response.status_code, "has 1 member; stop its consumers first" in response.text) == (502, True)
    assert visitor.post("/groups/delete?name=console-busy", typed="console-busy")[0] == 502
    consumer.close()


def test_group_of_any_name(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """A group whose name looks like markup or an address is found, shown as text, and deleted by its name."""
    commit(broker, HOSTILE, 1)
    visitor.app.state.console.overviews.forget()
    place = quote(HOSTILE, safe="")
    assert f'href="/groups/group?name={place}"' in visitor.get("/groups?q=alert")
    page = visitor.get(f"/groups/group?name={place}")
    assert "<script>alert" not in page
    assert "a/b &lt;script&gt;" in page
    assert visitor.post(f"/groups/delete?name={place}", typed="a")[0] == 400
    assert visitor.post(f"/groups/delete?name={place}", typed=HOSTILE)[0] == 303
    assert "alert" not in visitor.get("/groups?q=alert").partition("<table")[2]
    assert visitor.client.get("/groups/group?name=console-nobody").status_code == 502
