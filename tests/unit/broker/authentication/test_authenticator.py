"""Which frame may come when on a connection whose client has yet to say who it is, and what is said to it.

The answers are Apache Kafka 4.3's; tests/interop/test_sasl.py holds both brokers to the same table.
"""

import pytest

from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from odradek.protocol.messages.sasl_handshake import SaslHandshakeRequest
from odradek.protocol.registry import ApiKey
from tests.support.scram_client import ScramClient
from tests.unit.broker.authentication.world import DELAY_MS, World, framed, plain_token


def test_requests_go_through_once_the_client_has_said_who_it_is() -> None:
    """With the principal in the context; nothing is left in front of the dispatcher."""
    world = World()
    assert world.versions() == world.api_versions
    assert (world.shake_hands().error_code, world.shake_hands.__name__) == (0, "shake_hands")
    done = world.authenticate(plain_token())
    assert (done.error_code, done.error_message, done.auth_bytes, done.session_lifetime_ms) == (0, "", b"", 0)
    assert str(world.context.principal) == "User:alice"
    assert world.metadata() == b"answer of 3"
    assert world.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1) == b"answer of 17"
    assert not world.failures


def test_the_handshake_tells_the_mechanisms() -> None:
    """Whichever was asked for; with or without ApiVersions before."""
    answer = World().shake_hands("SCRAM-SHA-256", 0)
    assert (answer.error_code, answer.mechanisms) == (0, ["PLAIN", "SCRAM-SHA-256"])


def test_a_mechanism_that_is_not_enabled_is_refused_after_the_delay() -> None:
    """With those that are; then the connection ends."""
    world = World()
    answer = world.shake_hands("GSSAPI")
    assert (answer.error_code, answer.mechanisms, world.closed) == (33, ["PLAIN", "SCRAM-SHA-256"], True)
    assert world.failures == [("GSSAPI", "", "the mechanism is not enabled")]
    assert world.loop.time() == DELAY_MS / 1000


def test_versions_that_could_not_be_told_may_be_asked_for_again() -> None:
    """The answer to a version that nobody serves says which are; the state stays."""
    world = World()
    world.api_versions = b"\0\0\0\1\0\x23"
    world.versions()
    world.versions()
    world.api_versions = b"\0\0\0\1\0\0"
    world.versions()
    with pytest.raises(CloseConnectionError):
        world.versions()


@pytest.mark.parametrize(
    "frame",
    [
        framed(SaslAuthenticateRequest(auth_bytes=plain_token()), 2),
        framed(MetadataRequest(), 12),
        framed(SaslHandshakeRequest(mechanism="PLAIN"), 1).replace(b"\0\x11\0\1", b"\0\x11\0\2", 1),
        b"\x60\x81garbage",
        b"GET / HTTP/1.1\r\n",
        b"\0\x11",
        b"",
    ],
)
def test_whatever_else_comes_first_ends_the_connection_at_once(frame: bytes) -> None:
    """Nobody gets past the first question; what cannot be read is no failure of anybody to authenticate."""
    for after_versions in (False, True):
        world = World()
        if after_versions:
            world.versions()
        with pytest.raises(CloseConnectionError):
            world.send(frame)
        assert world.passed == [ApiKey.API_VERSIONS] * after_versions


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        (plain_token(password="wrong"), "Authentication failed: Invalid username or password"),
        (plain_token(user="nobody"), "Authentication failed: Invalid username or password"),
        (plain_token(user=""), "Authentication failed: username not specified"),
        (plain_token(password=""), "Authentication failed: password not specified"),
        (
            plain_token(authorization_id="bob"),
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0\0\0\0\0\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
    ],
)
def test_who_is_refused_by_plain_hears_kafkas_sentence(token: bytes, sentence: str) -> None:
    """After the delay, and the connection ends."""
    world = World()
    world.shake_hands()
    answer = world.authenticate(token)
    assert (answer.error_code, answer.error_message, world.closed) == (58, sentence, True)
    assert world.loop.time() == DELAY_MS / 1000
    assert world.failures[0][2] == sentence
    assert str(world.context.principal) == "User:ANONYMOUS"


def test_an_authorization_id_that_is_the_user_is_fine() -> None:
    """As clients send it."""
    world = World()
    world.shake_hands()
    assert world.authenticate(plain_token(authorization_id="alice")).error_code == 0


def test_after_a_handshake_of_version_0_tokens_have_no_header() -> None:
    """Both ways; who is refused gets no answer."""
    world = World()
    world.shake_hands(version=0)
    assert world.send(plain_token()) == b""
    assert str(world.context.principal) == "User:alice"
    refused = World()
    refused.shake_hands(version=0)
    assert refused.send(plain_token(password="no")) is None
    assert refused.closed


