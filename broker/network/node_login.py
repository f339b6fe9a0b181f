"""Logging in at another node, on a connection whose versions are known and over which nothing has been asked yet.

Owns: the requests SaslHandshake and SaslAuthenticate, in order, and what their answers mean. Must not know: sockets,
how a mechanism works (`protocol.sasl`). Tokens are made on a thread: SCRAM takes milliseconds for one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.runtime.disk_threads import Threads
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.registry import API, Api, ApiKey
from odradek.protocol.sasl import ClientExchange, LoginRefusedError, MakeExchange

HANDSHAKE_VERSION = 1
"""After which tokens travel in requests; every node that a cluster of today may have knows it."""


class LoginParts(NamedTuple):
    """How connections to other nodes log in."""

    begin: MakeExchange
    threads: Threads
    refused: Callable[[NodeAddress, str], None]
    """Is told of a refusal, and why."""


class LoggedIn(NamedTuple):
    """The node has let this one in."""

    lifetime_ms: int
    """For how long; 0 for as long as it likes."""


class NodeLogin:
    """One attempt: `due` is the request that is to be sent, or its answer to be taken."""

    def __init__(
        self,
        parts: LoginParts,
        versions: Mapping[int, tuple[int, int]],
        send: Callable[[Api, int, Message], None],
        done: Callable[[LoggedIn | str], None],
    ) -> None:
        """`send` sends a request; `done` is called with what it came to, or why to nothing."""
        self._parts = parts
        self._send = send
        self._done = done
        self._exchange: ClientExchange | None = None
        handshake, authenticate = versions.get(ApiKey.SASL_HANDSHAKE), versions.get(ApiKey.SASL_AUTHENTICATE)
        self._is_possible = (
            authenticate is not None and handshake is not None and handshake[0] <= HANDSHAKE_VERSION <= handshake[1]
        )
        newest = API[ApiKey.SASL_AUTHENTICATE].served.last
        self._version = min(newest, authenticate[1]) if authenticate is not None else 0

    @property
    def due(self) -> tuple[ApiKey, int, type[Message]]:
        """The answer that is to come: of which API, in which version, and its class."""
        if self._exchange is None:
            return ApiKey.SASL_HANDSHAKE, HANDSHAKE_VERSION, SaslHandshakeResponse
        return ApiKey.SASL_AUTHENTICATE, self._version, SaslAuthenticateResponse

    def begin(self) -> None:
        """Say by which mechanism."""
        if not self._is_possible:
            self._done("it cannot be logged in at")
            return
        request = SaslHandshakeRequest(mechanism=self._parts.begin().mechanism)
        self._send(API[ApiKey.SASL_HANDSHAKE], HANDSHAKE_VERSION, request)

    def take(self, answer: Message) -> None:
        """Take an answer of the class that was due."""
        if isinstance(answer, SaslHandshakeResponse):
            self._take_handshake(answer)
        else:
            assert isinstance(answer, SaslAuthenticateResponse)
            self._take_token(answer)

    def _take_handshake(self, answer: SaslHandshakeResponse) -> None:
        if answer.error_code != ErrorCode.NONE:
            enabled = ", ".join(answer.mechanisms) or "none"
            self._done(f"its mechanisms are {enabled} (error {answer.error_code})")
            return
        self._exchange = exchange = self._parts.begin()
        self._make(exchange.first, 0)

    def _take_token(self, answer: SaslAuthenticateResponse) -> None:
        exchange = self._exchange
        assert exchange is not None
        if answer.error_code != ErrorCode.NONE:
            self._done(answer.error_message or f"error {answer.error_code}")
            return
        token = bytes(answer.auth_bytes)
        self._make(lambda: exchange.answer(token), answer.session_lifetime_ms)

    def _make(self, make: Callable[[], bytes | None], lifetime_ms: int) -> None:
        """Make the next token on a thread and send it; where there is none the login is over."""
        made: list[bytes | None] = []

        def is_made(failed: BaseException | None) -> None:
            if isinstance(failed, LoginRefusedError):
                self._done(str(failed))
            elif failed is not None:
                self._done(f"no token could be made: {failed}")
            elif made[0] is None:
                self._done(LoggedIn(lifetime_ms))
            else:
                request = SaslAuthenticateRequest(auth_bytes=made[0])
                self._send(API[ApiKey.SASL_AUTHENTICATE], self._version, request)

        self._parts.threads.submit(lambda: made.append(make()), is_made)
