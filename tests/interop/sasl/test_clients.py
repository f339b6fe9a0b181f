"""Clients of Java, Go and Node log in by each mechanism, produce and consume; Java's log in again when their session
ends."""

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.conftest import IN_CI
from tests.interop.clients import go_login, missing, node_login, run_login
from tests.interop.sasl.conftest import Pair
from tests.interop.sasl.conversations import SCRAM_PASSWORD
from tests.support.broker import run_java
from tests.support.sasl_brokers import MECHANISMS, PLAIN_USERS, SaslBroker

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

TOOLS = "org.apache.kafka.tools"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_javas_clients_log_in(brokers: Pair, tmp_path: Path, mechanism: str) -> None:
    """At a listener whose sessions end after three seconds: the load takes longer, over one connection."""
    _, odradek = brokers
    user, password = ("alice", PLAIN_USERS["alice"]) if mechanism == "PLAIN" else ("carol", SCRAM_PASSWORD)
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    config = tmp_path / "client.properties"
    config.write_text(
        f"bootstrap.servers=127.0.0.1:{odradek.reauth_port}\n"
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config=org.apache.kafka.common.security.{kind}LoginModule required"
        f' username="{user}" password="{password}";\n'
    )
    topic = f"java-{mechanism.lower()}"
    load = ("--num-records", "50", "--record-size", "10", "--throughput", "10")
    done = run_java(
        f"{TOOLS}.ProducerPerformance", "--topic", topic, *load, "--command-config", str(config)
    ).stdout.decode()
    assert "50 records sent" in done
    read = run_java(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *("--bootstrap-server", f"127.0.0.1:{odradek.reauth_port}", "--command-config", str(config)),
        *("--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", "50"),
    )
    assert len(read.stdout.splitlines()) == 50


def test_java_hears_why_it_is_not_let_in(brokers: Pair, tmp_path: Path) -> None:
    """The answer arrives before the connection ends, so that the client gives up instead of trying for ever."""
    _, odradek = brokers
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security"
        '.plain.PlainLoginModule required username="alice" password="no";\n'
    )
    at = ("--bootstrap-server", f"127.0.0.1:{odradek.sasl_port}", "--command-config", str(config))
    with pytest.raises(AssertionError, match="Invalid username or password"):
        run_java(f"{TOOLS}.TopicCommand", *at, "--list")


def _login(
    program: list[str], broker: SaslBroker, mechanism: str, password: str | None = None
) -> CompletedProcess[str]:
    """Run a client that logs in."""
    user, right = ("alice", PLAIN_USERS["alice"]) if mechanism == "PLAIN" else ("carol", SCRAM_PASSWORD)
    return run_login(program, broker.sasl_port, mechanism, user, password or right)


@pytest.mark.skipif(bool(missing("go")) and not IN_CI, reason="Go is not installed")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_franz_go_logs_in(brokers: Pair, mechanism: str) -> None:
    """Produces and reads; with a wrong password it hears why not."""
    _, odradek = brokers
    done = _login(go_login(), odradek, mechanism)
    assert done.stdout == "read\n", done.stderr
    refused = _login(go_login(), odradek, mechanism, "no")
    assert refused.returncode != 0
    assert "SASL_AUTHENTICATION_FAILED" in refused.stderr


@pytest.mark.skipif(bool(missing("node", "npm")) and not IN_CI, reason="Node and npm are not installed")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafkajs_logs_in(brokers: Pair, mechanism: str) -> None:
    """Produces and reads; with a wrong password it hears why not."""
    _, odradek = brokers
    done = _login(node_login(), odradek, mechanism)
    assert done.stdout == "read\n", done.stderr
    refused = _login(node_login(), odradek, mechanism, "no")
    assert refused.returncode != 0
    assert "Authentication failed" in refused.stderr
