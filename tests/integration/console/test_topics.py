"""Topics in the console: found, made, changed and deleted."""

from __future__ import annotations

import pytest

from odradek.console.history import SeriesKey, SeriesKind
from odradek.console.settings import ConsoleSettings
from tests.support.broker import BrokerProcess
from tests.support.console import ConsoleVisitor
from tests.support.waiting import eventually


def test_topic_from_beginning_to_end(visitor: ConsoleVisitor) -> None:
    """A topic is made, found in the list, given a config and partitions, and deleted once its name is typed."""
    status, page = visitor.post(
        "/new-topic", name="console-life", partitions="2", replication_factor="", configs="retention.ms=1000\n"
    )
    assert status == 303, page
    assert "topic console-life is there" in page
    assert "retention.ms=1000" in page
    listed = visitor.get("/topics?q=CONSOLE-li")
    assert 'href="/topics/console-life"' in listed
    assert "1 topic" in listed
    assert "No topic is like that" in visitor.get("/topics?q=console-life-not")
    status, page = visitor.post("/topics/console-life/configs", name="retention.ms", value="2000", do="set")
    assert (status, "retention.ms of console-life is now 2000" in page) == (303, True)
    assert "retention.ms=2000" in visitor.get("/topics/console-life")
    visitor.post("/topics/console-life/configs", name="retention.ms", value="2000", do="reset")
    assert "retention.ms=" not in visitor.get("/topics/console-life")
    status, page = visitor.post("/topics/console-life/configs", name="retention.ms", value="soon", do="set")
    assert status == 502
    assert "retention.ms" in page
    assert visitor.post("/topics/console-life/partitions", partitions="3")[0] == 303
    status, page = visitor.post("/topics/console-life/delete", typed="console-lif")
    assert (status, "console-life is still there" in page) == (400, True)
    assert visitor.post("/topics/console-life/delete", typed="console-life")[0] == 303

    def is_gone() -> bool:
        visitor.app.state.console.overviews.forget()
        return 'href="/topics/console-life"' not in visitor.get("/topics?q=console-life")

    eventually(is_gone, "the topic is gone from the list")


def test_rates_are_those_of_the_charts(visitor: ConsoleVisitor) -> None:
    """The list and the page of a topic show what the last round of measuring found; before there is one, a dash."""
    history = visitor.app.state.console.history
    assert visitor.post("/new-topic", name="console-rate", partitions="1")[0] == 303
    history.record(0.0, {SeriesKey(SeriesKind.RECORDS_PER_S, "console-rate"): 76.25})
    for page in ("/topics?q=console-rate", "/topics/console-rate"):
        assert "76.2" in visitor.get(page), page
    history.record(1.0, {})
    for page in ("/topics?q=console-rate", "/topics/console-rate"):
        assert "76.2" not in visitor.get(page), page


def test_topic_that_does_not_exist(visitor: ConsoleVisitor) -> None:
    """A topic that is not there is a sentence, also where its name is none."""
    for name in ("not-there", "%3Cscript%3E", "%2e%2e", "x" * 300):
        response = visitor.client.get(f"/topics/{name}")
        assert response.status_code in (404, 502), name
        assert "<script>alert" not in response.text


def test_fields_of_a_new_topic(visitor: ConsoleVisitor) -> None:
    """What cannot be a topic is refused with a sentence about the field."""
    for fields, reason in (
        ({"name": ""}, "needs a name"),
        ({"name": "console-x", "partitions": "many"}, "is no whole number"),
        ({"name": "console-x", "partitions": "0"}, "is no whole number"),
        ({"name": "console-x", "configs": "retention.ms"}, "is no name=value"),
    ):
        status, page = visitor.post("/new-topic", **fields)
        assert status == 400, fields
        assert reason in page


def test_configs_show_where_they_come_from(visitor: ConsoleVisitor) -> None:
    """Each config has its value and its source, and the list is searched."""
    visitor.post("/new-topic", name="console-sources", configs="retention.bytes=7\nsegment.bytes=1048576")
    page = visitor.get("/topics/console-sources/configs?set=1")
    assert page.count("this topic</span>") == 2
    assert "max.message.bytes" not in page
    assert "max.message.bytes" in visitor.get("/topics/console-sources/configs?q=message.bytes")


def test_read_only_console_has_no_forms(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """A read-only console shows the same and offers nothing that changes it."""
    visitor.post("/new-topic", name="console-kept")
    reader = ConsoleVisitor(broker.bootstrap, settings=ConsoleSettings("", read_only=True))
    for path in ("/topics", "/topics/console-kept", "/topics/console-kept/configs", "/new-topic"):
        assert 'method="post"' not in reader.get(path), path
    assert reader.post("/topics/console-kept/delete", typed="console-kept")[0] == 403
    assert "console-kept" in reader.get("/topics?q=console-kept")
    reader.close()


def test_names_come_first_of_a_large_cluster(
    visitor: ConsoleVisitor, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists and the page of a topic stand without offsets, sizes and lags while these are asked for, and say so."""
    assert visitor.post("/new-topic", name=topic, partitions="1", replication_factor="", configs="")[0] == 303
    overviews = visitor.app.state.console.overviews
    monkeypatch.setattr("odradek.console.overviews.MUCH", 0)
    with overviews._asking:
        overviews.forget()
        page = visitor.get(f"/topics?q={topic}")
        assert "This is a large cluster" in page
        assert '<td class="number">–</td>' in page
        assert "This is a large cluster" in visitor.get("/groups")
        assert "They are being asked for" in visitor.get(f"/topics/{topic}")
    eventually(lambda: "This is a large cluster" not in visitor.get(f"/topics?q={topic}"), "sizes and lags are there")
