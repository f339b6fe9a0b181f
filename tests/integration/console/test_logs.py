"""A look into the logs of a running broker."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from odradek.console.settings import ConsoleSettings
from tests.support.broker import BrokerProcess
from tests.support.console import ConsoleVisitor
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def looking(broker: BrokerProcess) -> Iterator[ConsoleVisitor]:
    """A visitor of a console that may look into the logs of the shared broker."""
    visitor = ConsoleVisitor(broker.bootstrap, settings=ConsoleSettings("", log_dirs=[broker.data]))
    yield visitor
    visitor.close()


def _batches(visitor: ConsoleVisitor, log: str) -> Iterator[str]:
    """Yield the page of every batch of a log."""
    for segment in re.findall(rf'<th scope="row"><a href="({log}/\d+)">', visitor.get(log)):
        page = visitor.get(segment)
        while True:
            for address in re.findall(rf'<a href="({segment}/\d+)">', page):
                yield visitor.get(address)
            following = re.search(r'href="([^"#]+)#batches" rel="next"', page)
            if following is None:
                break
            page = visitor.get(following[1])


def test_what_logs_somebody_in_is_not_shown(looking: ConsoleVisitor) -> None:
    """The metadata is shown record by record, but for hashes of passwords."""
    user = {"name": "log-user", "mechanism": "SCRAM-SHA-512", "password": "of no matter", "again": "of no matter"}
    assert looking.post("/security/users/set", **user)[0] == 303

    def found() -> list[str]:
        pages = _batches(looking, "/logs/__cluster_metadata/0")
        return [page for page in pages if "USER_SCRAM_CREDENTIAL_RECORD" in page]

    page = eventually(found, "the record of the user is in the log")[-1]
    assert "Not shown here" in page
    assert "salt" not in page.lower()
    assert "log-user" not in page
    everything = "".join(_batches(looking, "/logs/__cluster_metadata/0"))
    decoded = set(re.findall(r"&#34;type&#34;: &#34;(\w+_RECORD)&#34;", everything))
    assert decoded
    assert "USER_SCRAM_CREDENTIAL_RECORD" not in decoded
    assert looking.post("/security/users/delete", name="log-user", typed="log-user")[0] == 303


def test_what_a_group_committed_is_shown(broker: BrokerProcess, looking: ConsoleVisitor, topic: str) -> None:
    """Records of the group coordinator are decoded: who committed which offset of which partition."""
    assert looking.post("/new-topic", name=topic, partitions="1")[0] == 303
    group = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"g-{topic}"})
    group.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    group.close()
    logs = re.findall(r'href="(/logs/__consumer_offsets/\d+)"', looking.get("/logs?search=__consumer_offsets"))
    shown = [page for log in logs for page in _batches(looking, log) if f"g-{topic}" in page]
    assert any("&#34;group&#34;" in page and f"&#34;{topic}&#34;" in page for page in shown)


def test_configs_say_what_goes_next(looking: ConsoleVisitor, topic: str) -> None:
    """The page of a log has the configs of its topic from the cluster, and says what becomes of each segment."""
    fields = {"name": topic, "partitions": "1", "configs": "retention.ms=3600000\ncleanup.policy=compact,delete"}
    assert looking.post("/new-topic", **fields)[0] == 303
    page = eventually(lambda: _told(looking, topic), "the broker has made the log")
    assert "<dd>3,600,000</dd>" in page
    assert "<dd>compact,delete</dd>" in page
    assert "There is nothing to compact" in page
    assert "not known" not in page


def _told(visitor: ConsoleVisitor, topic: str) -> str:
    response = visitor.client.get(f"/logs/{topic}/0")
    return str(response.text) if response.status_code == 200 else ""
