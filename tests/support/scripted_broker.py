"""A broker that answers requests with messages that the test makes: for what our own client makes of answers."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType

from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.headers import decode_request_header, encode_response_header
from odradek.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.protocol.registry import API, ApiKey

TIMEOUT_S = 60


class ScriptedBroker:
    """Serves the versions of `served` and answers with what `answer` makes of a request; None closes the connection.

    `asked` are the requests with their versions, without those for the versions.
    """

    def __init__(self, served: Mapping[ApiKey, tuple[int, int]], answer: Callable[[Message], Message | None]) -> None:
        self.asked: list[tuple[int, Message]] = []
        self.connections = 0
        self._served = served
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where it is reached."""
        host, port = self._listener.getsockname()
        return host, port

    def __enter__(self) -> ScriptedBroker:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        self._thread.join(TIMEOUT_S)

    def hang_up(self) -> None:
        """Close all connections that there are."""
        while self._sockets:
            with suppress(OSError):
                self._sockets.pop().shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._sockets.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError), connection.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                frame = stream.read(struct.unpack(">i", size)[0])
                answer = self._answer_to(frame)
                if answer is None:
                    return
                connection.sendall(struct.pack(">i", len(answer)) + answer)

    def _answer_to(self, frame: bytes) -> bytes | None:
        header, begin = decode_request_header(frame)
        key = ApiKey(header.api_key)
        request: Message = decode(API[key].request, frame, header.api_version, begin)[0]
        if key == ApiKey.API_VERSIONS:
            ranges = [
                ApiVersion(api_key=each, min_version=low, max_version=high)
                for each, (low, high) in self._served.items()
            ]
            answer: Message | None = ApiVersionsResponse(error_code=0, api_keys=ranges)
        else:
            self.asked.append((header.api_version, request))
            answer = self._answer(request)
        if answer is None:
            return None
        return encode_response_header(header.correlation_id, key, header.api_version) + encode(
            answer, header.api_version
        )
