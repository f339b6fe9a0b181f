"""Listeners that speak TLS: unmodified clients, certificates as users, a cluster that speaks nothing else inside."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType
from kafka import KafkaConsumer, KafkaProducer

from odradek.cli.app import run
from tests.conftest import BrokerFactory
from tests.support.broker import REPOSITORY, BrokerProcess, OdradekProcess
from tests.support.certificates import LOCAL, Authority, client_context
from tests.support.ports import free_ports
from tests.support.waiting import eventually

AUTHORITY = Authority()
SERVER = AUTHORITY.issue("CN=localhost", LOCAL)
CLIENT = AUTHORITY.issue("CN=client,OU=tests")
RECORDS = [b"%d" % number * 100 for number in range(500)]
WAIT_S = 60


class TlsBroker:
    """A broker with a TLS listener beside its plain one."""

    def __init__(self, broker: BrokerProcess, directory: Path, port: int) -> None:
        self.broker = broker
        self.directory = directory
        self.bootstrap = f"localhost:{port}"
        self.port = port
        self.authority = AUTHORITY.write(directory / "ca.pem")
        CLIENT.write(directory, "client")

    @property
    def librdkafka(self) -> dict[str, str | int | float | bool]:
        """Settings of librdkafka."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": self.authority,
            "ssl.certificate.location": str(self.directory / "client.crt"),
            "ssl.key.location": str(self.directory / "client.key"),
        }

    def serial(self) -> str:
        """The number of the certificate that the listener shows."""
        context = client_context(AUTHORITY, self.directory, CLIENT)
        with (
            socket.create_connection(("127.0.0.1", self.port), WAIT_S) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as client,
        ):
            certificate = client.getpeercert()
            assert certificate is not None
            return str(certificate["serialNumber"])


