"""Tokens of an identity provider are taken and refused as Apache Kafka takes and refuses them."""

import asyncio
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AiokafkaTokenProvider
from confluent_kafka import Consumer, Producer, TopicPartition
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from kafka import KafkaConsumer, KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonTokenProvider

from tests.conftest import IN_CI
from tests.interop.clients import go_login, missing, node_login, run_login
from tests.interop.sasl.conversations import CLOSED, Heard
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess, run_java
from tests.support.ports import free_ports
from tests.support.wire import ConnectionClosedError, WireClient

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

KEY = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
OTHER = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256", "use": "sig"})
STRANGE = RSAKey.generate_key(2048, {"kid": "two", "alg": "RS256", "use": "sig"})
_CLASS = "org.apache.kafka.common.security.oauthbearer"
_TOOLS = "org.apache.kafka.tools"


class _KafkaWithKeys(ApacheKafkaProcess):
    """Apache Kafka that may read the provider's keys (KIP-1139)."""

    url = ""

    def _command(self) -> Sequence[str]:
        program, *arguments = super()._command()
        return [program, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.url}", *arguments]


class Broker:
    """A broker of either kind with a listener for tokens."""

    def __init__(self, directory: Path, is_kafka: bool, url: str) -> None:
        plain, self.port, controller = free_ports(3)
        listeners = f"PLAINTEXT://127.0.0.1:{plain},TOKENS://127.0.0.1:{self.port}"
        prefix = "listener.name.tokens.oauthbearer"
        settings = {
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TOKENS:SASL_PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "connection.failed.authentication.delay.ms": "10",
            f"{prefix}.sasl.jaas.config": f"{_CLASS}.OAuthBearerLoginModule required;",
            f"{prefix}.sasl.server.callback.handler.class": f"{_CLASS}.OAuthBearerValidatorCallbackHandler",
            f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": url,
            f"{prefix}.sasl.oauthbearer.expected.audience": "kafka",
            f"{prefix}.sasl.oauthbearer.expected.issuer": "us",
        }
        self.process: BrokerProcess
        if is_kafka:
            settings["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
            settings["listener.security.protocol.map"] += ",CONTROLLER:PLAINTEXT"
            settings["controller.quorum.voters"] = f"1@127.0.0.1:{controller}"
            kafka = _KafkaWithKeys(directory, settings)
            kafka.url = url
            self.process = kafka
        else:
            self.process = OdradekProcess(directory, settings)
        self.process.port = plain


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Broker]]:
    """Both brokers, with the keys of one provider in a file."""
    directory = tmp_path_factory.mktemp("oauth")
    keys = directory / "jwks.json"
    keys.write_text(json.dumps(KeySet([KEY]).as_dict(private=False)))
    kafka, odradek = (Broker(directory / name, name == "kafka", keys.as_uri()) for name in ("kafka", "odradek"))
    try:
        for broker in (kafka, odradek):
            broker.process.start()
        yield kafka, odradek
    finally:
        for broker in (kafka, odradek):
            broker.process.discard()


def claims(**changed: object) -> dict[str, object]:
    """Return what a good token says; None leaves a claim out."""
    now = int(time.time())
    found = {"sub": "erin", "iat": now, "exp": now + 300, "iss": "us", "aud": "kafka", **changed}
    return {name: value for name, value in found.items() if value is not None}


def token(key: RSAKey = KEY, header: dict[str, Any] | None = None, **changed: object) -> str:
    """Return a signed token."""
    return jwt.encode({"alg": "RS256", "kid": key.kid, **(header or {})}, claims(**changed), key)


def unsigned(algorithm: str) -> str:
    """Return a token that nobody has signed."""
    parts = ({"alg": algorithm, "typ": "JWT"}, claims())
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


