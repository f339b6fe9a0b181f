"""Clients of Python log in by each mechanism, and brokers without a log-in in common with them let them not in."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer

from tests.support.broker import OdradekProcess
from tests.support.sasl_brokers import MECHANISMS, PLAIN_USERS, SaslBroker
from tests.support.scram_users import set_scram_password
from tests.support.wire import WireClient

PASSWORD = "pencil, with = and ü"


@pytest.fixture(scope="module")
def sasl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    """A broker with a user of each mechanism."""
    broker = SaslBroker(tmp_path_factory.mktemp("sasl"), is_kafka=False)
    try:
        broker.process.start()
        for mechanism in MECHANISMS[1:]:
            for user in ("carol", "carol, a=b"):
                set_scram_password(broker.process.bootstrap, user, PASSWORD, mechanism)
        yield broker
    finally:
        broker.process.discard()


def login(mechanism: str) -> tuple[str, str]:
    """Return user and password."""
    return ("alice", PLAIN_USERS["alice"]) if mechanism == "PLAIN" else ("carol, a=b", PASSWORD)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_logs_in_and_again(sasl: SaslBroker, mechanism: str) -> None:
    """At the listener whose sessions end; a consumer that goes on past the end notices nothing."""
    user, password = login(mechanism)
    settings = {
        "bootstrap.servers": f"127.0.0.1:{sasl.reauth_port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }
    topic = f"rd-{mechanism}"
    producer = Producer(settings)
    consumer = Consumer({**settings, "group.id": "g"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    began, read = time.monotonic(), 0
    while time.monotonic() - began < 4.5:  # the session of the broker takes three seconds
        producer.produce(topic, b"x", partition=0)
        assert producer.flush(60) == 0
        message = consumer.poll(10)
        if message is not None and message.error() is None:
            read += 1
    assert read > 1
    consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_logs_in(sasl: SaslBroker, mechanism: str) -> None:
    """Producer and consumer."""
    user, password = login(mechanism)
    settings = {
        "bootstrap_servers": f"127.0.0.1:{sasl.sasl_port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user.removesuffix(", a=b"),  # it does not escape names
        "sasl_plain_password": password,
    }
    producer = KafkaProducer(**settings)
    producer.send(f"kp-{mechanism}", b"x", partition=0).get(20)
    producer.close()
    consumer = KafkaConsumer(f"kp-{mechanism}", auto_offset_reset="earliest", consumer_timeout_ms=20_000, **settings)
    assert next(consumer).value == b"x"
    consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_aiokafka_logs_in(sasl: SaslBroker, mechanism: str) -> None:
    """Producer and consumer."""
    user, password = login(mechanism)
    settings = {
        "bootstrap_servers": f"127.0.0.1:{sasl.sasl_port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }
    topic = f"aio-{mechanism}"
    async with AIOKafkaProducer(**settings) as producer:
        await producer.send_and_wait(topic, b"x", partition=0)
    async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings) as consumer:
        assert (await asyncio.wait_for(consumer.getone(), 20)).value == b"x"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_hears_why_it_is_not_let_in(sasl: SaslBroker, mechanism: str) -> None:
    """The answer arrives before the connection ends."""
    heard: list[KafkaError] = []
    settings: dict[str, Any] = {
        "bootstrap.servers": f"127.0.0.1:{sasl.sasl_port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": "no",
        "error_cb": heard.append,
        "log_level": 0,
    }
    admin = AdminClient(settings)
    deadline = time.monotonic() + 20
    while not heard and time.monotonic() < deadline:
        admin.poll(0.1)
    assert heard[0].code() == KafkaError._AUTHENTICATION
    assert "Authentication failed" in heard[0].str()
    assert "failed authentication" in sasl.process.log


def test_failures_of_one_client_do_not_fill_the_log(sasl: SaslBroker) -> None:
    """Ten are told in ten seconds, and no password."""
    before = sasl.process.log.count("failed authentication")
    for _ in range(40):
        with WireClient(sasl.sasl_port) as wire:
            wire.ask("SaslHandshake", 1, mechanism="PLAIN")
            answer = wire.ask("SaslAuthenticate", 2, auth_bytes=b"\0alice\0hunter2")
            assert answer["error_code"] == 58
    assert sasl.process.log.count("failed authentication") - before <= 20
    assert "hunter2" not in sasl.process.log


def altered(sasl: SaslBroker, key: str, value: str) -> object:
    """Set a config of the broker at run time; return the error code."""
    change = {"name": key, "config_operation": 0, "value": value}
    resource = {"resource_type": 4, "resource_name": "1", "configs": [change]}
    with WireClient(sasl.process.port) as wire:
        answer = wire.ask("IncrementalAlterConfigs", 1, resources=[resource], validate_only=False)
    return answer["responses"][0]["error_code"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("listener.name.sasl.plain.sasl.jaas.config", "hunter2"),
        ("listener.name.sasl.plain.sasl.jaas.config", "x.PlainLoginModule required;"),
        ("sasl.enabled.mechanisms", "GSSAPI"),
        ("listener.name.sasl.sasl.enabled.mechanisms", "SCRAM-SHA-1"),
    ],
)
def test_settings_by_which_nobody_could_log_in_are_refused_at_run_time(sasl: SaslBroker, key: str, value: str) -> None:
    """Those of before stay in force, and the value is in no log."""
    assert altered(sasl, key, value) == 42
    with WireClient(sasl.sasl_port) as wire:
        assert wire.ask("SaslHandshake", 1, mechanism="PLAIN")["error_code"] == 0
        assert wire.ask("SaslAuthenticate", 2, auth_bytes=b"\0alice\0alice-secret")["error_code"] == 0
    assert "hunter2" not in sasl.process.log


def test_users_may_be_changed_at_run_time(sasl: SaslBroker) -> None:
    """By the listener's JAAS entry as a dynamic config of the broker, as with Apache Kafka."""
    key = "listener.name.sasl.plain.sasl.jaas.config"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    users = " ".join(f'user_{name}="{password}"' for name, password in {**PLAIN_USERS, "eve": "new"}.items())
    assert altered(sasl, key, f"{module} required {users};") == 0
    with WireClient(sasl.sasl_port) as wire:
        wire.ask("SaslHandshake", 1, mechanism="PLAIN")
        assert wire.ask("SaslAuthenticate", 2, auth_bytes=b"\0eve\0new")["error_code"] == 0


@pytest.mark.parametrize("settings", [{}, {"sasl.enabled.mechanisms": "PLAIN"}])
def test_a_listener_that_lets_nobody_in_keeps_the_broker_from_starting(
    tmp_path_factory: pytest.TempPathFactory, settings: dict[str, str]
) -> None:
    """With a sentence that says what to set."""
    process = OdradekProcess(tmp_path_factory.mktemp("x"), {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", **settings})
    process.launch()
    assert process.wait() == 1
    assert "sasl.enabled.mechanisms" in process.log or "sasl.jaas.config" in process.log
