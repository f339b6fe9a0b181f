"""Logging in by Kerberos, with a KDC: clients of Python and C, who is not let in, and settings that cannot be."""

import os
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer

from tests.conftest import IN_CI
from tests.support.broker import OdradekProcess
from tests.support.kerberos import REALM, KerberosRealm, missing
from tests.support.ports import free_ports
from tests.support.wire import ConnectionClosedError, Message, WireClient

pytestmark = [
    pytest.mark.skipif(bool(missing()) and not IN_CI, reason=f"Kerberos is not installed: {missing()}"),
    pytest.mark.xdist_group("kerberos"),
]
SERVICE = f"kafka/localhost@{REALM}"
ANNA = f"anna/sales@{REALM}"
MODULE = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
EVERYTHING: Message = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
RULES = r"RULE:[2:$1@$0](.*@ODRADEK\.TEST)s/@.*//U"


class TicketClient:
    """The client's side of RFC 4752, with its last message open to a test."""

    def __init__(self, port: int, principal: str, keytab: str) -> None:
        gssapi: Any = import_module("gssapi")  # its types are there only where it is

        store = {"client_keytab": keytab, "ccache": f"MEMORY:{principal}"}
        who = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
        credentials = gssapi.Credentials(name=who, usage="initiate", store=store)

        name = gssapi.Name("kafka@localhost", gssapi.NameType.hostbased_service)
        self.context = gssapi.SecurityContext(name=name, creds=credentials, usage="initiate")
        self.wire = WireClient(port, timeout=30)

    def log_in(self, choice: bytes) -> Message:
        """Log in with a choice of the security layer; return the last answer."""
        assert self.wire.ask("SaslHandshake", 1, mechanism="GSSAPI")["error_code"] == 0
        token = self.context.step()
        while not self.context.complete:
            token = self.context.step(self._say(token or b""))
        offer = self.context.unwrap(self._say(token or b"")).message
        assert offer == b"\1\0\0\0"
        return self.wire.ask("SaslAuthenticate", 2, auth_bytes=self.context.wrap(choice, False).message)

    def _say(self, token: bytes) -> bytes:
        answer = self.wire.ask("SaslAuthenticate", 2, auth_bytes=token)
        assert answer["error_code"] == 0, answer
        said = answer["auth_bytes"]
        assert isinstance(said, bytes)
        return said


class GssapiBroker:
    """A broker with a listener that asks for tickets, and its realm."""

    def __init__(self, directory: Path) -> None:
        plain, self.port = free_ports(2)
        self.realm = KerberosRealm(directory / "realm")
        self.anna = self.realm.keytab(ANNA)
        self.process = OdradekProcess(
            directory / "broker",
            {
                "listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL://localhost:{self.port}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
                "inter.broker.listener.name": "PLAINTEXT",
                "sasl.enabled.mechanisms": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                "sasl.kerberos.principal.to.local.rules": RULES,
                "listener.name.sasl.gssapi.sasl.jaas.config": (
                    f'{MODULE} keyTab="{self.realm.keytab(SERVICE)}" principal="{SERVICE}";'
                ),
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANNA",
                "connection.failed.authentication.delay.ms": "10",
            },
        )
        self.process.port = plain


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GssapiBroker]:
    """The realm and the broker; the clients of this process find the realm, too."""
    with pytest.MonkeyPatch.context() as patch:
        made = GssapiBroker(tmp_path_factory.mktemp("kerberos"))
        for name, value in made.realm.environment.items():
            patch.setenv(name, value)
        try:
            made.realm.start()
            made.realm.get_ticket(ANNA, made.anna)
            made.process.start()
            yield made
        finally:
            made.process.discard()
            made.realm.stop()


def test_kafka_python_logs_in_as_who_the_rules_make_of_its_ticket(broker: GssapiBroker) -> None:
    """Nobody but ANNA may do anything here: `anna/sales` in large letters."""
    settings = {
        "bootstrap_servers": f"localhost:{broker.port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "kafka",
        "sasl_kerberos_domain_name": "localhost",
    }
    producer = KafkaProducer(**settings)
    assert producer.send("kerberos", b"x").get(60).offset == 0
    producer.close()
    consumer = KafkaConsumer("kerberos", auto_offset_reset="earliest", consumer_timeout_ms=60_000, **settings)
    assert next(iter(consumer)).value == b"x"
    consumer.close()


