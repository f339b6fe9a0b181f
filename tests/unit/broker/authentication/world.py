"""A connection whose client has yet to say who it is, without sockets."""

from odradek.broker.authentication.authenticator import SaslParts, SaslServerAuthenticator
from odradek.broker.authentication.plain import PlainExchange, PlainUsers
from odradek.broker.authentication.scram import ScramExchange, ScramUser
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import InPlace
from odradek.broker.runtime.responses import Handle, HandOver, LastAnswer, Response
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.registry import API, ApiKey
from odradek.protocol.scram import ScramMechanism, credential_of, salted_password
from tests.support.clock import ManualClock
from tests.support.manual_loop import ManualLoop

DELAY_MS = 100
PASSWORDS = {"alice": "alice-secret", "bob": "bob-secret"}
SHA_256 = ScramMechanism.SCRAM_SHA_256
SALTED = salted_password(SHA_256, "pw", b"salt", 4096)
CAROL = ScramUser(KafkaPrincipal("User", "carol"), credential_of(SHA_256, SALTED, b"salt", 4096))


def plain_token(user: str = "alice", password: str = "alice-secret", authorization_id: str = "") -> bytes:
    """Return the token of PLAIN."""
    return f"{authorization_id}\0{user}\0{password}".encode()


class World:
    """A connection, the requests that got through, and the failures that were told."""

    def __init__(self, max_reauth_ms: int = 0, expires_in_ms: int | None = None, delay_ms: int = DELAY_MS) -> None:
        self.loop = ManualLoop()
        self.clock = ManualClock()
        self.failures: list[tuple[str, str, str]] = []
        self.passed: list[int] = []
        self.api_versions = b"\0\0\0\1\0\0 the versions"
        self.context = RequestContext("client:1", "client", "SASL", "127.0.0.1", 9092)
        self.closed = False
        users = PlainUsers(PASSWORDS, None, InPlace())

        def find(name: str, _mechanism: ScramMechanism, _by_token: bool) -> ScramUser | None:
            expires_ms = None if expires_in_ms is None else self.clock.now_ms() + expires_in_ms
            return CAROL._replace(expires_ms=expires_ms) if name == "carol" else None

        parts = SaslParts(
            self.loop,
            self.clock,
            {"PLAIN": lambda: PlainExchange(users), "SCRAM-SHA-256": lambda: ScramExchange(SHA_256, find)},
            {"PLAIN": max_reauth_ms, "SCRAM-SHA-256": max_reauth_ms},
            delay_ms,
            lambda _context, mechanism, user, reason: self.failures.append((mechanism, user, reason)),
        )
        self._handle: Handle = SaslServerAuthenticator(self.context, self._dispatch, parts).handle

    def _dispatch(self, _context: RequestContext, frame: memoryview) -> Response | Deferred[Response]:
        key = int.from_bytes(frame[:2], "big")
        self.passed.append(key)
        return self.api_versions if key == ApiKey.API_VERSIONS else b"answer of %d" % key

    def send(self, frame: bytes) -> bytes | None:
        """Send a frame; return the answer, None where there is none. Raises CloseConnectionError."""
        answer = self._handle(self.context, memoryview(frame))
        if isinstance(answer, Deferred):
            arrived: list[Response] = []
            answer.on_done(arrived.append)
            assert not arrived
            self.loop.advance(DELAY_MS / 1000)
            self.loop.settle()
            (answer,) = arrived
        if isinstance(answer, HandOver):
            self._handle = answer.handle
            return answer.answer
        if isinstance(answer, LastAnswer):
            self.closed = True
            return answer.answer
        assert isinstance(answer, bytes)
        return answer

    def ask(self, request: Message, version: int) -> bytes | None:
        """Send a request, likewise."""
        return self.send(framed(request, version))

    def shake_hands(self, mechanism: str = "PLAIN", version: int = 1) -> SaslHandshakeResponse:
        """Send SaslHandshake."""
        answer = self.ask(SaslHandshakeRequest(mechanism=mechanism), version)
        assert answer is not None
        return decode(SaslHandshakeResponse, memoryview(answer), version, 4)[0]

    def authenticate(self, token: bytes, version: int = 2) -> SaslAuthenticateResponse:
        """Send SaslAuthenticate."""
        answer = self.ask(SaslAuthenticateRequest(auth_bytes=token), version)
        assert answer is not None
        correlation_id, begin = decode_response_header(memoryview(answer), ApiKey.SASL_AUTHENTICATE, version)
        assert correlation_id == 7
        return decode(SaslAuthenticateResponse, memoryview(answer), version, begin)[0]

    def log_in(self, user: str = "alice") -> SaslAuthenticateResponse:
        """Authenticate by PLAIN."""
        self.shake_hands()
        return self.authenticate(plain_token(user, PASSWORDS[user]))

    def metadata(self) -> bytes | None:
        """Send what nobody may ask before."""
        return self.send(framed(API[ApiKey.METADATA].request(), 12))

    def versions(self) -> bytes | None:
        """Send ApiVersions."""
        return self.send(framed(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3))


def framed(request: Message, version: int) -> bytes:
    """Return a request with its header."""
    header = RequestHeader(request.SCHEMA.api_key, version, 7, "me")
    return encode_request_header(header) + encode(request, version)