def heard(broker: Broker, message: bytes) -> Heard:
    """Send a message, and the acknowledgement of a refusal where there is one; return what was heard."""
    answers: Heard = []
    with WireClient(broker.port) as wire:
        wire.ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
        try:
            answer = wire.ask("SaslAuthenticate", 2, auth_bytes=message)
            said = answer["auth_bytes"]
            answers += [answer["error_code"], answer["error_message"], said]
            lifetime = answer["session_lifetime_ms"]
            assert isinstance(lifetime, int)
            answers.append(round(lifetime / 60_000))
            if said:
                answer = wire.ask("SaslAuthenticate", 2, auth_bytes=b"\x01")
                answers += [answer["error_code"], answer["error_message"], answer["auth_bytes"]]
            elif answer["error_code"] == 0:
                answers.append(wire.ask("Metadata", 13, topics=[])["error_code"])
        except ConnectionClosedError:
            answers.append(CLOSED)
    return answers


def first(bearer: str, authorization_id: str = "", more: str = "") -> bytes:
    """Return a client's message."""
    gs2 = f"n,a={authorization_id}," if authorization_id else "n,,"
    return f"{gs2}\x01auth=Bearer {bearer}\x01{more}\x01".encode()


def later(seconds: int) -> int:
    """Return a time, in seconds, from now on: what is over when a test runs must not depend on when it was imported."""
    return int(time.time()) + seconds


