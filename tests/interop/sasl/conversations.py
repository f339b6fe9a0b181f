"""What clients that log in, rightly and wrongly, are told: each a conversation that can be had with any broker.

What comes of one is a list of what was heard, with whatever differs by nature (nonces, salts, the order of mechanisms)
taken out.
"""

import time
from collections.abc import Callable

from tests.support.sasl_brokers import PLAIN_USERS
from tests.support.scram_client import ScramClient
from tests.support.wire import ConnectionClosedError, WireClient
from tests.support.wire.client import request_frame

Heard = list[object]
CLOSED = "closed"
SCRAM_PASSWORD = "pencil"


class Conversation:
    """One connection, and what was heard over it."""

    def __init__(self, port: int) -> None:
        self.wire = WireClient(port, timeout=8)
        self.heard: Heard = []
        self.token = b""
        """The last token of the server."""

    def shake(self, mechanism: str = "PLAIN", version: int = 1) -> None:
        """Choose a mechanism."""
        self._ask("SaslHandshake", version, ("error_code", "mechanisms"), mechanism=mechanism)

    def say(self, token: bytes, version: int = 2) -> None:
        """Send a token."""
        self._ask("SaslAuthenticate", version, ("error_code", "error_message"), auth_bytes=token)

    def say_raw(self, token: bytes) -> None:
        """Send a token as a frame."""
        self._hear(lambda: self._raw(token))

    def plain(self, user: str = "alice", password: str | None = None, authzid: str = "", version: int = 2) -> None:
        """Send user and password."""
        secret = PLAIN_USERS.get(user, "x") if password is None else password
        self.say(f"{authzid}\0{user}\0{secret}".encode(), version)

    def versions(self, version: int = 3, name: str = "test") -> None:
        """Ask for the versions."""
        fields = {"client_software_name": name, "client_software_version": "1"} if version >= 3 else {}
        self._ask("ApiVersions", version, ("error_code",), **fields)

    def unknown_versions(self) -> None:
        """Ask in a version of tomorrow."""
        frame = bytearray(request_frame("ApiVersions", 0, 99, {}))
        frame[2:4] = b"\0\x63"
        self.frame(bytes(frame), slice(4, 12))

    def metadata(self) -> None:
        """Ask what only those may who are known."""
        self._ask("Metadata", 13, ("error_code",), topics=[])

    def frame(self, frame: bytes, part: slice = slice(None)) -> None:
        """Send any bytes as a frame; of an answer, note a part."""

        def ask() -> str:
            self.wire.send_frame(frame)
            return self.wire.receive_frame()[part].hex()

        self._hear(ask)

    def scram(self, mechanism: str = "SCRAM-SHA-256", user: str = "carol", password: str = SCRAM_PASSWORD,
              gs2: str = "n,,", **final: str) -> None:  # fmt: skip
        """Log in by SCRAM, with what a test wants to be wrong."""
        client = ScramClient(user, password, mechanism.removeprefix("SCRAM-").replace("-", "").lower())
        self.shake(mechanism)
        self.say(client.first(gs2))
        if self.heard[-1] == [0, ""]:
            self.say(client.final(self.token, **final))
            self.heard.append(client.is_server(self.token))

    def is_open(self) -> None:
        """Note whether the connection is still there."""
        self.metadata()

    def end(self) -> None:
        """Note that the broker ends the connection by itself."""
        self.heard.append(CLOSED if self.wire.is_closed_by_peer() else "open")

    def _ask(self, api: str, version: int, told: tuple[str, ...], **fields: object) -> None:
        def ask() -> object:
            answer = self.wire.ask(api, version, **fields)
            token = answer.get("auth_bytes")
            self.token = token if isinstance(token, bytes) else b""
            values = [answer.get(name) for name in told]
            return [sorted(value) if isinstance(value, list) else value for value in values]

        self._hear(ask)

    def _hear(self, ask: Callable[[], object]) -> None:
        if self.heard and self.heard[-1] == CLOSED:
            return
        try:
            self.heard.append(ask())
        except ConnectionClosedError:
            self.heard.append(CLOSED)

    def _raw(self, token: bytes) -> object:
        self.wire.send_frame(token)
        self.token = self.wire.receive_frame()
        return len(self.token) if not self.token.startswith((b"r=", b"v=")) else self.token[:2]


