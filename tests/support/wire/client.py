"""One connection to a broker, over which any bytes can be sent."""

import socket
import struct
import types

from tests.support.wire.codec import Message, Reader, decode, encode, unsigned_varint
from tests.support.wire.schema import APIS

CLIENT_ID = "test"


class ConnectionClosedError(Exception):
    """The broker closed the connection, or did not answer in time."""


class WireClient:
    """A connection that is opened when first needed, and again after the broker closed it."""

    def __init__(self, port: int, timeout: float = 30.0, address: str = "127.0.0.1") -> None:
        self.port = port
        self.address = address
        self.timeout = timeout
        self._socket: socket.socket | None = None
        self._correlation_id = 0

    def __enter__(self) -> "WireClient":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | types.TracebackType | None) -> None:
        self.close()

    @property
    def socket(self) -> socket.socket:
        """The connected socket."""
        if self._socket is None:
            self._socket = socket.create_connection((self.address, self.port), self.timeout)
        return self._socket

    def close(self) -> None:
        """Close the connection if it is open."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, api: str, version: int, **fields: object) -> Message:
        """Send a request and return the decoded answer.

        Raises ConnectionClosedError when none comes, UndecodableError when it does not follow the schema.
        """
        self.send(api, version, **fields)
        return self.answer(api, version)

    def send(self, api: str, version: int, **fields: object) -> None:
        """Send a request without waiting for its answer."""
        self._correlation_id += 1
        self.send_frame(request_frame(api, version, self._correlation_id, fields))

    def answer(self, api: str, version: int) -> Message:
        """Receive the answer to the request that was sent last."""
        frame = self.receive_frame()
        reader = Reader(frame)
        correlation_id = reader.number("i")
        assert correlation_id == self._correlation_id, f"correlation id {correlation_id} for {self._correlation_id}"
        if version >= APIS[api].first_flexible and api != "ApiVersions":
            reader.unsigned_varint()  # tagged fields of the header: Kafka sends none
        return decode(f"{api}Response", version, frame[reader.position :])

    def send_frame(self, frame: bytes) -> None:
        """Send bytes as one frame, whatever they are."""
        self.send_bytes(struct.pack(">i", len(frame)) + frame)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        try:
            self.socket.sendall(data)
        except OSError as error:
            self.close()
            raise ConnectionClosedError(str(error)) from None

    def receive_frame(self) -> bytes:
        """Return the next whole frame; raises ConnectionClosedError at the end of the stream or of the time-out."""
        (length,) = struct.unpack(">i", self._receive(4))
        return self._receive(length)

    def is_closed_by_peer(self) -> bool:
        """Wait until the broker closes the connection; return whether it did so before the time-out."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def read_to_end(self) -> bytes:
        """Return what the broker still sends until it closes the connection; raises TimeoutError when it does not."""
        data = bytearray()
        try:
            while part := self.socket.recv(1 << 16):
                data += part
        except ConnectionError:
            pass  # reset instead of closed: the end as well
        return bytes(data)

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        try:
            while len(data) < count:
                part = self.socket.recv(min(count - len(data), 1 << 20))
                if not part:
                    raise ConnectionResetError("end of stream")
                data += part
        except OSError as error:
            self.close()
            raise ConnectionClosedError(f"{type(error).__name__}: {error}") from None
        return bytes(data)


def request_frame(api: str, version: int, correlation_id: int, fields: Message) -> bytes:
    """Return header and body of a request."""
    info = APIS[api]
    client_id = CLIENT_ID.encode()
    header = struct.pack(">hhih", info.key, version, correlation_id, len(client_id)) + client_id
    if version >= info.first_flexible:
        header += unsigned_varint(0)
    return header + encode(f"{api}Request", version, fields)
