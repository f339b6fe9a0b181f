"""Who a client is, asked on its connection before anything else is answered (KIP-43, KIP-152), and again (KIP-368).

Owns: which frame may come when, and what is said to it. One of these stands in front of the dispatcher on each
connection of a SASL listener; once the client has said who it is the dispatcher takes over, and nothing is left of it
unless the session ends some time. Must not know: sockets, how a mechanism works.

The states, after Kafka's `SaslServerAuthenticator`:

    START         ApiVersions (a good one leads to HANDSHAKE) or SaslHandshake; all else ends the connection
    HANDSHAKE     SaslHandshake alone
    AUTHENTICATE  SaslAuthenticate after a handshake of version 1, frames that are nothing but a token after one of 0
    DONE          requests, until the session's time is over; a SaslHandshake leads back to AUTHENTICATE

A refusal is told, and the connection ended, only after `connection.failed.authentication.delay.ms`: that slows down
whoever tries passwords.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from enum import Enum, auto
from struct import Struct, error
from typing import Final, NamedTuple, TypeVar

from odradek.broker.authentication.exchange import Authenticated, AuthenticationError, Exchange, Step
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, Handle, HandOver, LastAnswer, Response, Throttled
from odradek.protocol.codec import DecodeError, Message, decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import RequestHeader, decode_request_header, encode_response_header
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.registry import API, ApiKey

MIN_REAUTHENTICATION_S: Final = 1.0
"""Who begins again sooner after the last time is told that it is not the time for it."""

M = TypeVar("M", bound=Message)

_KEY = Struct(">hh")
_CODE_OF_API_VERSIONS: Final = slice(4, 6)
"""Where an answer to ApiVersions, whose header is the same in all versions, has its error code."""

FailedAuthentication = Callable[[RequestContext, str, str, str], None]
"""Is told of a refusal: the client, the mechanism, who it said it is, and why."""


class SaslParts(NamedTuple):
    """What all connections of a listener share."""

    loop: AbstractEventLoop
    clock: Clock
    mechanisms: Mapping[str, Callable[[], Exchange]]
    """What begins an exchange, by the mechanism's name."""
    max_reauth_ms: Mapping[str, int]
    """connections.max.reauth.ms of each mechanism; 0 or less for no limit."""
    failed_delay_ms: int
    on_failure: FailedAuthentication


class _State(Enum):
    START = auto()
    HANDSHAKE = auto()
    AUTHENTICATE = auto()
    DONE = auto()


