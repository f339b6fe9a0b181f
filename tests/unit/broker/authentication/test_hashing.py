"""Passwords are hashed beside the event loop: PBKDF2 takes milliseconds, in which others' requests would wait."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event, get_ident

import pytest

from odradek.broker.authentication.exchange import AuthenticationError, Step
from odradek.broker.authentication.plain import PlainExchange, PlainUsers
from odradek.broker.authentication.scram import ScramExchange
from odradek.broker.authentication.token_users import TokenUser, TokenUsers
from odradek.broker.authentication.users_file import UsersFile
from odradek.broker.network.node_login import LoggedIn, LoginParts, NodeLogin
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.codec import Message
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.protocol.messages.sasl_handshake import SaslHandshakeResponse
from odradek.protocol.registry import Api, ApiKey
from odradek.protocol.sasl import ScramClient as NodeScramClient
from odradek.protocol.scram import ScramMechanism
from odradek.protocol.scram_users import FileUser, users_text
from tests.support.clock import ManualClock
from tests.support.scram_client import ScramClient
from tests.unit.broker.authentication.world import CAROL, SHA_256

PATIENCE_S = 60


class Hashing:
    """PBKDF2 of which none is made on the event loop, and none ends before the loop has gone on."""

    def __init__(self, threads: DiskThreads) -> None:
        self.threads = threads
        self.count = 0
        self._loop_thread = get_ident()
        self._went_on = Event()
        self._original = hashlib.pbkdf2_hmac

    def pbkdf2_hmac(self, hash_name: str, password: bytes, salt: bytes, iterations: int) -> bytes:
        """Stand for hashlib's."""
        self.count += 1
        assert get_ident() != self._loop_thread, "the event loop hashes a password"
        assert self._went_on.wait(PATIENCE_S), "the event loop waits for a hash"
        return self._original(hash_name, password, salt, iterations)

    def go_on(self) -> None:
        """Let those end that were begun, and those to come."""
        self._went_on.set()

    async def said(self, evaluated: Step | Deferred[Step | AuthenticationError]) -> Step | AuthenticationError:
        """Return what a server says that has to hash first."""
        assert isinstance(evaluated, Deferred), "said at once"
        await asyncio.sleep(0)
        self.go_on()
        async with asyncio.timeout(PATIENCE_S):
            return await evaluated


@pytest.fixture
async def hashing(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hashing]:
    """The threads of a broker, and hashing that is looked at."""
    threads = DiskThreads(asyncio.get_running_loop(), "authentication", 2)
    watched = Hashing(threads)
    with monkeypatch.context() as patched:
        patched.setattr(hashlib, "pbkdf2_hmac", watched.pbkdf2_hmac)
        try:
            yield watched
        finally:
            watched.go_on()
            threads.stop()


async def _proof(client: ScramClient, challenge: Step) -> bytes:
    """Return a client's final message: it hashes, too, but elsewhere."""
    return await asyncio.to_thread(client.final, challenge.answer)


async def test_the_broker_hashes_nothing_for_a_user_of_scram(hashing: Hashing) -> None:
    """What it keeps of a password was hashed by whoever set it: one who logs in costs the loop a few HMACs."""
    server, client = ScramExchange(SHA_256, lambda *_: CAROL), ScramClient("carol", "pw")
    challenge = server.evaluate(client.first())
    assert isinstance(challenge, Step)
    assert hashing.count == 0
    hashing.go_on()
    done = server.evaluate(await _proof(client, challenge))
    assert isinstance(done, Step)
    assert done.authenticated is not None
    assert hashing.count == 1  # the client's


@pytest.mark.parametrize("mechanism", ScramMechanism)
async def test_the_loop_goes_on_while_a_delegation_token_is_hashed(hashing: Hashing, mechanism: ScramMechanism) -> None:
    """The first time that it is used; the second time there is nothing left to hash."""
    clock = ManualClock()
    token = TokenUser("User:anna", clock.now_ms() + 60_000, "secret")
    users = TokenUsers(lambda _id: token, hashing.threads, clock)
    server = ScramExchange(mechanism, lambda name, kind, _by_token: users.find(name, kind))
    client = ScramClient("id", "secret", mechanism.hash_name, ",tokenauth=true")
    challenge = await hashing.said(server.evaluate(client.first()))
    assert isinstance(challenge, Step)
    done = server.evaluate(await _proof(client, challenge))
    assert isinstance(done, Step)
    assert done.authenticated is not None
    assert str(done.authenticated.principal) == "User:anna"
    before = hashing.count
    again = ScramExchange(mechanism, lambda name, kind, _by_token: users.find(name, kind))
    assert isinstance(again.evaluate(client.first()), Step)
    assert hashing.count == before


@pytest.mark.parametrize("user", ["carol", "nobody"])
async def test_the_loop_goes_on_while_a_password_is_held_against_the_file_of_users(
    hashing: Hashing, tmp_path: Path, user: str
) -> None:
    """Of somebody who is in it, and of somebody who is not."""
    path = tmp_path / "users"
    path.write_text(users_text({"carol": FileUser(SHA_256, CAROL.credential)}))
    server = PlainExchange(PlainUsers({}, UsersFile(str(path)), hashing.threads))
    said = await hashing.said(server.evaluate(f"\0{user}\0pw".encode()))
    assert isinstance(said, Step) == (user == "carol")
    assert hashing.count == 1


async def test_the_loop_goes_on_while_a_node_logs_in_at_another(hashing: Hashing) -> None:
    """There a broker is the client, whose part of SCRAM the hashing is."""
    sent: list[Message] = []
    made, outcome = asyncio.Event(), asyncio.get_running_loop().create_future()

    def send(_api: Api, _version: int, message: Message) -> None:
        sent.append(message)
        made.set()

    async def token() -> bytes:
        await asyncio.wait_for(made.wait(), PATIENCE_S)
        made.clear()
        request = sent[-1]
        assert isinstance(request, SaslAuthenticateRequest)
        return bytes(request.auth_bytes)

    def begin() -> NodeScramClient:
        return NodeScramClient(SHA_256, "carol", "pw")

    server = ScramExchange(SHA_256, lambda *_: CAROL)
    parts = LoginParts(begin, hashing.threads, lambda _address, _reason: None)
    versions = {int(ApiKey.SASL_HANDSHAKE): (0, 1), int(ApiKey.SASL_AUTHENTICATE): (0, 2)}
    login = NodeLogin(parts, versions, send, outcome.set_result)
    login.begin()
    made.clear()
    login.take(SaslHandshakeResponse(mechanisms=["SCRAM-SHA-256"]))
    challenge = server.evaluate(await token())
    assert isinstance(challenge, Step)
    login.take(SaslAuthenticateResponse(auth_bytes=challenge.answer))
    await asyncio.sleep(0)
    hashing.go_on()
    done = server.evaluate(await token())
    assert isinstance(done, Step)
    login.take(SaslAuthenticateResponse(auth_bytes=done.answer))
    assert await asyncio.wait_for(outcome, PATIENCE_S) == LoggedIn(0)
    assert hashing.count == 1
