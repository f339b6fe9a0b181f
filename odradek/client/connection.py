"""One connection to a broker: a request out, its answer in."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from struct import Struct
from typing import Final, TypeVar

from odradek.client.errors import ConnectionLostError, LoginFailedError, NotServedError, UnusableAnswerError
from odradek.protocol.codec import DecodeError, Message, decode, encode
from odradek.protocol.codec.fields import Versions
from odradek.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from odradek.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.registry import ApiKey
from odradek.protocol.sasl import LoginRefusedError, MakeExchange

_SIZE: Final = Struct(">i")
_SMALLEST_ANSWER: Final = 4
"""The correlation id alone, in bytes."""

DEFAULT_ANSWER_LIMIT: Final = 100 * 1024 * 1024
"""The largest answer that is taken unless the caller says otherwise, in bytes; as in librdkafka."""
_FIRST_ROOM: Final = 64 * 1024
"""A buffer that is too small for an answer grows by so much at first, in bytes, and then doubles as bytes arrive."""

Answer = TypeVar("Answer", bound=Message)


@dataclass(frozen=True, slots=True)
class Buffers:
    """Sizes of the buffers of a socket in bytes; None leaves one to the system."""

    receive: int | None = None
    send: int | None = None


NO_BUFFERS: Final = Buffers()


class BrokerConnection:
    """A connection; requests may be sent ahead of answers, which come in order."""

    def __init__(
        self,
        address: tuple[str, int],
        client_id: str,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
        login: MakeExchange | None = None,
        connect_timeout_s: float | None = None,
        buffers: Buffers = NO_BUFFERS,
    ) -> None:
        """Connect, and authenticate where there is a `login`.

        `timeout_s` holds for each wait for bytes, and for connecting where `connect_timeout_s` does not say it.

        Raises:
            ConnectionLostError: nobody answers there.
            UnusableAnswerError: who answers has no certificate that is trusted, or is no broker.
            LoginFailedError, NotServedError: the broker does not let the client in.
        """
        self._name = f"{address[0]}:{address[1]}"
        self._client_id = client_id
        self._next_id = 0
        self._expected: list[tuple[int, ApiKey, int]] = []
        """Correlation id, API and version of the requests that have no answer yet."""
        self._offered: dict[int, Versions] | None = None
        """What the broker serves, once it was asked."""
        try:
            plain = socket.create_connection(address, connect_timeout_s or timeout_s)
            try:
                plain.settimeout(timeout_s)
                _configure(plain, buffers)
                self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=address[0])
            except OSError:
                plain.close()
                raise
        except ssl.SSLCertVerificationError as refused:
            reason = refused.verify_message
            raise UnusableAnswerError(f"the broker at {self._name} does not prove who it is: {reason}") from refused
        except OSError as failed:
            raise ConnectionLostError(
                f"no connection to the broker at {self._name}: {failed.strerror or failed}; see that it runs, and that"
                " the address it advertises can be reached from here"
            ) from failed
        if login is not None:
            try:
                self._authenticate(login)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def send(self, key: ApiKey, version: int, request: Message) -> None:
        """Send a request; its answer is received later.

        Raises:
            ConnectionLostError: the connection broke.
        """
        self._next_id += 1
        header = encode_request_header(RequestHeader(key, version, self._next_id, self._client_id))
        frame = header + encode(request, version)
        try:
            self._socket.sendall(_SIZE.pack(len(frame)) + frame)
        except OSError as failed:
            raise self._lost(failed) from failed
        self._expected.append((self._next_id, key, version))

    def receive(
        self, answer: type[Answer], limit: int = DEFAULT_ANSWER_LIMIT, buffer: bytearray | None = None
    ) -> Answer:
        """Receive the answer to the oldest request that has none yet.

        Its record data are views of `buffer`, grown where it is too small, which must not be changed while they are
        used; without one, of memory of their own. An answer of more than `limit` bytes is refused.

        Raises:
            ConnectionLostError: the connection broke, or no answer came in time.
            UnusableAnswerError: the answer cannot be understood.
        """
        memory = bytearray() if buffer is None else buffer
        size_bytes = bytearray(_SIZE.size)
        self._fill(size_bytes, _SIZE.size)
        (size,) = _SIZE.unpack(size_bytes)
        if not _SMALLEST_ANSWER <= size <= limit:
            raise UnusableAnswerError(
                f"what answers at {self._name} is no Kafka broker: it announces an answer of {size} bytes"
            )
        self._fill(memory, size)
        frame = memoryview(memory)[:size]
        expected, key, version = self._expected.pop(0)
        try:
            correlation_id, begin = decode_response_header(frame, key, version)
            if correlation_id != expected:
                raise UnusableAnswerError(
                    f"the broker at {self._name} answers request {correlation_id} instead of {expected}"
                )
            return decode(answer, frame, version, begin)[0]
        except DecodeError as failed:
            raise UnusableAnswerError(f"an answer of the broker at {self._name} cannot be read: {failed}") from failed

    def call(
        self, key: ApiKey, version: int, request: Message, answer: type[Answer], limit: int = DEFAULT_ANSWER_LIMIT
    ) -> Answer:
        """Send a request and receive its answer; raises what `send` and `receive` raise."""
        self.send(key, version, request)
        return self.receive(answer, limit)

    def ask(self, request: Message, answer: type[Answer]) -> Answer:
        """Send a request in the newest version that both sides know and receive its answer.

        Raises what `send` and `receive` raise, and:
            NotServedError: there is no such version.
        """
        key = ApiKey(request.SCHEMA.api_key)
        return self.call(key, self.newest(key, request.SCHEMA.versions), request, answer)

    def newest(self, key: ApiKey, known: Versions) -> int:
        """Return the newest version of an API that the broker serves and we know.

        Raises what `send` and `receive` raise, and:
            NotServedError: there is no such version.
        """
        if self._offered is None:
            told = self.call(ApiKey.API_VERSIONS, 0, ApiVersionsRequest(), ApiVersionsResponse)
            self._offered = {each.api_key: Versions(each.min_version, each.max_version) for each in told.api_keys}
        offered = self._offered.get(key)
        if offered is None or (version := min(offered.last, known.last)) < max(offered.first, known.first):
            serves = "does not serve it" if offered is None else f"serves versions {offered.first} to {offered.last}"
            raise NotServedError(
                f"{key.name} cannot be asked for: the broker at {self._name} {serves}, known here are {known.first} to"
                f" {known.last}"
            )
        return version

    def _authenticate(self, login: MakeExchange) -> None:
        """Say who we are (SaslHandshake, SaslAuthenticate: KIP-43, KIP-152)."""
        try:
            exchange = login()
            shaken = self.ask(SaslHandshakeRequest(mechanism=exchange.mechanism), SaslHandshakeResponse)
            if shaken.error_code:
                enabled = ", ".join(shaken.mechanisms) or "none"
                raise LoginRefusedError(f"{exchange.mechanism} is not enabled there; enabled: {enabled}")
            token: bytes | None = exchange.first()
            while token is not None:
                told = self.ask(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse)
                if told.error_code:
                    raise LoginRefusedError(told.error_message or f"error {told.error_code}")
                token = exchange.answer(told.auth_bytes)
        except LoginRefusedError as refused:
            raise LoginFailedError(f"the broker at {self._name} does not let the client in: {refused}") from None

    def _fill(self, memory: bytearray, size: int) -> None:
        """Receive `size` bytes to the beginning of `memory`, which grows with what arrives, not with what is said."""
        filled = 0
        while filled < size:
            if filled == len(memory):
                memory.extend(bytes(min(size - filled, max(filled, _FIRST_ROOM))))
            with memoryview(memory) as whole, whole[filled:size] as room:
                try:
                    received = self._socket.recv_into(room)
                except OSError as failed:
                    raise self._lost(failed) from failed
            if not received:
                raise self._lost("closed by the broker")
            filled += received

    def _lost(self, reason: object) -> ConnectionLostError:
        return ConnectionLostError(f"the connection to the broker at {self._name} is lost: {reason}")


def _configure(plain: socket.socket, buffers: Buffers) -> None:
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, size in ((socket.SO_RCVBUF, buffers.receive), (socket.SO_SNDBUF, buffers.send)):
        if size is not None:
            plain.setsockopt(socket.SOL_SOCKET, option, size)