class SaslServerAuthenticator:
    """Works on the frames of one connection until it is known whose it is."""

    __slots__ = (
        "_began",
        "_context",
        "_dispatch",
        "_ends",
        "_exchange",
        "_is_raw",
        "_known",
        "_mechanism",
        "_parts",
        "_state",
    )

    def __init__(self, context: RequestContext, dispatch: Handle, parts: SaslParts) -> None:
        self._context = context
        self._dispatch = dispatch
        self._parts = parts
        self._state = _State.START
        self._exchange: Exchange | None = None
        self._mechanism = ""
        self._is_raw = False
        """Whether tokens come without a header."""
        self._known: KafkaPrincipal | None = None
        """Who the client was when it authenticated for the first time."""
        self._ends: float | None = None
        """When the session ends, in monotonic seconds."""
        self._began: float | None = None
        """When the client began to authenticate again, likewise."""

    def handle(self, _context: RequestContext, frame: memoryview) -> Response | Deferred[Response]:
        """Work on one frame.

        Raises:
            CloseConnectionError: it must not come now, or is none.
        """
        if self._state is _State.DONE:
            return self._after(frame)
        if self._state is not _State.AUTHENTICATE:
            return self._begin(frame)
        return self._take_token(None, bytes(frame)) if self._is_raw else self._authenticate(frame)

    # before

    def _begin(self, frame: memoryview) -> Response | Deferred[Response]:
        key, version = _key_of(frame)
        if key == ApiKey.API_VERSIONS and self._state is _State.START:
            answer = self._dispatch(self._context, frame)
            if isinstance(answer, Throttled):
                answer = answer.answer  # nobody is held to a quota before it is known whose it is
            if isinstance(answer, bytes) and answer[_CODE_OF_API_VERSIONS] == b"\0\0":
                self._state = _State.HANDSHAKE
            return answer
        if key == ApiKey.SASL_HANDSHAKE and version in API[ApiKey.SASL_HANDSHAKE].served:
            return self._shake_hands(frame)
        what = API[ApiKey(key)].name if key in API else f"a frame that begins with {frame[:4].hex()}"
        raise CloseConnectionError(f"{what} version {version} before the client has said who it is")

    def _shake_hands(self, frame: memoryview) -> Response | Deferred[Response]:
        header, request = _decoded(SaslHandshakeRequest, frame)
        mechanism, enabled = request.mechanism, list(self._parts.mechanisms)
        if mechanism not in self._parts.mechanisms:
            if self._known is not None:
                raise CloseConnectionError(f"authenticates again by {mechanism[:40]}, which is not enabled")
            refused = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=enabled)
            self._mechanism = mechanism[:40]
            return self._refuse(_answer(header, refused), "the mechanism is not enabled")
        # a client that was let in by one mechanism cannot come back by another: its next frame finds no exchange
        is_another = self._known is not None and mechanism != self._mechanism
        self._exchange = None if is_another else self._parts.mechanisms[mechanism]()
        self._mechanism = mechanism
        self._is_raw = header.api_version == 0
        self._state = _State.AUTHENTICATE
        return _answer(header, SaslHandshakeResponse(mechanisms=enabled))

    # tokens

    def _authenticate(self, frame: memoryview) -> Response | Deferred[Response]:
        key, version = _key_of(frame)
        if key not in API or version not in API[ApiKey(key)].served:
            raise CloseConnectionError("something that is no request where SaslAuthenticate is due")
        if key == ApiKey.SASL_AUTHENTICATE:
            header, request = _decoded(SaslAuthenticateRequest, frame)
            return self._take_token(header, request.auth_bytes)
        response = API[ApiKey(key)].response()
        if hasattr(response, "error_code"):
            response.error_code = int(ErrorCode.ILLEGAL_SASL_STATE)
        return self._refuse(_answer(_header(frame), response), f"{API[ApiKey(key)].name} instead of SaslAuthenticate")

    def _take_token(self, header: RequestHeader | None, token: bytes) -> Response | Deferred[Response]:
        """Hand a token to the mechanism; without a header its answer has none either."""
        exchange = self._exchange
        if exchange is None:
            raise CloseConnectionError("authenticates again by another mechanism")
        try:
            step = exchange.evaluate(token)
        except AuthenticationError as refused:
            return self._say_no(header, refused)
        if not isinstance(step, Deferred):
            return self._say(header, step)
        answer: Deferred[Response] = Deferred(step.cancel)

        def arrived(outcome: Step | AuthenticationError) -> None:
            no = isinstance(outcome, AuthenticationError)
            said = self._say_no(header, outcome) if no else self._say(header, outcome)  # type: ignore[arg-type]
            if isinstance(said, Deferred):
                said.on_done(answer.resolve)
            else:
                answer.resolve(said)

        step.on_done(arrived)
        return answer

    def _say(self, header: RequestHeader | None, step: Step) -> Response | Deferred[Response]:
        done = step.authenticated
        if done is None:
            return _spoken(header, step.answer, 0)
        if self._known is not None and self._known != done.principal:
            before, now = self._known, done.principal
            sentence = (
                f"Cannot change principals during re-authentication from {before.principal_type}.{before.name}:"
                f" {now.principal_type}.{now.name}"
            )
            return self._say_no(header, AuthenticationError(sentence, sentence))
        lifetime_ms = self._let_in(done)
        if lifetime_ms is None:
            return HandOver(_spoken(header, step.answer, 0), self._dispatch)
        return HandOver(_spoken(header, step.answer, lifetime_ms), self.handle)

    def _let_in(self, done: Authenticated) -> int | None:
        """Note who the client is; return for how long, in milliseconds, None for as long as it likes."""
        self._known = self._context.principal = done.principal
        self._context.by_token = done.by_token
        self._state = _State.DONE
        self._exchange = None
        parts = self._parts
        limits = []
        if parts.max_reauth_ms.get(self._mechanism, 0) > 0:
            limits.append(parts.max_reauth_ms[self._mechanism])
        if done.expires_ms is not None:
            limits.append(max(done.expires_ms - parts.clock.now_ms(), 0))
        lifetime_ms = min(limits, default=None)
        self._ends = None if lifetime_ms is None else parts.clock.monotonic() + lifetime_ms / 1000
        return lifetime_ms

    def _say_no(self, header: RequestHeader | None, refused: AuthenticationError) -> Response | Deferred[Response]:
        answer: bytes | None = None
        if header is not None:
            told = refused.told or (
                "Authentication failed during authentication due to invalid credentials with SASL mechanism"
                f" {self._mechanism}"
            )
            response = SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=told)
            answer = _answer(header, response)
        return self._refuse(answer, str(refused))

    def _refuse(self, answer: bytes | None, reason: str) -> Response | Deferred[Response]:
        """Say a last word, or none, and end the connection, both after the delay."""
        parts, user = self._parts, self._exchange.user if self._exchange is not None else ""
        self._exchange = None
        parts.on_failure(self._context, self._mechanism, user, reason)
        last = LastAnswer(answer)
        if parts.failed_delay_ms <= 0:
            return last
        timer = parts.loop.call_later(parts.failed_delay_ms / 1000, lambda: later.resolve(last))
        later: Deferred[Response] = Deferred(timer.cancel)
        return later

    # afterwards

    def _after(self, frame: memoryview) -> Response | Deferred[Response]:
        """Work on a frame of a session that ends some time."""
        now = self._parts.clock.monotonic()
        key, version = _key_of(frame)
        if key == ApiKey.SASL_HANDSHAKE and version in API[ApiKey.SASL_HANDSHAKE].served:
            if self._began is not None and now - self._began < MIN_REAUTHENTICATION_S:
                return self._dispatch(self._context, frame)
            self._began = now
            return self._shake_hands(frame)
        if self._ends is not None and now > self._ends:
            raise CloseConnectionError("the session is over, and the client has not authenticated again")
        return self._dispatch(self._context, frame)


