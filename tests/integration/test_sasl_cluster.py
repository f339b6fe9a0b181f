"""A cluster of the project's own nodes that log in at each other."""

import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sasl_cluster import NODE_PASSWORD, NODE_USER, SaslCluster
from tests.support.scram_client import ScramClient
from tests.support.waiting import eventually
from tests.support.wire import WireClient

SESSION_MS = 2000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SaslCluster]:
    """A controller with a broker, and another broker; sessions between brokers are short."""
    made = SaslCluster(tmp_path, (False, False), SESSION_MS)
    try:
        made.start()
        yield made
    finally:
        made.discard()


def test_replicas_follow_over_connections_that_log_in_again_and_again(cluster: SaslCluster) -> None:
    """PLAIN at the controller, SCRAM between brokers, whose sessions end several times; all replicas stay in sync."""
    cluster.make_topic("t", 2)
    began, rounds = time.monotonic(), 0
    while time.monotonic() - began < 3 * SESSION_MS / 1000:
        cluster.produce("t", 2, 10)
        rounds += 1
        assert cluster.is_in_sync("t")
    assert [cluster.count("t", partition) for partition in (0, 1)] == [10 * rounds] * 2
    assert not any("does not let this one in" in node.log for node in cluster.nodes)


def log_in(port: int, user: str, password: str, extensions: str = "") -> WireClient:
    """Return a connection of a user of SCRAM-SHA-512."""
    wire, client = WireClient(port), ScramClient(user, password, "sha512", extensions)
    assert wire.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-512")["error_code"] == 0
    challenge = wire.ask("SaslAuthenticate", 2, auth_bytes=client.first())["auth_bytes"]
    assert isinstance(challenge, bytes)
    answer = wire.ask("SaslAuthenticate", 2, auth_bytes=client.final(challenge))
    assert answer["error_code"] == 0, answer
    return wire


def test_tokens_are_made_through_any_broker_and_let_in_at_every_one(cluster: SaslCluster) -> None:
    """The controller makes them, and knows who asks, and that a token does not make another one."""
    port_of_first, port_of_second = cluster.internal_ports
    nothing: dict[str, object] = {"owner_principal_type": None, "owner_principal_name": None, "renewers": []}
    with log_in(port_of_second, NODE_USER, NODE_PASSWORD) as wire:
        token = wire.ask("CreateDelegationToken", 3, max_lifetime_ms=-1, **nothing)
        assert (token["error_code"], token["principal_name"]) == (0, NODE_USER)
        hmac = token["hmac"]
        assert isinstance(hmac, bytes)
        renewed = wire.ask("RenewDelegationToken", 2, hmac=hmac, renew_period_ms=3_600_000)
        assert renewed["error_code"] == 0
    for port in (port_of_first, port_of_second):
        with log_in(port, str(token["token_id"]), b64encode(hmac).decode(), ",tokenauth=true") as wire:
            refused = wire.ask("CreateDelegationToken", 3, max_lifetime_ms=-1, **nothing)
            assert refused["error_code"] == 64
            assert wire.ask("Metadata", 13, topics=[])["error_code"] == 0
    with WireClient(cluster.nodes[1].port) as stranger:
        assert stranger.ask("CreateDelegationToken", 3, max_lifetime_ms=-1, **nothing)["error_code"] == 64
        told = stranger.ask("RenewDelegationToken", 2, hmac=hmac, renew_period_ms=1)
        assert (told["error_code"], told["expiry_timestamp_ms"]) == (64, -1)


def test_a_node_with_another_password_does_not_get_in_and_says_why(cluster: SaslCluster) -> None:
    """Once, with the name that it gave; the password is in no log."""
    _, stranger = cluster.nodes
    stranger.stop()
    key = "listener.name.controller.plain.sasl.jaas.config"
    stranger.overrides[key] = stranger.overrides[key].replace('password="node-secret"', 'password="hunter2"')
    stranger.launch()
    eventually(lambda: "does not let this one in" in stranger.log, "the node says that it is refused")
    assert "Invalid username or password" in stranger.log
    eventually(lambda: "failed authentication" in cluster.nodes[0].log, "so does the controller")
    assert not any("hunter2" in node.log for node in cluster.nodes)
