"""Delegation tokens are made, renewed, ended, told and used as Apache Kafka does it."""

import time
from base64 import b64encode
from collections.abc import Callable

import pytest

from tests.interop.sasl.conftest import Pair
from tests.support.broker import run_java
from tests.support.sasl_brokers import PLAIN_USERS, SaslBroker
from tests.support.scram_client import ScramClient
from tests.support.waiting import eventually
from tests.support.wire import Message, WireClient

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka")]

DAY_MS = 86_400_000


def user(broker: SaslBroker, name: str) -> WireClient:
    """Return a connection of a user."""
    wire = WireClient(broker.sasl_port)
    assert wire.ask("SaslHandshake", 1, mechanism="PLAIN")["error_code"] == 0
    token = f"\0{name}\0{PLAIN_USERS[name]}".encode()
    assert wire.ask("SaslAuthenticate", 2, auth_bytes=token)["error_code"] == 0
    return wire


def token_session(broker: SaslBroker, token: Message, extension: str = ",tokenauth=true") -> tuple[WireClient, Message]:
    """Log in with a token; return the connection and the last answer."""
    hmac = token["hmac"]
    assert isinstance(hmac, bytes)
    client = ScramClient(str(token["token_id"]), b64encode(hmac).decode(), extensions=extension)
    wire = WireClient(broker.sasl_port)
    wire.ask("SaslHandshake", 1, mechanism="SCRAM-SHA-256")
    answer = wire.ask("SaslAuthenticate", 2, auth_bytes=client.first())
    if answer["error_code"] == 0:
        challenge = answer["auth_bytes"]
        assert isinstance(challenge, bytes)
        answer = wire.ask("SaslAuthenticate", 2, auth_bytes=client.final(challenge))
    return wire, answer


def create(wire: WireClient, **fields: object) -> Message:
    """Make a token."""
    asked: Message = {"owner_principal_type": None, "owner_principal_name": None, "renewers": [], "max_lifetime_ms": -1}
    return wire.ask("CreateDelegationToken", 3, **{**asked, **fields})


def rounded(time_ms: object, now_ms: int) -> object:
    """Return a time as minutes from now, so that two brokers can be compared; what is none stays."""
    assert isinstance(time_ms, int)
    return time_ms if time_ms <= 0 else round((time_ms - now_ms) / 60_000)


def told_of(token: Message) -> Message:
    """Return what of a token is the same with both brokers."""
    now_ms = int(time.time() * 1000)
    left_out = {"token_id", "hmac"}
    return {
        name: rounded(value, now_ms) if "timestamp" in name else value
        for name, value in token.items()
        if name not in left_out
    }


def wait_until_known(wire: WireClient, token: Message) -> None:
    """Kafka tells of a token after a while."""

    def is_known() -> bool:
        tokens = wire.ask("DescribeDelegationToken", 3, owners=None)["tokens"]
        assert isinstance(tokens, list)
        return any(one["token_id"] == token["token_id"] for one in tokens)

    eventually(is_known, "the token is there", 60)


RENEWERS = [{"principal_type": "User", "principal_name": "bob"}]
CREATIONS: list[Message] = [
    {},
    {"max_lifetime_ms": 60_000},
    {"max_lifetime_ms": 0},
    {"max_lifetime_ms": 30 * DAY_MS},
    {"renewers": RENEWERS},
    {"renewers": [{"principal_type": "Group", "principal_name": "bob"}]},
    {"owner_principal_type": "User", "owner_principal_name": "bob"},
    {"owner_principal_type": "User", "owner_principal_name": ""},
]


@pytest.mark.parametrize("fields", CREATIONS)
def test_tokens_are_made_as_kafka_makes_them(brokers: Pair, fields: Message) -> None:
    """Codes, owners and times."""
    answers = []
    for broker in brokers:
        with user(broker, "alice") as wire:
            answers.append(told_of(create(wire, **fields)))
    kafka, odradek = answers
    assert odradek == kafka


