"""`odradek tokens`, over a listener that asks who it is."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from odradek.cli.app import run
from tests.integration.cli import Cli, Result
from tests.support.documents import check_documents
from tests.support.sasl_brokers import PLAIN_USERS, SaslBroker

_MODULE = "org.apache.kafka.common.security"


@pytest.fixture(scope="module")
def sasl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslBroker]:
    """A broker with tokens."""
    tokens = {"delegation.token.secret.key": "master"}
    broker = SaslBroker(tmp_path_factory.mktemp("sasl"), is_kafka=False, overrides=tokens)
    try:
        broker.process.start()
        yield broker
    finally:
        broker.process.discard()


@pytest.fixture
def tokens(
    sasl: SaslBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Cli:
    """Run the command as alice."""
    config = tmp_path / "alice.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={_MODULE}.plain.PlainLoginModule required username="alice"'
        f' password="{PLAIN_USERS["alice"]}";\n'
    )

    def call(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        at = ("--bootstrap-server", f"127.0.0.1:{sasl.sasl_port}", "--command-config", str(config))
        code = run(["tokens", *arguments, *at])
        output, error = capfdbinary.readouterr()
        if "--json" in arguments and output:
            check_documents(["tokens", *arguments], output)
        return Result(code, output, error.decode())

    return call


def test_a_token_is_made_lets_in_is_renewed_and_ends(tokens: Cli, sasl: SaslBroker) -> None:
    """Its password is told once, and comes back by standard input, a file or a variable only."""
    made = tokens("create", "--renewer", "User:bob", "--renewer", "admin", "--max-hours", "2", "--json").json
    assert (made["owner"], made["renewers"]) == ("User:alice", ["User:bob", "User:admin"])
    assert made["max_ms"] - made["issued_ms"] == 2 * 3_600_000
    listed = tokens("list", "--json").json["tokens"]
    assert [one["id"] for one in listed] == [made["id"]]
    assert made["password"] not in tokens("list").output.decode()
    login = {
        "bootstrap.servers": f"127.0.0.1:{sasl.sasl_port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": made["id"],
        "sasl.password": made["password"],
        "log_level": "0",
    }
    with pytest.raises(Exception, match="Failed to get metadata"):
        AdminClient(login).list_topics(timeout=1)  # librdkafka cannot say tokenauth: it is no user
    password = made["password"].encode() + b"\n"
    assert tokens("renew", "--hours", "1", "--json", stdin=password).json["expires_ms"] < made["expires_ms"]
    assert tokens("expire", "--json", stdin=password).code == 0
    assert tokens("list", "--json").json["tokens"] == []
    assert "there are no tokens" in tokens("list").error
    assert tokens("renew", stdin=password).code != 0
    assert tokens("renew", stdin=b"no base64!\n").code != 0