def _key_of(frame: memoryview) -> tuple[int, int]:
    """Return API key and version; raises CloseConnectionError where there are none."""
    try:
        key, version = _KEY.unpack_from(frame)
    except error:
        raise CloseConnectionError(f"a frame of {len(frame)} bytes is too short for a request") from None
    return key, version


def _header(frame: memoryview) -> RequestHeader:
    try:
        return decode_request_header(frame)[0]
    except DecodeError as bad:
        raise CloseConnectionError(f"the request header does not parse: {bad}") from None


def _decoded(kind: type[M], frame: memoryview) -> tuple[RequestHeader, M]:
    try:
        header, begin = decode_request_header(frame)
        return header, decode(kind, frame, header.api_version, begin)[0]
    except DecodeError as bad:
        raise CloseConnectionError(f"{kind.__name__} does not parse: {bad}") from None


def _answer(header: RequestHeader, response: Message) -> bytes:
    head = encode_response_header(header.correlation_id, header.api_key, header.api_version)
    return head + encode(response, header.api_version)


def _spoken(header: RequestHeader | None, token: bytes, lifetime_ms: int) -> bytes:
    if header is None:
        return token
    response = SaslAuthenticateResponse(error_message="", auth_bytes=token, session_lifetime_ms=lifetime_ms)
    return _answer(header, response)