def tls_settings(directory: Path, **more: str) -> dict[str, str]:
    """What a node needs to speak TLS."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": SERVER.write(directory, "server"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": AUTHORITY.write(directory / "ca.pem"),
        "ssl.client.auth": "required",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


@pytest.fixture
def tls(new_broker: BrokerFactory, tmp_path: Path) -> Iterator[TlsBroker]:
    """A broker whose TLS listener wants certificates."""
    plain, port = free_ports(2)
    broker = new_broker(
        {"listeners": f"PLAINTEXT://127.0.0.1:{plain},SSL://localhost:{port}", **tls_settings(tmp_path / "tls")}
    )
    broker.port = plain
    broker.start()
    yield TlsBroker(broker, tmp_path / "tls", port)
    assert broker.stop() == 0, broker.log


def librdkafka(tls: TlsBroker, topic: str) -> list[bytes]:
    producer = Producer(tls.librdkafka)
    for record in RECORDS:
        producer.produce(topic, record)
    assert producer.flush(WAIT_S) == 0
    consumer = Consumer({**tls.librdkafka, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[bytes] = []
    while len(found) < len(RECORDS):
        message = consumer.poll(WAIT_S)
        assert message is not None
        if message.error() is None:
            found.append(message.value())  # type: ignore[arg-type]  # there is one
    consumer.close()
    return found


def kafka_python(tls: TlsBroker, topic: str) -> list[bytes]:
    settings = {
        "bootstrap_servers": tls.bootstrap,
        "security_protocol": "SSL",
        "ssl_cafile": tls.authority,
        "ssl_certfile": str(tls.directory / "client.crt"),
        "ssl_keyfile": str(tls.directory / "client.key"),
    }
    with KafkaProducer(**settings) as producer:
        for record in RECORDS:
            producer.send(topic, record)
        producer.flush(WAIT_S)
    consumer = KafkaConsumer(
        topic, auto_offset_reset="earliest", group_id=None, consumer_timeout_ms=WAIT_S * 1000, **settings
    )
    found = [next(consumer).value for _ in RECORDS]
    consumer.close()
    return found


def aiokafka(tls: TlsBroker, topic: str) -> list[bytes]:
    context = client_context(AUTHORITY, tls.directory, CLIENT)

    async def run() -> list[bytes]:
        settings = {"bootstrap_servers": tls.bootstrap, "security_protocol": "SSL", "ssl_context": context}
        async with AIOKafkaProducer(**settings) as producer:
            for record in RECORDS:
                await producer.send(topic, record)
            await producer.flush()
        async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings) as consumer:
            return [(await asyncio.wait_for(consumer.getone(), WAIT_S)).value for _ in RECORDS]

    return asyncio.run(run())


@pytest.mark.parametrize("client", [librdkafka, kafka_python, aiokafka])
def test_clients_write_and_read_over_tls(tls: TlsBroker, client: Callable[[TlsBroker, str], list[bytes]]) -> None:
    """With certificates of their own; what was read equals what was written."""
    assert client(tls, client.__name__) == RECORDS


def test_a_certificate_is_renewed_by_replacing_its_file(tls: TlsBroker) -> None:
    """Without a restart and without an order; who is connected notices nothing."""
    before = tls.serial()
    admin = AdminClient(tls.librdkafka)
    admin.list_topics(timeout=WAIT_S)
    AUTHORITY.issue("CN=localhost", LOCAL).write(tls.directory, "server")
    eventually(lambda: tls.serial() != before, "the new certificate is shown", WAIT_S)
    admin.list_topics(timeout=WAIT_S)


def test_a_key_store_is_changed_for_one_listener(tls: TlsBroker) -> None:
    """By IncrementalAlterConfigs, as in Kafka; the change is there after a restart, too."""
    before = tls.serial()
    other = AUTHORITY.issue("CN=localhost", LOCAL).write(tls.directory, "other")
    key = "listener.name.ssl.ssl.keystore.location"
    entry = ConfigEntry(key, other, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin = AdminClient(tls.librdkafka)
    next(iter(admin.incremental_alter_configs([resource]).values())).result(WAIT_S)
    eventually(lambda: tls.serial() != before, "the other certificate is shown", WAIT_S)
    changed = tls.serial()
    assert tls.broker.stop() == 0
    tls.broker.start()
    assert tls.serial() == changed


def test_a_key_store_that_cannot_be_used_is_not_taken_at_run_time(tls: TlsBroker) -> None:
    """INVALID_REQUEST, as in Kafka, and nothing is stored."""
    before = tls.serial()
    key = "listener.name.ssl.ssl.keystore.location"
    entry = ConfigEntry(key, "/nothing/there.pem", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin = AdminClient(tls.librdkafka)
    with pytest.raises(KafkaException) as caught:
        next(iter(admin.incremental_alter_configs([resource]).values())).result(WAIT_S)
    assert caught.value.args[0].code() == KafkaError.INVALID_REQUEST
    assert tls.serial() == before


def test_a_key_store_that_cannot_be_used_keeps_the_broker_from_starting(
    new_broker: BrokerFactory, tmp_path: Path
) -> None:
    """One sentence names the listener and the file."""
    settings = tls_settings(tmp_path, ssl_keystore_location=str(tmp_path / "nothing.pem"))
    broker = new_broker({"listeners": "SSL://127.0.0.1:0", **settings})
    broker.launch()
    assert broker.wait() == 1
    assert "listener SSL cannot speak TLS" in broker.log
    assert "nothing.pem" in broker.log


def test_the_health_check_of_the_image_speaks_tls(tls: TlsBroker, tmp_path: Path) -> None:
    """A listener that wants certificates is there when it says so; of two listeners the one without TLS is asked."""
    listeners = tmp_path / "listeners"
    environment = {**os.environ, "ODRADEK_LISTENERS_FILE": str(listeners)}
    command = [sys.executable, str(REPOSITORY / "docker" / "healthcheck.py")]
    [closed] = free_ports(1)
    for lines, healthy in (
        (f"SSL localhost {tls.port}\n", True),
        (f"SSL localhost {closed}\nPLAINTEXT 127.0.0.1 {tls.broker.port}\n", True),
        (f"SSL localhost {closed}\n", False),
        (f"SSL localhost {tls.broker.port}\n", False),
    ):
        listeners.write_text(lines)
        done = subprocess.run(command, env=environment, capture_output=True, timeout=30, check=False)
        assert (done.returncode == 0) is healthy, (lines, done.stderr)


def test_openssl_finds_nothing_old_or_weak(tls: TlsBroker) -> None:
    """TLS 1.0 and 1.1, suites without forward secrecy, without encryption, with broken ciphers: none is agreed on."""

    def agrees(*options: str) -> bool:
        files = [
            "-CAfile",
            tls.authority,
            "-cert",
            f"{tls.directory}/client.crt",
            "-key",
            f"{tls.directory}/client.key",
        ]
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{tls.port}", *files, *options]
        done = subprocess.run(command, input=b"Q\n", capture_output=True, timeout=WAIT_S, check=False)
        return b"Cipher is (NONE)" not in done.stdout and done.returncode == 0

    assert agrees("-tls1_2")
    assert agrees("-tls1_3")
    for version in ("-tls1", "-tls1_1"):
        assert not agrees(version, "-cipher", "ALL:@SECLEVEL=0")
    for weak in ("NULL", "aNULL", "RC4", "3DES", "kRSA", "SHA1", "EXPORT", "CAMELLIA"):
        assert not agrees("-tls1_2", "-cipher", f"{weak}:@SECLEVEL=0")


def test_a_cluster_speaks_tls_inside(new_broker: BrokerFactory, tmp_path: Path) -> None:
    """Between brokers and with the controller, each of them checked by its name and with a certificate of its own."""
    plain, inner, controller, plain_2, inner_2 = free_ports(5)
    directory = tmp_path / "tls"
    common: Mapping[str, str] = {
        **tls_settings(directory),
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INNER:SSL,CONTROLLER:SSL",
        "inter.broker.listener.name": "INNER",
        "offsets.topic.replication.factor": "1",
    }
    first = new_broker(
        {
            **common,
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{plain},INNER://localhost:{inner},CONTROLLER://127.0.0.1:{controller}",
        }
    )
    second = new_broker(
        {
            **common,
            "node.id": "2",
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://127.0.0.1:{plain_2},INNER://localhost:{inner_2}",
        }
    )
    for broker, port in ((first, plain), (second, plain_2)):
        broker.port = port
        broker.start()
    admin = AdminClient({"bootstrap.servers": first.bootstrap})
    admin.create_topics([NewTopic("t", 4, 2)])["t"].result(WAIT_S)
    producer = Producer({"bootstrap.servers": first.bootstrap, "acks": "all", "delivery.timeout.ms": WAIT_S * 1000})
    for record in RECORDS:
        producer.produce("t", record)
    assert producer.flush(WAIT_S) == 0
    partitions = admin.list_topics("t", timeout=WAIT_S).topics["t"].partitions
    assert all(sorted(one.isrs) == [1, 2] for one in partitions.values())
    assert _is_refused(controller, client_context(AUTHORITY, directory))
    assert second.stop() == 0, second.log
    assert first.stop() == 0, first.log


def _is_refused(port: int, context: ssl.SSLContext) -> bool:
    """Whether who has no certificate is not let in; with TLS 1.3 he learns it when he reads."""
    with socket.create_connection(("127.0.0.1", port), WAIT_S) as plain:
        try:
            with context.wrap_socket(plain, server_hostname="localhost") as stranger:
                return stranger.recv(1) == b""
        except OSError:
            return True


def test_what_secure_init_makes_serves_those_who_log_in(new_broker: BrokerFactory, tmp_path: Path) -> None:
    """`odradek serve` with the file as it is; clients with the settings that lie beside it, and nobody else."""
    (port,) = free_ports(1)
    directory = tmp_path / "secure"
    assert run(["secure", "init", str(directory), "--host", "localhost", "--port", str(port)]) == 0
    broker = new_broker()
    assert isinstance(broker, OdradekProcess)
    broker.properties = directory / "server.properties"
    broker.launch()
    settings: dict[str, str | int | float | bool] = dict(  # type: ignore[assignment]  # its values are texts
        line.split("=", 1) for line in (directory / "client.properties").read_text().splitlines() if "=" in line
    )
    admin = AdminClient(settings)
    eventually(lambda: _answers(admin), f"the administrator is served\n{broker.log}", WAIT_S)
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(WAIT_S)
    refused = AdminClient({**settings, "sasl.password": "wrong", "log_level": 0})
    assert not _answers(refused)
    assert str(settings["sasl.password"]) not in broker.log
    assert broker.stop() == 0, broker.log


def _answers(admin: AdminClient) -> bool:
    try:
        admin.list_topics(timeout=2)
    except KafkaException:
        return False
    return True
