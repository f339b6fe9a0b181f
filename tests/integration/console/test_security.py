"""Users, quotas, ACLs and transactions in the console, at a broker that has an authorizer, and the cluster's page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from odradek.console.settings import ConsoleSettings
from tests.conftest import BrokerFactory
from tests.support.broker import BrokerProcess
from tests.support.console import ConsoleVisitor
from tests.support.hanging import leave_hanging
from tests.support.waiting import eventually

HOSTILE = '<b>&"x'


@pytest.fixture
def guarded(new_broker: BrokerFactory) -> Iterator[ConsoleVisitor]:
    broker = new_broker(
        {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
    )
    broker.start()
    visitor = ConsoleVisitor(broker.bootstrap)
    yield visitor
    visitor.close()


def test_acls_are_made_found_and_deleted(guarded: ConsoleVisitor) -> None:
    """An ACL is made, listed, searched for and deleted; what cannot be one is refused with a sentence."""
    acl = {
        "principal": f"User:{HOSTILE}",
        "host": "",
        "permission": "deny",
        "operation": "describe-configs",
        "resource": "topic",
        "name": "orders-",
        "pattern": "prefixed",
    }
    for field, wrong in (
        ("principal", "anna"),
        ("operation", "fly"),
        ("resource", "any"),
        ("pattern", "match"),
        ("name", " "),
    ):
        assert guarded.post("/security/acls/create", **{**acl, field: wrong})[0] == 400, field
    assert "There is none" in guarded.get("/security/acls")
    status, page = guarded.post("/security/acls/create", **acl)
    assert status == 303, page
    page = _soon(lambda: guarded.get("/security/acls?q=ORDERS"), "describe-configs</td>")
    assert "and all that begin so" in page
    assert "<b>" not in page
    assert "There is none like that" in guarded.get("/security/acls?q=nobody")
    status, page = guarded.post("/security/acls/delete", **{**acl, "host": "*"})
    assert (status, "deleted" in page) == (303, True)
    _soon(lambda: guarded.get("/security/acls"), "There is none")
    cluster = {**acl, "resource": "cluster", "name": "", "pattern": "literal", "operation": "alter"}
    assert guarded.post("/security/acls/create", **cluster)[0] == 303
    _soon(lambda: guarded.get("/security/acls"), "kafka-cluster")


def _soon(look: Callable[[], str], text: str) -> str:
    """Return a page once this stands on it: brokers hear of changes a moment later."""
    pages: list[str] = []

    def is_there() -> bool:
        pages.append(look())
        return text in pages[-1]

    eventually(is_there, f"{text!r} on the page")
    return pages[-1]


def test_without_an_authorizer_that_is_said(visitor: ConsoleVisitor) -> None:
    """A cluster that has no ACLs to tell of gets a sentence, on a page that is there."""
    page = visitor.get("/security/acls")
    assert "without an authorizer it has none" in page
    assert visitor.client.get("/security").headers["location"] == "/security/acls"


def test_users_are_made_and_deleted(visitor: ConsoleVisitor) -> None:
    """A user gets a password, which stands on no page, and goes once his name is typed."""
    user = {"name": "console-user", "mechanism": "SCRAM-SHA-256", "password": "pässword-1", "again": "pässword-1"}
    for field, wrong in (("again", "other"), ("mechanism", "PLAIN"), ("name", ""), ("password", "")):
        assert visitor.post("/security/users/set", **{**user, field: wrong})[0] == 400, field
    status, page = visitor.post("/security/users/set", **user)
    assert status == 303, page
    assert "pässword" not in page
    page = _soon(lambda: visitor.get("/security/users"), "console-user</th>")
    assert "SCRAM-SHA-256 (8,192 iterations)" in page
    assert visitor.post("/security/users/delete", name="console-user", typed="console-use")[0] == 400
    assert visitor.post("/security/users/delete", name="console-user", typed="console-user")[0] == 303
    eventually(lambda: "console-user</th>" not in visitor.get("/security/users"), "the user is gone")


def test_quotas_are_set_and_taken_back(visitor: ConsoleVisitor) -> None:
    """A quota is set for a user with any client id, shown and deleted; what is none is refused."""
    quota = {"user-is": "named", "user": HOSTILE, "client-id-is": "default", "quota": "producer_byte_rate"}
    for wrong in (
        {"limit": "0"},
        {"limit": "many"},
        {"limit": "inf"},
        {"limit": "5", "quota": "x"},
        {"limit": "5", "user": ""},
    ):
        assert visitor.post("/security/quotas/set", **{**quota, **wrong})[0] == 400, wrong
    assert visitor.post("/security/quotas/set", limit="5", quota="producer_byte_rate")[0] == 400
    mixed = {**quota, "ip-is": "named", "ip": "10.0.0.1", "quota": "connection_creation_rate", "limit": "5"}
    assert visitor.post("/security/quotas/set", **mixed)[0] == 400
    status, page = visitor.post("/security/quotas/set", **quota, limit="1,234,567")
    assert status == 303, page
    page = _soon(lambda: visitor.get("/security/quotas"), "1,234,567</td>")
    assert "every client-id" in page
    assert "<b>" not in page
    assert visitor.post("/security/quotas/delete", **quota)[0] == 303
    eventually(lambda: "1,234,567</td>" not in visitor.get("/security/quotas"), "the quota is gone")


def test_a_transaction_is_found_and_aborted(broker: BrokerProcess, visitor: ConsoleVisitor, topic: str) -> None:
    """An open transaction is listed and shown with its partition, and aborted once its id is typed."""
    name = f"{topic}-{HOSTILE}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"never counts")
    producer.flush(60)
    page = visitor.get(f"/transactions?state=Ongoing&q={topic}")
    assert topic in page
    assert "<b>" not in page
    address = visitor.client.build_request("GET", "/transactions/transaction", params={"id": name}).url
    page = visitor.get(f"{address.path}?{address.query.decode()}")
    assert f'href="/topics/{topic}"' in page
    assert visitor.post("/transactions/abort", id=name, typed=topic)[0] == 400
    status, page = visitor.post("/transactions/abort", id=name, typed=name)
    assert (status, "its transaction is aborted" in page) == (303, True), page
    _soon(lambda: visitor.get(f"{address.path}?{address.query.decode()}"), "<p>None.</p>")
    assert visitor.client.get("/transactions/transaction?id=not-there").status_code == 404
    assert visitor.client.get("/transactions/transaction").status_code == 404


def test_a_transaction_that_hangs_is_found_and_ended(
    broker: BrokerProcess, visitor: ConsoleVisitor, topic: str
) -> None:
    """It is among the producers of its partition, found once somebody looks, and ended once the partition is typed."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    producer.produce(topic, b"x", partition=0)
    producer.flush(60)
    leave_hanging(broker, topic, (1 << 41) + 7)
    hanging_id = str((1 << 41) + 7)
    producers = f"/topics/{topic}/producers?partition=0"
    assert visitor.get(producers).count("<tr><td") == 2
    page = visitor.get(f"{producers}&open=1")
    assert (hanging_id in page, page.count("<tr><td")) == (True, 1)
    assert visitor.client.get(f"/topics/{topic}/producers?partition=9").status_code == 502
    assert hanging_id not in visitor.get("/transactions/hanging")
    assert "No transaction hangs" in visitor.get(f"/transactions/hanging?older=15m&topic={topic}")
    assert hanging_id in visitor.get(f"/transactions/hanging?older=0s&topic={topic}")
    place = {"topic": topic, "partition": "0", "start": "1"}
    page = visitor.get(f"/transactions/hanging/one?topic={topic}&partition=0&start=1")
    assert f"Type {topic}-0 to abort it" in page
    assert visitor.post("/transactions/hanging/abort", **place, typed=topic)[0] == 400
    status, page = visitor.post("/transactions/hanging/abort", **place, typed=f"{topic}-0")
    assert (status, f"the transaction of producer {hanging_id} in {topic}-0 is aborted" in page) == (303, True), page
    assert "No transaction hangs" in visitor.get(f"/transactions/hanging?older=0s&topic={topic}")
    for wrong, code in (("?older=long", 400), ("/one?topic=x", 400), (f"/one?topic={topic}&partition=0&start=1", 502)):
        assert visitor.client.get(f"/transactions/hanging{wrong}").status_code == code, wrong


def test_the_cluster_is_told_of(broker: BrokerProcess, visitor: ConsoleVisitor) -> None:
    """The broker with its directory and the quorum are there."""
    page = visitor.get("/cluster")
    assert broker.bootstrap in page
    assert str(broker.data) in page
    assert "Led by node 1" in page
    assert '<span class="tag good">up</span>' in page


def test_a_read_only_console_changes_nothing(broker: BrokerProcess) -> None:
    """Every action is refused, and no page has a form for it."""
    visitor = ConsoleVisitor(broker.bootstrap, settings=ConsoleSettings("", read_only=True))
    for path in ("/security/acls", "/security/users", "/security/quotas", "/transactions"):
        assert 'method="post"' not in visitor.get(path), path
    for path in ("acls/create", "acls/delete", "users/set", "users/delete", "quotas/set", "quotas/delete"):
        assert visitor.post(f"/security/{path}", name="x")[0] == 403, path
    assert visitor.post("/transactions/abort", id="x", typed="x")[0] == 403
    assert visitor.post("/transactions/hanging/abort", topic="x", partition="0", start="0", typed="x-0")[0] == 403
    visitor.close()
