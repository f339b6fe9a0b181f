"""Records in the console: written, found, shown as what they are, and downloaded."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer

from tests.support.broker import BrokerProcess
from tests.support.console import ConsoleVisitor

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`${7*7}{{7*7}}"


@pytest.fixture(scope="module")
def topic(broker: BrokerProcess) -> str:
    """A topic with two partitions: numbers in JSON in the first one, all kinds of bytes in the second one."""
    visitor = ConsoleVisitor(broker.bootstrap)
    visitor.post("/new-topic", name="console-records", partitions="2")
    visitor.close()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for number in range(300):
        value = json.dumps({"number": number, "even": number % 2 == 0}).encode()
        producer.produce("console-records", value, f"k{number}".encode(), 0, timestamp=1_000_000_000_000 + number)
    headers: list[tuple[str, str | bytes | None]] = [
        (HOSTILE, HOSTILE.encode()),
        ("trace", b"\x00\xff"),
        ("none", None),
    ]
    producer.produce("console-records", HOSTILE.encode(), HOSTILE.encode(), 1, headers=headers)
    producer.produce("console-records", bytes(range(256)), b"\xff\xfe", 1)
    producer.produce("console-records", None, b"gone", 1)
    producer.produce("console-records", b"", None, 1)
    producer.produce("console-records", b"x" * 200_000, b"large", 1)
    assert producer.flush(60) == 0
    return "console-records"


def test_newest_records(visitor: ConsoleVisitor, topic: str) -> None:
    """Without asking for more, the newest records of all partitions are there."""
    page = visitor.get(f"/topics/{topic}/messages?found=20")
    assert page.count('<details class="record">') == 20
    assert "0 : 299" in page
    assert "1 : 4" in page
    assert "0 : 200" not in page


def test_records_from_a_place_on(visitor: ConsoleVisitor, topic: str) -> None:
    """A search begins at an offset or a time, ends at its bound, and goes on from there."""
    page = visitor.get(f"/topics/{topic}/messages?partition=0&start=100&found=20")
    assert "0 : 100" in page
    assert "0 : 119" in page
    assert "0 : 120" not in page
    assert "There may be more: 20 are shown at once" in page
    further = (
        page.partition('<a href="')[2] and page.split("Go on from there")[0].rpartition('href="')[2].partition('"')[0]
    )
    assert "0 : 120" in visitor.get(further.replace("&amp;", "&"))
    page = visitor.get(f"/topics/{topic}/messages?partition=0&start=@1000000000290&found=200")
    assert page.count('<details class="record">') == 10
    assert "There may be more" not in page


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        ("key=k29&partition=0", [29, *range(290, 300)]),
        ("value=%22number%22%3A+77%2C", [77]),
        ("header=trace%3D0x00ff", [0]),
        ("header=none", [0]),
        ("header=%3Dnothing", []),
        ("key=0xfffe", [1]),
        ("key=gone&value=x", []),
    ],
)
def test_filters(visitor: ConsoleVisitor, topic: str, query: str, offsets: list[int]) -> None:
    """Records are found by what is in their key, value and headers, as text or as bytes."""
    lines = visitor.get(f"/topics/{topic}/messages.jsonl?start=beginning&{query}").splitlines()
    assert [json.loads(line)["offset"] for line in lines] == offsets
    newest = visitor.get(f"/topics/{topic}/messages.jsonl?{query}").splitlines()
    assert sorted(json.loads(line)["offset"] for line in newest) == offsets


def test_no_record_is_markup(visitor: ConsoleVisitor, topic: str) -> None:
    """Whatever is in a record is shown as text."""
    page = visitor.get(f"/topics/{topic}/messages?partition=1&start=beginning")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "${7*7}{{7*7}}" in page
    for markup in ("<script>alert", "<img src=x"):
        assert markup not in page


def test_every_kind_of_data_is_shown(visitor: ConsoleVisitor, topic: str) -> None:
    """JSON has its lines, bytes are hex, null and empty are told apart, and what is long is cut and says so."""
    page = visitor.get(f"/topics/{topic}/messages?partition=1&start=beginning")
    assert "000010  10 11 12 13 14 15 16 17" in page
    assert '<span class="tag">null</span>' in page
    assert '<span class="tag">empty</span>' in page
    assert "more are in the download" in page
    json_page = visitor.get(f"/topics/{topic}/messages?partition=0&start=7&found=1")
    assert "{\n  &#34;number&#34;: 7,\n  &#34;even&#34;: false\n}" in json_page


def test_download_is_whole(visitor: ConsoleVisitor, topic: str) -> None:
    """The download has all bytes of each record, in the form that the command reads."""
    response = visitor.client.get(f"/topics/{topic}/messages.jsonl?partition=1&start=beginning")
    assert response.headers["content-disposition"] == 'attachment; filename="console-records.jsonl"'
    first, second, third, fourth, fifth = [json.loads(line) for line in response.text.splitlines()]
    assert first["value"] == HOSTILE
    assert second["key"] == {"base64": "//4="}
    assert (third["key"], third["value"], fourth["key"], fourth["value"]) == ("gone", None, None, "")
    assert len(fifth["value"]) == 200_000


@pytest.mark.parametrize(
    "query", ["start=never", "partition=9", "partition=x", "key=0xf", "start=99999999999999999999"]
)
def test_what_cannot_be_searched_is_told(visitor: ConsoleVisitor, topic: str, query: str) -> None:
    """A place, a partition or bytes that are none are refused with a sentence."""
    response = visitor.client.get(f"/topics/{topic}/messages?{query}")
    assert response.status_code in (400, 502)
    assert 'role="alert"' in response.text


def test_produced_record_is_found(visitor: ConsoleVisitor) -> None:
    """A record is written with key, headers and partition; a tombstone, and bytes."""
    visitor.post("/new-topic", name="console-produced", partitions="2")
    status, page = visitor.post(
        "/topics/console-produced/produce",
        has_key="1",
        key="k",
        value="one\r\ntwo",
        headers="trace=7\r\nempty=",
        partition="1",
    )
    assert (status, "written to partition 1 at offset 0" in page) == (303, True)
    visitor.post(
        "/topics/console-produced/produce", has_key="1", key="k", value="ignored", tombstone="1", partition="1"
    )
    visitor.post("/topics/console-produced/produce", form="hex", value="00 ff", partition="0")
    visitor.post("/topics/console-produced/produce", form="base64", value="AP8=", partition="0")
    lines = visitor.get("/topics/console-produced/messages.jsonl?start=beginning").splitlines()
    found = {(each["partition"], each["offset"]): each for each in map(json.loads, lines)}
    assert (found[1, 0]["key"], found[1, 0]["value"]) == ("k", "one\ntwo")
    assert found[1, 0]["headers"] == [["trace", "7"], ["empty", ""]]
    assert (found[1, 1]["key"], found[1, 1]["value"]) == ("k", None)
    assert found[0, 0]["value"] == found[0, 1]["value"] == {"base64": "AP8="}
    assert found[0, 0]["key"] is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"tombstone": "1"}, "a tombstone needs a key"),
        ({"form": "hex", "value": "0"}, "the value is no hex"),
        ({"form": "base64", "value": "~"}, "the value is no base64"),
        ({"headers": "x"}, "is no name=value"),
        ({"partition": "-1"}, "is no whole number"),
    ],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_record_that_is_none(visitor: ConsoleVisitor, topic: str, fields: dict[str, str], reason: str) -> None:
    """What cannot be written is refused before anything is written."""
    status, page = visitor.post(f"/topics/{topic}/produce", **fields)
    assert status == 400
    assert reason in page.lower()


def test_nothing_is_written_to_a_topic_that_is_not_there(visitor: ConsoleVisitor) -> None:
    """Producing makes no topic, and looking into one does not either."""
    assert visitor.post("/topics/console-absent/produce", value="x")[0] == 502
    assert visitor.client.get("/topics/console-absent/messages").status_code == 502
    visitor.app.state.console.overviews.forget()
    assert "No topic is like that" in visitor.get("/topics?q=console-absent")
