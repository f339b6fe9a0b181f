"""SCRAM, the server's side: what is no message of it, and what proves nothing."""

from base64 import b64encode

import pytest

from odradek.broker.authentication.exchange import AuthenticationError, Step
from odradek.broker.authentication.scram import ScramExchange, ScramUser
from odradek.broker.runtime.context import KafkaPrincipal
from odradek.protocol.scram import ScramMechanism, credential_of, salted_password
from tests.support.scram_client import ScramClient

ITERATIONS = 4096


def user_of(name: str, mechanism: ScramMechanism) -> ScramUser:
    """Return a user whose password is "pw"."""
    salted = salted_password(mechanism, "pw", b"salt", ITERATIONS)
    return ScramUser(KafkaPrincipal("User", name), credential_of(mechanism, salted, b"salt", ITERATIONS))


def exchange(mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_256, *users: str) -> ScramExchange:
    """Return an exchange with users."""
    known = {name: user_of(name, mechanism) for name in users or ("carol",)}
    return ScramExchange(mechanism, lambda name, _mechanism, _by_token: known.get(name))


def said(server: ScramExchange, message: bytes) -> Step:
    """Return what a server says to a message at once."""
    step = server.evaluate(message)
    assert isinstance(step, Step)
    return step


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("name", ["carol", "a,b=c", "Jörg", "=2C"])
def test_both_sides_prove_themselves(mechanism: ScramMechanism, name: str) -> None:
    """By either mechanism, whatever characters a name has."""
    server, client = exchange(mechanism, name), ScramClient(name, "pw", mechanism.hash_name)
    challenge = said(server, client.first())
    assert challenge.authenticated is None
    done = said(server, client.final(challenge.answer))
    assert client.is_server(done.answer)
    assert done.authenticated is not None
    assert done.authenticated.principal == KafkaPrincipal("User", name)


@pytest.mark.parametrize("extensions", [",tokenauth=false", ",unknown=x,other=y=z"])
def test_extensions_that_are_not_known_are_passed_over(extensions: str) -> None:
    """They are part of what is proved."""
    server, client = exchange(), ScramClient("carol", "pw", extensions=extensions)
    done = said(server, client.final(said(server, client.first()).answer))
    assert done.authenticated is not None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"y,,n=carol,r=nonce",
        b"p=tls-unique,,n=carol,r=nonce",
        b"n,,n=carol",
        b"n,,r=nonce",
        b"n,,n=,r=nonce",
        b"n,,n=ca=rol,r=nonce",
        b"n,,n=carol,r=",
        b"n,,n=carol,r=no nce",
        b"n,,n=carol,r=nonce,",
        b"n,,n=ca\0rol,r=nonce",
        b"\xff\xfe",
        b"n,,n=" + b"x" * 10_000 + b",r=nonce",
    ],
)
def test_what_is_no_first_message_is_refused(message: bytes) -> None:
    """Channel binding, missing parts, empty ones, bytes that are no text, too many of them."""
    with pytest.raises(AuthenticationError) as caught:
        exchange().evaluate(message)
    assert caught.value.told is None


def test_another_authorization_id_is_refused_with_a_sentence_of_its_own() -> None:
    """One that is the user is fine."""
    with pytest.raises(AuthenticationError) as caught:
        exchange().evaluate(b"n,a=dave,n=carol,r=nonce")
    assert caught.value.told == (
        "Authentication failed: Client requested an authorization id that is different from username"
    )
    server, client = exchange(), ScramClient("carol", "pw")
    challenge = said(server, client.first("n,a=carol,"))
    assert said(server, client.final(challenge.answer, binding=b64encode(b"n,a=carol,").decode())).authenticated


@pytest.mark.parametrize(
    "changed",
    [
        {"nonce": "clientnonce"},
        {"nonce": "other"},
        {"binding": b64encode(b"p=tls-unique,,x").decode()},
        {"proof": "AAAA"},
        {"proof": "no-base64!"},
        {"proof": b64encode(bytes(32)).decode()},
    ],
)
def test_a_final_message_that_does_not_fit_is_refused(changed: dict[str, str]) -> None:
    """Another nonce, a channel, a proof that is none."""
    server, client = exchange(), ScramClient("carol", "pw")
    challenge = said(server, client.first())
    with pytest.raises(AuthenticationError) as caught:
        said(server, client.final(challenge.answer, **changed))
    assert caught.value.told is None


def test_a_wrong_password_is_refused() -> None:
    """With the proof."""
    server, client = exchange(), ScramClient("carol", "no")
    challenge = said(server, client.first())
    with pytest.raises(AuthenticationError, match="wrong password"):
        said(server, client.final(challenge.answer))


def test_strangers_do_not_learn_who_is_a_user() -> None:
    """Somebody unknown has a salt, the same one each time, and is refused with the proof."""
    challenges = []
    for _ in range(2):
        server, client = exchange(), ScramClient("nobody", "pw")
        challenge = said(server, client.first()).answer
        challenges.append(challenge.split(b",", 1)[1])
        with pytest.raises(AuthenticationError, match="no such user"):
            said(server, client.final(challenge))
    assert challenges[0] == challenges[1]
    assert challenges[0].endswith(b",i=4096")


def test_the_nonce_of_the_server_is_another_one_each_time() -> None:
    """It goes on where the client's ends."""
    nonces = {said(exchange(), ScramClient("carol", "pw").first()).answer.split(b",")[0] for _ in range(5)}
    assert len(nonces) == 5
    assert all(nonce.startswith(b"r=clientnonce") and len(nonce) > 40 for nonce in nonces)