MESSAGES: dict[str, Callable[[], bytes]] = {
    "good": lambda: first(token()),
    "good, own authorization id": lambda: first(token(), "erin"),
    "good, with an extension": lambda: first(token(), more="logicalCluster=x\x01"),
    "other authorization id": lambda: first(token(), "frank"),
    "expired": lambda: first(token(exp=later(-3600))),
    "without an end": lambda: first(token(exp=None)),
    "without a beginning": lambda: first(token(iat=None)),
    "without a subject": lambda: first(token(sub=None)),
    "issued in the future": lambda: first(token(iat=later(5000), exp=later(9000))),
    "issued after its end": lambda: first(token(iat=later(5000))),
    "valid after its end": lambda: first(token(nbf=later(2000), exp=later(1000))),
    "not valid yet": lambda: first(token(nbf=later(5000))),
    "for others": lambda: first(token(aud="else")),
    "for several": lambda: first(token(aud=["else", "kafka"])),
    "for nobody": lambda: first(token(aud=None)),
    "from others": lambda: first(token(iss="them")),
    "with scopes": lambda: first(token(scope="a b")),
    "with a list of scopes": lambda: first(token(scope=["a", "b"])),
    "signed by another key": lambda: first(token(OTHER)),
    "signed by an unknown key": lambda: first(token(STRANGE)),
    "signed by nobody": lambda: first(unsigned("none")),
    "garbage": lambda: first("garbage"),
    "no message": lambda: b"garbage",
    # another scheme than Bearer ends the connection without an answer in Kafka 4.3, and is refused with one here
    "the extension auth": lambda: first(token(), more="auth=x\x01"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_token_is_judged_as_kafka_judges_it(pair: tuple[Broker, Broker], name: str) -> None:
    """Codes, sentences, JSON and the length of the session."""
    message = MESSAGES[name]()
    kafka, odradek = (heard(broker, message) for broker in pair)
    assert odradek == kafka


def test_librdkafka_logs_in_with_a_token(pair: tuple[Broker, Broker]) -> None:
    """By a token that the program gets, as with any provider; it produces and reads."""
    _, odradek = pair
    settings: dict[str, Any] = {
        "bootstrap.servers": f"127.0.0.1:{odradek.port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _config: (token(), time.time() + 300),
    }
    producer = Producer(settings)
    producer.produce("rd-token", b"x", partition=0)
    assert producer.flush(60) == 0
    consumer = Consumer({**settings, "group.id": "rd-token"})
    consumer.assign([TopicPartition("rd-token", 0, 0)])
    message = consumer.poll(60)
    assert message is not None
    assert (message.error(), message.value()) == (None, b"x")
    consumer.close()


class _KafkaPythonTokens(KafkaPythonTokenProvider):  # type: ignore[misc]  # it has no types
    """What kafka-python gets its tokens from."""

    def token(self) -> str:
        """Return one that is good."""
        return token()


class _AiokafkaTokens(AiokafkaTokenProvider):  # type: ignore[misc]  # it has no types
    """What aiokafka gets its tokens from."""

    async def token(self) -> str:
        """Return one that is good."""
        return token()


def of_python(broker: Broker, provider: object) -> dict[str, Any]:
    """Return the settings of kafka-python and aiokafka."""
    return {
        "bootstrap_servers": f"127.0.0.1:{broker.port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": provider,
    }


def test_kafka_python_logs_in_with_a_token(pair: tuple[Broker, Broker]) -> None:
    """Producer and consumer."""
    settings = of_python(pair[1], _KafkaPythonTokens())
    producer = KafkaProducer(**settings)
    producer.send("kp-token", b"x", partition=0).get(60)
    producer.close()
    consumer = KafkaConsumer("kp-token", auto_offset_reset="earliest", consumer_timeout_ms=60_000, **settings)
    assert next(consumer).value == b"x"
    consumer.close()


async def test_aiokafka_logs_in_with_a_token(pair: tuple[Broker, Broker]) -> None:
    """Producer and consumer."""
    settings = of_python(pair[1], _AiokafkaTokens())
    async with AIOKafkaProducer(**settings) as producer:
        await producer.send_and_wait("aio-token", b"x", partition=0)
    async with AIOKafkaConsumer("aio-token", auto_offset_reset="earliest", **settings) as consumer:
        assert (await asyncio.wait_for(consumer.getone(), 60)).value == b"x"


@pytest.mark.skipif(bool(missing("go")) and not IN_CI, reason="Go is not installed")
def test_franz_go_logs_in_with_a_token(pair: tuple[Broker, Broker]) -> None:
    """Produces and reads; one of another signer is refused."""
    _, odradek = pair
    done = run_login(go_login(), odradek.port, "OAUTHBEARER", "erin", token())
    assert done.stdout == "read\n", done.stderr
    refused = run_login(go_login(), odradek.port, "OAUTHBEARER", "erin", token(OTHER))
    assert refused.returncode != 0
    assert "unexpected data in oauth response" in refused.stderr


@pytest.mark.skipif(bool(missing("node", "npm")) and not IN_CI, reason="Node and npm are not installed")
def test_kafkajs_logs_in_with_a_token(pair: tuple[Broker, Broker]) -> None:
    """Produces and reads."""
    _, odradek = pair
    done = run_login(node_login(), odradek.port, "OAUTHBEARER", "erin", token())
    assert done.stdout == "read\n", done.stderr


def test_javas_clients_log_in_with_a_token(
    pair: tuple[Broker, Broker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a token out of a file, which they may read only where their JVM is told so; they produce and read, and one of
    another signer is refused."""
    _, odradek = pair
    held = tmp_path / "token"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={held.as_uri()}")
    config = tmp_path / "client.properties"
    bootstrap = f"127.0.0.1:{odradek.port}"
    config.write_text(
        f"bootstrap.servers={bootstrap}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.jaas.config={_CLASS}.OAuthBearerLoginModule required;\n"
        f"sasl.login.callback.handler.class={_CLASS}.OAuthBearerLoginCallbackHandler\n"
        f"sasl.oauthbearer.token.endpoint.url={held.as_uri()}\n"
    )
    of_config = ("--command-config", str(config))
    held.write_text(token())
    load = ("--num-records", "5", "--record-size", "10", "--throughput", "-1")
    done = run_java(f"{_TOOLS}.ProducerPerformance", "--topic", "java-token", *load, *of_config)
    assert b"5 records sent" in done.stdout
    read = run_java(
        *(f"{_TOOLS}.consumer.ConsoleConsumer", "--bootstrap-server", bootstrap, *of_config),
        *("--topic", "java-token", "--partition", "0", "--offset", "earliest", "--max-messages", "5"),
    )
    assert len(read.stdout.splitlines()) == 5
    held.write_text(token(OTHER))
    with pytest.raises(AssertionError, match=r"invalid_token|SaslAuthenticationException"):
        run_java(f"{_TOOLS}.TopicCommand", "--bootstrap-server", bootstrap, *of_config, "--list")