CHANGES: dict[str, tuple[str, str, str, Message]] = {
    "renewed by its owner": ("alice", "RenewDelegationToken", "alice", {"renew_period_ms": 3_600_000}),
    "renewed by its renewer": ("alice", "RenewDelegationToken", "bob", {"renew_period_ms": 3_600_000}),
    "renewed by somebody else": ("alice", "RenewDelegationToken", "admin", {"renew_period_ms": 3_600_000}),
    "renewed for long": ("alice", "RenewDelegationToken", "alice", {"renew_period_ms": 30 * DAY_MS}),
    "renewed for as long as usual": ("alice", "RenewDelegationToken", "alice", {"renew_period_ms": -1}),
    "renewed for nothing": ("alice", "RenewDelegationToken", "alice", {"renew_period_ms": 0}),
    "ended at once": ("alice", "ExpireDelegationToken", "alice", {"expiry_time_period_ms": -1}),
    "ended later": ("alice", "ExpireDelegationToken", "bob", {"expiry_time_period_ms": 3_600_000}),
    "ended much later": ("alice", "ExpireDelegationToken", "alice", {"expiry_time_period_ms": 90 * DAY_MS}),
    "ended by somebody else": ("alice", "ExpireDelegationToken", "admin", {"expiry_time_period_ms": -1}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_tokens_are_changed_as_kafka_changes_them(brokers: Pair, name: str) -> None:
    """By their owner, a renewer, and others."""
    owner, api, who, fields = CHANGES[name]
    answers = []
    for broker in brokers:
        with user(broker, owner) as wire, user(broker, who) as other:
            token = create(wire, renewers=RENEWERS)
            wait_until_known(wire, token)
            answer = told_of(other.ask(api, 2, hmac=token["hmac"], **fields))
            unknown = other.ask(api, 2, hmac=b"nothing", **fields)
            answers.append((answer, unknown))
    kafka, odradek = answers
    assert odradek == kafka


def test_tokens_are_told_as_kafka_tells_them(brokers: Pair) -> None:
    """Of all, of nobody, of somebody; a token as a whole. Without an authorizer everybody sees all."""
    answers = []
    for broker in brokers:
        with user(broker, "bob") as wire:
            token = create(wire, renewers=[{"principal_type": "User", "principal_name": "x"}])
            wait_until_known(wire, token)
            told = wire.ask("DescribeDelegationToken", 3, owners=None)
            tokens = told["tokens"]
            assert isinstance(tokens, list)
            (mine,) = (one for one in tokens if one["token_id"] == token["token_id"])
            assert mine["hmac"] == token["hmac"]
            nobody = wire.ask("DescribeDelegationToken", 3, owners=[])
            stranger = [{"principal_type": "User", "principal_name": "stranger"}]
            others = wire.ask("DescribeDelegationToken", 3, owners=stranger)
            answers.append((told_of(mine), told["error_code"], nobody, others))
    kafka, odradek = answers
    assert odradek == kafka


def test_a_token_lets_its_owner_in_and_makes_no_more_tokens(brokers: Pair) -> None:
    """By SCRAM with tokenauth; the session ends with the token; not as a user without the extension."""
    answers = []
    for broker in brokers:
        with user(broker, "alice") as wire:
            token = create(wire, max_lifetime_ms=600_000)
            wait_until_known(wire, token)
        session, answer = token_session(broker, token)
        lifetime = answer["session_lifetime_ms"]
        assert isinstance(lifetime, int)
        assert 500_000 < lifetime <= 600_000
        codes: list[object] = [
            answer["error_code"],
            session.ask("Metadata", 13, topics=[])["error_code"],
            create(session)["error_code"],
            session.ask("RenewDelegationToken", 2, hmac=token["hmac"], renew_period_ms=1),
            session.ask("ExpireDelegationToken", 2, hmac=token["hmac"], expiry_time_period_ms=-1),
            session.ask("DescribeDelegationToken", 3, owners=None),
        ]
        session.close()
        wrong, refused = token_session(broker, token, extension="")
        codes.append(refused["error_code"])
        wrong.close()
        answers.append(codes)
    kafka, odradek = answers
    assert odradek == kafka


ANYWHERE: list[Callable[[WireClient], Message]] = [
    create,
    lambda wire: wire.ask("RenewDelegationToken", 2, hmac=b"x", renew_period_ms=1),
    lambda wire: wire.ask("ExpireDelegationToken", 2, hmac=b"x", expiry_time_period_ms=1),
    lambda wire: wire.ask("DescribeDelegationToken", 3, owners=None),
]


@pytest.mark.parametrize("place", range(len(ANYWHERE)))
def test_nobody_has_tokens_who_has_not_said_who_he_is(brokers: Pair, place: int) -> None:
    """On a listener that does not ask."""
    answers = []
    for broker in brokers:
        with WireClient(broker.process.port) as wire:
            answers.append(told_of(ANYWHERE[place](wire)))
    kafka, odradek = answers
    assert odradek == kafka


def test_kafka_delegation_tokens_makes_tells_and_ends_tokens(brokers: Pair, tmp_path_factory: pytest.TempPathFactory) -> None:  # fmt: skip # noqa: E501
    """Apache Kafka's tool, unmodified."""
    _, odradek = brokers
    config = tmp_path_factory.mktemp("tool") / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security"
        f'.plain.PlainLoginModule required username="admin" password="{PLAIN_USERS["admin"]}";\n'
    )
    at = ("--bootstrap-server", f"127.0.0.1:{odradek.sasl_port}", "--command-config", str(config))
    tool = "org.apache.kafka.tools.DelegationTokenCommand"
    made = run_java(tool, *at, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
    hmac = made.stdout.decode().split()[-8]
    described = run_java(tool, *at, "--describe", "--owner-principal", "User:admin").stdout.decode()
    assert "User:bob" in described
    assert hmac in described or hmac in made.stdout.decode()