def test_another_request_where_a_token_is_due_is_refused() -> None:
    """In the form of that request, after the delay; a second handshake, too."""
    world = World()
    world.shake_hands()
    assert world.shake_hands().error_code == 34
    assert world.closed
    world = World()
    world.shake_hands()
    answer = world.metadata()
    assert answer is not None
    assert world.closed
    assert world.passed == []
    world = World()
    world.shake_hands()
    with pytest.raises(CloseConnectionError):
        world.send(b"\x7f\xffgarbage")


def test_without_a_delay_the_refusal_is_told_at_once() -> None:
    """connection.failed.authentication.delay.ms=0."""
    world = World(delay_ms=0)
    world.shake_hands()
    assert world.authenticate(plain_token(password="x")).error_code == 58
    assert world.loop.time() == 0


def test_scram_takes_two_tokens_and_the_server_proves_itself() -> None:
    """The last answer has its signature."""
    world = World()
    world.shake_hands("SCRAM-SHA-256")
    client = ScramClient("carol", "pw")
    challenge = world.authenticate(client.first())
    assert (challenge.error_code, challenge.session_lifetime_ms) == (0, 0)
    done = world.authenticate(client.final(challenge.auth_bytes))
    assert done.error_code == 0
    assert client.is_server(done.auth_bytes)
    assert str(world.context.principal) == "User:carol"


# sessions that end (KIP-368)


def test_a_session_is_as_long_as_the_shorter_of_its_limits() -> None:
    """connections.max.reauth.ms and the credential; version 0 does not tell it."""
    assert World(max_reauth_ms=5000).log_in().session_lifetime_ms == 5000
    for limit_ms, told in ((2000, 2000), (9000, 4000), (0, 4000)):
        world = World(max_reauth_ms=limit_ms, expires_in_ms=4000)
        world.shake_hands("SCRAM-SHA-256")
        client = ScramClient("carol", "pw")
        challenge = world.authenticate(client.first())
        assert world.authenticate(client.final(challenge.auth_bytes)).session_lifetime_ms == told


def test_past_its_time_the_next_request_ends_a_session() -> None:
    """Before it they go through, also where the client was not told."""
    world = World(max_reauth_ms=5000)
    world.shake_hands(version=0)
    world.send(plain_token())
    world.clock.advance(4.9)
    assert world.metadata() == b"answer of 3"
    world.clock.advance(0.2)
    with pytest.raises(CloseConnectionError, match="session is over"):
        world.metadata()


def test_a_client_may_authenticate_again_and_has_a_new_session() -> None:
    """Also when the old one is over already."""
    world = World(max_reauth_ms=5000)
    world.log_in()
    for _ in range(3):
        world.clock.advance(6)
        assert world.log_in().session_lifetime_ms == 5000
        assert world.metadata() == b"answer of 3"


def test_a_client_that_authenticates_again_at_once_is_told_that_it_is_no_time_for_it() -> None:
    """By the handler of requests, and the connection stays; the first time may come at once."""
    world = World(max_reauth_ms=5000)
    world.log_in()
    world.log_in()
    assert world.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1) == b"answer of 17"
    assert world.metadata() == b"answer of 3"
    world.clock.advance(1.1)
    assert world.log_in().error_code == 0


def test_nobody_becomes_somebody_else() -> None:
    """Refused with Kafka's sentence, and the connection ends."""
    world = World(max_reauth_ms=5000)
    world.log_in("alice")
    answer = world.log_in("bob")
    assert (answer.error_code, world.closed) == (58, True)
    assert answer.error_message == "Cannot change principals during re-authentication from User.alice: User.bob"
    assert str(world.context.principal) == "User:alice"


def test_authenticating_again_by_another_mechanism_ends_the_connection() -> None:
    """One that is enabled with the next frame, another one at once."""
    world = World(max_reauth_ms=5000)
    world.log_in()
    assert world.shake_hands("SCRAM-SHA-256").error_code == 0
    with pytest.raises(CloseConnectionError):
        world.authenticate(ScramClient("carol", "pw").first())
    world = World(max_reauth_ms=5000)
    world.log_in()
    with pytest.raises(CloseConnectionError):
        world.shake_hands("GSSAPI")


def test_a_request_between_handshake_and_token_ends_a_session() -> None:
    """As the first time."""
    world = World(max_reauth_ms=5000)
    world.log_in()
    world.shake_hands()
    assert world.metadata() is not None
    assert world.closed
    assert world.passed == []
