"""Logging in over TLS: clients of Python, and a cluster whose nodes speak nothing else among each other."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer

from odradek.console.settings import ConsoleSettings
from tests.support.broker import OdradekProcess
from tests.support.certificates import LOCAL, Authority
from tests.support.console import ConsoleVisitor
from tests.support.ports import free_ports
from tests.support.sasl_brokers import MECHANISMS, PLAIN_USERS, sasl_settings
from tests.support.sasl_cluster import SaslCluster
from tests.support.scram_users import set_scram_password
from tests.support.waiting import eventually

AUTHORITY = Authority()
SERVER = AUTHORITY.issue("CN=localhost", LOCAL)


def tls_settings(directory: Path) -> dict[str, str]:
    """Return what a node shows and trusts."""
    directory.mkdir(parents=True, exist_ok=True)
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": SERVER.write(directory, "server"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": AUTHORITY.write(directory / "ca.pem"),
    }


class SaslSslBroker:
    """A broker with a listener that encrypts and asks."""

    def __init__(self, directory: Path) -> None:
        plain, self.port = free_ports(2)
        self.authority = str(directory / "tls" / "ca.pem")
        settings = {
            **sasl_settings({"SECURE": self.port}),
            **tls_settings(directory / "tls"),
            "listeners": f"PLAINTEXT://127.0.0.1:{plain},SECURE://localhost:{self.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL",
            "inter.broker.listener.name": "PLAINTEXT",
        }
        self.process = OdradekProcess(directory / "broker", settings)
        self.process.port = plain

    def settings(self, mechanism: str, password: str | None = None) -> dict[str, Any]:
        """Return settings of librdkafka."""
        user, right = ("alice", PLAIN_USERS["alice"]) if mechanism == "PLAIN" else ("carol", "pencil")
        return {
            "bootstrap.servers": f"localhost:{self.port}",
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": self.authority,
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password or right,
            "log_level": 0,
        }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslSslBroker]:
    """Such a broker, with a user of each mechanism."""
    made = SaslSslBroker(tmp_path_factory.mktemp("secure"))
    try:
        made.process.start()
        for mechanism in MECHANISMS[1:]:
            set_scram_password(made.process.bootstrap, "carol", "pencil", mechanism)
        yield made
    finally:
        made.process.discard()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_clients_log_in_over_tls(broker: SaslSslBroker, mechanism: str) -> None:
    """librdkafka and kafka-python; records of any size go through afterwards."""
    settings = broker.settings(mechanism)
    producer = Producer(settings)
    producer.produce(f"t-{mechanism}", b"x" * 500_000)
    assert producer.flush(60) == 0
    python = KafkaProducer(
        bootstrap_servers=settings["bootstrap.servers"],
        security_protocol="SASL_SSL",
        ssl_cafile=broker.authority,
        sasl_mechanism=mechanism,
        sasl_plain_username=settings["sasl.username"],
        sasl_plain_password=settings["sasl.password"],
    )
    python.send(f"t-{mechanism}", b"x").get(20)
    python.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_is_refused_hears_why_over_tls(broker: SaslSslBroker, mechanism: str) -> None:
    """The answer arrives before the connection ends."""
    heard: list[KafkaError] = []
    settings = broker.settings(mechanism, "no")
    settings["error_cb"] = heard.append
    admin = AdminClient(settings)
    eventually(lambda: admin.poll(0.1) >= 0 and bool(heard), "the client hears of it", 60)
    assert heard[0].code() == KafkaError._AUTHENTICATION


def test_nodes_log_in_at_each_other_over_tls(tmp_path: Path) -> None:
    """Controller and brokers over SASL_SSL: PLAIN at the one, SCRAM among the others, sessions that end."""
    tls: Mapping[str, str] = tls_settings(tmp_path / "tls")
    cluster = SaslCluster(tmp_path, (False, False), session_ms=2000, tls=tls)
    try:
        cluster.start()
        cluster.make_topic("t", 2)
        for _ in range(40):
            cluster.produce("t", 2, 5)
        assert cluster.is_in_sync("t")
        assert [cluster.count("t", partition) for partition in (0, 1)] == [200, 200]
    finally:
        cluster.discard()


def test_console_logs_in(broker: SaslSslBroker) -> None:
    """The console's pages come over a listener that encrypts and asks, with the settings of the client alone."""
    given = {name: str(value) for name, value in broker.settings("PLAIN").items() if name != "bootstrap.servers"}
    bootstrap = f"localhost:{broker.port}"
    visitor = ConsoleVisitor(bootstrap, settings=ConsoleSettings(bootstrap, client_settings=given))
    assert visitor.post("/new-topic", name="console-secure")[0] == 303
    assert visitor.post("/topics/console-secure/produce", value="over TLS")[0] == 303
    assert "over TLS" in visitor.get("/topics/console-secure/messages")
    assert "console-secure" in visitor.get("/topics?q=console-secure")
    visitor.close()
    stranger = ConsoleVisitor(
        bootstrap, settings=ConsoleSettings(bootstrap, client_settings={**given, "sasl.password": "x"})
    )
    response = stranger.client.get("/topics")
    assert (response.status_code, "does not let us in" in response.text) == (502, True)
    stranger.close()