def _steps(*steps: Callable[[Conversation], object]) -> Callable[[Conversation], None]:
    def have(talk: Conversation) -> None:
        for step in steps:
            step(talk)

    return have


def _scram_raw(talk: Conversation) -> None:
    client = ScramClient("carol", SCRAM_PASSWORD)
    talk.shake("SCRAM-SHA-256", 0)
    talk.say_raw(client.first())
    talk.say_raw(client.final(talk.token))
    talk.metadata()


AUTHENTICATE = request_frame("SaslAuthenticate", 2, 5, {"auth_bytes": b"\0alice\0alice-secret"})
HANDSHAKE_OF_TOMORROW = b"\0\x11\0\2" + request_frame("SaslHandshake", 1, 5, {"mechanism": "PLAIN"})[4:]

ONCE: dict[str, Callable[[Conversation], None]] = {
    "plain": _steps(Conversation.versions, Conversation.shake, Conversation.plain, Conversation.metadata),
    "plain without versions": _steps(Conversation.shake, Conversation.plain, Conversation.metadata),
    "plain, SaslAuthenticate 0": _steps(Conversation.shake, lambda t: t.plain(version=0), Conversation.metadata),
    "plain, SaslAuthenticate 1": _steps(Conversation.shake, lambda t: t.plain(version=1), Conversation.metadata),
    "plain, handshake 0": _steps(
        lambda t: t.shake(version=0), lambda t: t.say_raw(b"\0alice\0alice-secret"), Conversation.metadata
    ),
    "plain, handshake 0, wrong": _steps(lambda t: t.shake(version=0), lambda t: t.say_raw(b"\0alice\0no")),
    "plain, wrong password": _steps(Conversation.shake, lambda t: t.plain(password="no"), Conversation.end),
    "plain, unknown user": _steps(Conversation.shake, lambda t: t.plain("nobody"), Conversation.end),
    "plain, no user": _steps(Conversation.shake, lambda t: t.plain(""), Conversation.end),
    "plain, no password": _steps(Conversation.shake, lambda t: t.plain(password=""), Conversation.end),
    "plain, own authorization id": _steps(Conversation.shake, lambda t: t.plain(authzid="alice")),
    "plain, other authorization id": _steps(Conversation.shake, lambda t: t.plain(authzid="bob"), Conversation.end),
    "plain, one part": _steps(Conversation.shake, lambda t: t.say(b"alice"), Conversation.end),
    "plain, many parts": _steps(Conversation.shake, lambda t: t.say(b"\0a\0b\0c\0d\0e"), Conversation.end),
    "plain, nothing": _steps(Conversation.shake, lambda t: t.say(b""), Conversation.end),
    "plain, no text": _steps(Conversation.shake, lambda t: t.say(b"\0\xff\xfe\0\xff"), Conversation.end),
    "scram 256": _steps(Conversation.scram, Conversation.metadata),
    "scram 512": _steps(lambda t: t.scram("SCRAM-SHA-512"), Conversation.metadata),
    "scram, handshake 0": _scram_raw,
    "scram, wrong password": _steps(lambda t: t.scram(password="no"), Conversation.end),
    "scram, wrong nonce": _steps(lambda t: t.scram(nonce="other"), Conversation.end),
    # a proof of another length is never answered by Kafka 4.3, so none is compared
    "scram, wrong proof": _steps(lambda t: t.scram(proof="A" * 43 + "="), Conversation.end),
    "scram, proof that is no base64": _steps(lambda t: t.scram(proof="!!"), Conversation.end),
    "scram, channel binding wished": _steps(lambda t: t.scram(gs2="p=tls-unique,,"), Conversation.end),
    "scram, channel binding known": _steps(lambda t: t.scram(gs2="y,,"), Conversation.end),
    "scram, other authorization id": _steps(lambda t: t.scram(gs2="n,a=alice,"), Conversation.end),
    "scram, garbage": _steps(lambda t: t.shake("SCRAM-SHA-256"), lambda t: t.say(b"garbage"), Conversation.end),
    "mechanism not enabled": _steps(lambda t: t.shake("GSSAPI"), Conversation.end),
    "mechanism unknown": _steps(Conversation.versions, lambda t: t.shake("X"), Conversation.end),
    "mechanism in lower case": _steps(lambda t: t.shake("plain"), Conversation.end),
    "handshake twice": _steps(Conversation.shake, Conversation.shake, Conversation.end),
    "handshake of tomorrow": _steps(lambda t: t.frame(HANDSHAKE_OF_TOMORROW)),
    "authenticate before handshake": _steps(lambda t: t.frame(AUTHENTICATE)),
    "authenticate after versions": _steps(Conversation.versions, lambda t: t.frame(AUTHENTICATE)),
    "metadata first": _steps(Conversation.metadata),
    "metadata after versions": _steps(Conversation.versions, Conversation.metadata),
    "metadata after handshake": _steps(Conversation.shake, Conversation.metadata, Conversation.end),
    "versions twice": _steps(Conversation.versions, Conversation.versions),
    "versions of tomorrow, then today": _steps(
        Conversation.unknown_versions, Conversation.versions, Conversation.shake, Conversation.plain
    ),
    "versions of a bad name, then a good one": _steps(
        lambda t: t.versions(name="no name"), Conversation.versions, Conversation.shake, Conversation.plain
    ),
    "versions after handshake": _steps(Conversation.shake, Conversation.versions, Conversation.end),
    "garbage first": _steps(lambda t: t.frame(b"\x60\x82garbage")),
    "http": _steps(lambda t: t.frame(b"GET / HTTP/1.1\r\n\r\n")),
    "garbage after handshake": _steps(Conversation.shake, lambda t: t.frame(b"\x7f\xff\0\0garbage")),
    "a frame too large": _steps(Conversation.shake, lambda t: t.wire.send_bytes(b"\0\x10\0\0"), Conversation.end),
    "handshake when done": _steps(Conversation.shake, Conversation.plain, Conversation.shake, Conversation.is_open),
    "authenticate when done": _steps(Conversation.shake, Conversation.plain, Conversation.plain, Conversation.is_open),
}
"""At a listener whose sessions do not end."""


