"""One connection to a broker: a request out, its answer in."""

from __future__ import annotations

import socket
import ssl
from struct import Struct
from typing import Final, TypeVar

from odradek.protocol.codec import DecodeError, Message, decode, encode
from odradek.protocol.headers import RequestHeader, encode_request_header
from odradek.protocol.registry import ApiKey
from pyspark_odradek.errors import ClusterError, ConnectionLostError

_SIZE: Final = Struct(">i")
_CORRELATION_ID: Final = Struct(">i")

VERSIONS: Final = {ApiKey.METADATA: 7, ApiKey.LIST_OFFSETS: 5, ApiKey.FETCH: 11}
"""The versions that are spoken: old enough for every broker since Kafka 2.3, and known to all that came later."""

Answer = TypeVar("Answer", bound=Message)


class Connection:
    """A connection; requests may be sent ahead of answers, which come in order."""

    def __init__(
        self,
        address: tuple[str, int],
        client_id: str,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Connect.

        Raises:
            ConnectionLostError: nobody answers there.
            ClusterError: who answers has no certificate that is trusted.
        """
        self._name = f"{address[0]}:{address[1]}"
        self._client_id = client_id
        self._next_id = 0
        self._expected: list[int] = []
        try:
            plain = socket.create_connection(address, timeout_s)
            try:
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=address[0])
            except OSError:
                plain.close()
                raise
        except ssl.SSLCertVerificationError as refused:
            reason = refused.verify_message
            raise ClusterError(f"the broker at {self._name} does not prove who it is: {reason}") from refused
        except OSError as failed:
            raise ConnectionLostError(
                f"no connection to the broker at {self._name}: {failed.strerror or failed}; see that it runs, and that"
                " the address it advertises can be reached from here"
            ) from failed

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def send(self, key: ApiKey, request: Message) -> None:
        """Send a request, in the version of `VERSIONS`; its answer is received later.

        Raises:
            ConnectionLostError: the connection broke.
        """
        version = VERSIONS[key]
        self._next_id += 1
        header = encode_request_header(RequestHeader(key, version, self._next_id, self._client_id))
        frame = header + encode(request, version)
        try:
            self._socket.sendall(_SIZE.pack(len(frame)) + frame)
        except OSError as failed:
            raise self._lost(failed) from failed
        self._expected.append(self._next_id)

    def receive(self, key: ApiKey, answer: type[Answer], limit: int, buffer: bytearray | None = None) -> Answer:
        """Receive the answer to the oldest request that has none yet.

        Its record data are views of `buffer`, grown where it is too small, which must not be changed while they are
        used; without one, of memory of their own. An answer of more than `limit` bytes is refused.

        Raises:
            ConnectionLostError: the connection broke, or no answer came in time.
            ClusterError: the answer cannot be understood.
        """
        memory = bytearray() if buffer is None else buffer
        size_bytes = bytearray(_SIZE.size)
        self._fill(memoryview(size_bytes))
        (size,) = _SIZE.unpack(size_bytes)
        if not _CORRELATION_ID.size <= size <= limit:
            raise ClusterError(
                f"what answers at {self._name} is no Kafka broker: it announces an answer of {size} bytes"
            )
        if len(memory) < size:
            memory.extend(bytes(size - len(memory)))
        frame = memoryview(memory)[:size]
        self._fill(frame)
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
        expected = self._expected.pop(0)
        if correlation_id != expected:
            raise ClusterError(f"the broker at {self._name} answers request {correlation_id} instead of {expected}")
        try:
            return decode(answer, frame, VERSIONS[key], _CORRELATION_ID.size)[0]
        except DecodeError as failed:
            raise ClusterError(f"an answer of the broker at {self._name} cannot be read: {failed}") from failed

    def call(self, key: ApiKey, request: Message, answer: type[Answer], limit: int = 100 * 1024 * 1024) -> Answer:
        """Send a request and receive its answer; raises what `send` and `receive` raise."""
        self.send(key, request)
        return self.receive(key, answer, limit)

    def _fill(self, view: memoryview) -> None:
        while view:
            try:
                received = self._socket.recv_into(view)
            except OSError as failed:
                raise self._lost(failed) from failed
            if not received:
                raise self._lost("closed by the broker")
            view = view[received:]

    def _lost(self, reason: object) -> ConnectionLostError:
        return ConnectionLostError(f"the connection to the broker at {self._name} is lost: {reason}")
