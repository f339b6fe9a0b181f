"""Logging in at another node: the requests, in order, and what their answers lead to."""

import pytest

from odradek.broker.network.node_login import LoggedIn, LoginParts, NodeLogin
from odradek.broker.runtime.disk_threads import InPlace
from odradek.protocol.codec import Message
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.registry import Api, ApiKey
from odradek.protocol.sasl import ClientExchange, exchange_of

KNOWN = {ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.SASL_AUTHENTICATE: (0, 2)}


class World:
    """An attempt, what it sent, and what it came to."""

    def __init__(self, mechanism: str = "PLAIN", versions: dict[ApiKey, tuple[int, int]] | None = None) -> None:
        self.sent: list[tuple[int, Message]] = []
        self.outcomes: list[LoggedIn | str] = []

        def begin() -> ClientExchange:
            exchange = exchange_of(mechanism, "node", "secret")
            assert exchange is not None
            return exchange

        def send(_api: Api, version: int, message: Message) -> None:
            self.sent.append((version, message))

        parts = LoginParts(begin, InPlace(), lambda _address, _reason: None)
        known = {int(key): value for key, value in (KNOWN if versions is None else versions).items()}
        self.login = NodeLogin(parts, known, send, self.outcomes.append)
        self.login.begin()

    def answer(self, message: Message) -> None:
        """Give the answer that is due."""
        assert isinstance(message, self.login.due[2])
        self.login.take(message)


def test_a_node_says_the_mechanism_and_then_its_token() -> None:
    """In the newest versions that both know; the session is as long as the other side says."""
    world = World()
    version, handshake = world.sent[0]
    assert isinstance(handshake, SaslHandshakeRequest)
    assert (version, handshake.mechanism) == (1, "PLAIN")
    world.answer(SaslHandshakeResponse(mechanisms=["PLAIN"]))
    version, token = world.sent[1]
    assert isinstance(token, SaslAuthenticateRequest)
    assert (version, token.auth_bytes) == (2, b"\0node\0secret")
    world.answer(SaslAuthenticateResponse(session_lifetime_ms=5000))
    assert world.outcomes == [LoggedIn(5000)]


def test_an_older_node_has_its_tokens_in_an_older_version() -> None:
    """Apache Kafka 1.0 and 2.1."""
    world = World(versions={ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.SASL_AUTHENTICATE: (0, 0)})
    world.answer(SaslHandshakeResponse())
    assert world.sent[1][0] == 0


@pytest.mark.parametrize(
    "versions",
    [{}, {ApiKey.SASL_HANDSHAKE: (0, 1)}, {ApiKey.SASL_HANDSHAKE: (0, 0), ApiKey.SASL_AUTHENTICATE: (0, 2)}],
)
def test_a_node_that_nobody_can_log_in_at_is_not_asked(versions: dict[ApiKey, tuple[int, int]]) -> None:
    """It does not know the requests."""
    world = World(versions=versions)
    assert (world.sent, world.outcomes) == ([], ["it cannot be logged in at"])


def test_a_refusal_is_told_in_the_words_of_the_other_side() -> None:
    """Of the mechanism, or of the password."""
    world = World()
    world.answer(SaslHandshakeResponse(error_code=33, mechanisms=["GSSAPI"]))
    assert world.outcomes == ["its mechanisms are GSSAPI (error 33)"]
    world = World()
    world.answer(SaslHandshakeResponse())
    world.answer(SaslAuthenticateResponse(error_code=58, error_message="Invalid username or password"))
    assert world.outcomes == ["Invalid username or password"]


def test_who_does_not_know_the_user_is_not_believed() -> None:
    """SCRAM: the other side has to prove itself, too, and gets no proof for too little or too much work."""
    for challenge, reason in (
        (b"r=%s,s=c2FsdA==,i=1", "iterations"),
        (b"r=%s,s=c2FsdA==,i=999999999", "iterations"),
        (b"r=other,s=c2FsdA==,i=4096", "nonce"),
        (b"garbage", "no SCRAM"),
    ):
        world = World("SCRAM-SHA-256")
        world.answer(SaslHandshakeResponse())
        first = world.sent[1][1]
        assert isinstance(first, SaslAuthenticateRequest)
        nonce = first.auth_bytes.rpartition(b"r=")[2] + b"more"
        token = challenge % nonce if b"%s" in challenge else challenge
        world.answer(SaslAuthenticateResponse(auth_bytes=token))
        (outcome,) = world.outcomes
        assert reason in str(outcome)
        assert len(world.sent) == 2
    world = World("SCRAM-SHA-256")
    world.answer(SaslHandshakeResponse())
    first = world.sent[1][1]
    assert isinstance(first, SaslAuthenticateRequest)
    nonce = first.auth_bytes.rpartition(b"r=")[2]
    world.answer(SaslAuthenticateResponse(auth_bytes=b"r=" + nonce + b"x,s=c2FsdA==,i=4096"))
    world.answer(SaslAuthenticateResponse(auth_bytes=b"v=AAAA"))
    assert world.outcomes == ["the server does not prove that it knows the user"]