@pytest.mark.parametrize(
    ("choice", "code"), [(b"\1\0\0\0", 0), (b"\1\0\0\0nobody", 0), (b"\4\0\xff\xff", 58), (b"\1\0", 58), (b"", 58)]
)
def test_a_client_that_wants_more_than_was_offered_is_not_let_in(
    broker: GssapiBroker, choice: bytes, code: int
) -> None:
    """No security layer, whichever it asks for; an authorization id changes nothing, as with Apache Kafka."""
    client = TicketClient(broker.port, ANNA, broker.anna)
    with client.wire as wire:
        assert client.log_in(choice)["error_code"] == code
        if not code:
            assert wire.ask("DescribeAcls", 3, **EVERYTHING)["error_code"] == 0
    assert "Traceback" not in broker.process.log


def test_who_is_nobody_by_the_rules_is_not_let_in(broker: GssapiBroker) -> None:
    """Its ticket is good, and no rule is about principals of one part."""
    bob = f"bob@{REALM}"
    client = TicketClient(broker.port, bob, broker.realm.keytab(bob))
    with client.wire:
        assert client.log_in(b"\1\0\0\0")["error_code"] == 58
    assert "make no user of the principal" in broker.process.log


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"listener.name.sasl.gssapi.sasl.jaas.config": f'{MODULE} keyTab="/not/there" principal="{SERVICE}";'},
            "/not/there has no key of",
        ),
        ({"sasl.kerberos.principal.to.local.rules": "RULE:[2:$1]("}, "cannot read"),
    ],
)
def test_a_service_without_a_key_keeps_the_broker_from_starting(
    broker: GssapiBroker, tmp_path: Path, changed: dict[str, str], sentence: str
) -> None:
    """As do rules that are none, in words."""
    process = OdradekProcess(
        tmp_path, {**broker.process.overrides, **changed, "listeners": "PLAINTEXT://127.0.0.1:0,SASL://localhost:0"}
    )
    process.launch()
    assert process.wait() != 0
    assert sentence in process.log
    assert "Traceback" not in process.log


def kcat(broker: GssapiBroker, principal: str, keytab: str) -> subprocess.CompletedProcess[str]:
    """Ask for metadata with librdkafka, which gets its ticket by kinit."""
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.principal": principal,
        "sasl.kerberos.keytab": keytab,
    }
    command = ["kcat", "-L", "-m", "20", "-b", f"localhost:{broker.port}"]
    for name, value in options.items():
        command += ["-X", f"{name}={value}"]
    cache = str(broker.realm.directory / f"tickets-{Path(keytab).stem}")
    return subprocess.run(
        command, env={**os.environ, "KRB5CCNAME": cache}, capture_output=True, text=True, timeout=90, check=False
    )


def test_librdkafka_logs_in(broker: GssapiBroker) -> None:
    """By Cyrus SASL, which names an authorization id, too."""
    done = kcat(broker, ANNA, broker.anna)
    assert "1 brokers" in done.stdout, done.stderr


@pytest.mark.parametrize("token", [b"", b"garbage", b"\x60\x82\x01\x00" + bytes(256), bytes(65_537)])
def test_what_is_no_ticket_lets_nobody_in(broker: GssapiBroker, token: bytes) -> None:
    """With Kafka's sentence that says nothing but that; the log says why, and others go on."""
    with WireClient(broker.port, timeout=30) as wire:
        assert wire.ask("SaslHandshake", 1, mechanism="GSSAPI")["error_code"] == 0
        answer = wire.ask("SaslAuthenticate", 2, auth_bytes=token)
        assert answer["error_code"] == 58
        assert str(answer["error_message"]).endswith("invalid credentials with SASL mechanism GSSAPI")
        with pytest.raises(ConnectionClosedError):
            wire.ask("Metadata", 12, topics=[])
    assert "Traceback" not in broker.process.log