def _wait(seconds: float) -> Callable[[Conversation], None]:
    return lambda _talk: time.sleep(seconds)  # a session ends by the clock of the broker


def _again(user: str) -> Callable[[Conversation], None]:
    return _steps(Conversation.shake, lambda t: t.plain(user))


AGAIN: dict[str, Callable[[Conversation], None]] = {
    "as the same": _steps(_again("alice"), _again("alice"), Conversation.is_open),
    "as somebody else": _steps(_again("alice"), _again("bob"), Conversation.end),
    "with a wrong password": _steps(
        _again("alice"), Conversation.shake, lambda t: t.plain(password="no"), Conversation.end
    ),
    "at once once more": _steps(_again("alice"), _again("alice"), Conversation.shake, Conversation.is_open),
    "by another mechanism": _steps(_again("alice"), lambda t: t.shake("SCRAM-SHA-256"), Conversation.plain),
    "by none": _steps(_again("alice"), lambda t: t.shake("GSSAPI")),
    "another request between": _steps(_again("alice"), Conversation.shake, Conversation.metadata, Conversation.end),
    "after the end": _steps(_again("alice"), _wait(3.5), _again("alice"), Conversation.is_open),
    "a request after the end": _steps(_again("alice"), _wait(3.5), Conversation.metadata),
    "scram": _steps(Conversation.scram, Conversation.scram, Conversation.is_open),
}
"""At a listener whose sessions end after three seconds."""


def heard_at(port: int, have: Callable[[Conversation], None]) -> Heard:
    """Have a conversation with a broker; return what was heard."""
    talk = Conversation(port)
    try:
        have(talk)
    finally:
        talk.wire.close()
    return talk.heard
