"""A connection to another node over a socket: `nodes.requests.NodeConnection`.

Owns: learning the versions that the other side knows (ApiVersions, KIP-511), frames out and in, deadlines; the way to
a node is `dialing`'s. Must not know: what is asked. Answers are found in what arrives as requests are (`receiving`):
those that arrive whole are decoded where they lie, and records in them are views that nobody copied.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Mapping
from functools import partial
from struct import Struct
from typing import Final, NamedTuple

from odradek import __version__
from odradek.broker.network.dialing import Dialing
from odradek.broker.network.node_exchange import Expected, Request, answer_begin, common_version
from odradek.broker.network.node_login import LoggedIn, NodeLogin
from odradek.broker.network.receiving import FrameError, FrameReader, ReceiveBuffers
from odradek.broker.network.security import UNPROTECTED, NodeSecurity
from odradek.broker.network.transport import Transport
from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads
from odradek.protocol.codec import DecodeError, Message, decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import RequestHeader, encode_request_header
from odradek.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.registry import API, Api, ApiKey

_SIZE: Final = Struct(">i")
_MAX_CORRELATION_ID: Final = 0x7FFF_FFFF

API_VERSIONS_VERSION: Final = 3
"""Of the first request: every node that a cluster of today may have answers this version."""
USED_OF_SESSION: Final = 0.85
"""Of the session that a node grants: after that another connection is made, since requests after its end are lost."""
AWAITED_BYTES: Final = 1024 * 1024
"""Of an answer that is arriving so many are waited for before they are read: a megabyte of records comes in a dozen
pieces, and each look at them costs more than reading them together."""
FRAMES_PER_TURN: Final = 16
"""Answers that are handed over before others get their turn."""


class NodeConnectionOptions(NamedTuple):
    """What all connections to other nodes share."""

    loop: AbstractEventLoop
    buffers: ReceiveBuffers
    threads: Threads
    """Where names of hosts are looked up."""
    max_answer_bytes: int
    """The largest answer that is taken."""
    security: NodeSecurity = UNPROTECTED


class SocketConnector:
    """Makes connections over sockets."""

    def __init__(self, options: NodeConnectionOptions) -> None:
        self._options = options

    def connect(self, address: NodeAddress, client_id: str) -> SocketConnection:
        """Return a connection to a node; nothing is sent yet."""
        return SocketConnection(self._options, address, client_id)


class SocketConnection:
    """A connection to one node, made again when it is needed after it broke."""

    def __init__(self, options: NodeConnectionOptions, address: NodeAddress, client_id: str) -> None:
        self.address = address
        self._options = options
        self._loop = options.loop
        self._client_id = client_id
        self._unsent: deque[Request] = deque()
        self._expected: deque[Expected] = deque()
        self._versions: Mapping[int, tuple[int, int]] | None = None
        """The versions of each API that the node knows; None until it has said so on this connection."""
        self._login: NodeLogin | None = None
        """What says who this node is, while it does."""
        self._stale_at: float | None = None
        """When another connection is to be made, since the session of this one ends soon."""
        self._transport: Transport | None = None
        """There is one once bytes can go over it."""
        self._dialing: Dialing | None = None
        """What is to become one."""
        self._frames = FrameReader(options.buffers, options.max_answer_bytes, in_place=True)
        self._out: deque[memoryview] = deque()
        """What the socket did not take yet."""
        self._attempt = 0
        """Counts connections, so that what belongs to one that is over is not taken for the next one's."""
        self._correlation_id = 0
        self._is_closed = False

    def send(self, request: Message, timeout_s: float, version: int | None = None) -> Deferred[Message | Disconnected]:
        """Send a request; see `NodeConnection.send`."""
        answer: Deferred[Message | Disconnected] = Deferred()
        if self._is_closed:
            self._loop.call_soon(answer.resolve, Disconnected(f"the connection to {self.address} was closed"))
            return answer
        api = API[ApiKey(request.SCHEMA.api_key)]
        timer = self._loop.call_later(timeout_s, self._time_out, api, timeout_s)
        self._unsent.append(Request(request, api, version, answer, timer))
        if self._stale_at is not None and self._loop.time() >= self._stale_at and not self._expected:
            self._disconnect()
        if self._versions is not None:
            self._send_waiting()
        elif self._transport is None and self._dialing is None:
            options = self._options
            self._dialing = Dialing(self._loop, options.threads, options.security, self.address, self._opened)
            self._loop.call_soon(self._dialing.begin)
        return answer

    def close(self) -> None:
        """End it for good; nobody is told."""
        self._is_closed = True
        for request in self._forget_requests():
            request.answer.cancel()
        self._disconnect()

    # connecting

    def _opened(self, outcome: Transport | str) -> None:
        self._dialing = None
        if isinstance(outcome, str):
            self._lose(outcome)
            return
        self._transport = transport = outcome
        transport.watch_reading(self._loop, partial(self._on_readable, transport))
        self._write(API[ApiKey.API_VERSIONS], API_VERSIONS_VERSION, _WHO_WE_ARE)

    # sending

    def _send_waiting(self) -> None:
        """Send what waits; nothing is answered before this returns."""
        versions = self._versions
        assert versions is not None
        while self._unsent:
            request = self._unsent.popleft()
            version = common_version(request, versions)
            if version is None:
                request.timer.cancel()
                name = request.api.name
                refused = Disconnected(f"{self.address} serves no version of {name} that is known here", True)
                self._loop.call_soon(request.answer.resolve, refused)
                continue
            self._expected.append(Expected(self._next_correlation_id(), version, request))
            self._write(request.api, version, request.message)

    def _next_correlation_id(self) -> int:
        self._correlation_id = self._correlation_id + 1 & _MAX_CORRELATION_ID
        return self._correlation_id

    def _write(self, api: Api, version: int, message: Message) -> None:
        header = RequestHeader(api.key, version, self._correlation_id, self._client_id)
        frame = encode_request_header(header) + encode(message, version)
        self._out.append(memoryview(_SIZE.pack(len(frame)) + frame))
        if len(self._out) == 1:
            self._write_out()

    def _write_out(self) -> bool:
        """Send what the socket takes; returns whether that is all."""
        transport = self._transport
        assert transport is not None
        try:
            while self._out:
                data = self._out[0]
                sent = transport.send(data)
                if sent == len(data):
                    self._out.popleft()
                else:
                    self._out[0] = data[sent:]
        except BlockingIOError:
            self._loop.add_writer(transport.fd, self._on_writable)
            return False
        except OSError as failed:
            reason = f"the connection to {self.address} broke: {failed.strerror or failed}"
            self._loop.call_soon(self._lose_attempt, self._attempt, reason)  # not before `send` has returned
        return True

    def _on_writable(self) -> None:
        transport = self._transport
        if self._write_out() and transport is not None:
            self._loop.remove_writer(transport.fd)

    # receiving

    def _on_readable(self, transport: Transport) -> None:
        frames = self._frames
        try:
            received = frames.receive(transport)
        except BlockingIOError:
            return
        except OSError as failed:
            self._lose(f"the connection to {self.address} broke: {failed.strerror or failed}")
            return
        if received == 0:
            self._lose(f"{self.address} closed the connection")
            return
        self._take_answers(transport)

    def _take_answers(self, transport: Transport) -> None:
        frames = self._frames
        try:
            while arrived := frames.take_frames(FRAMES_PER_TURN):
                for frame in arrived:
                    self._take_answer(frame)
                    if self._transport is not transport:
                        return  # whoever got the answer closed the connection, or it is none
            if frames.keep_rest():
                transport.await_bytes(min(frames.missing_bytes, AWAITED_BYTES))
            else:
                transport.unwatch_reading(self._loop)
                self._options.buffers.memory.when_freed(partial(self._read_on, transport))
        except FrameError as wrong:
            self._lose(f"{self.address} is no Kafka node, or sends more than is taken: {wrong}")

    def _read_on(self, transport: Transport) -> None:
        """There may be memory again for the answer that is arriving."""
        if self._transport is transport:
            transport.watch_reading(self._loop, partial(self._on_readable, transport))
            self._take_answers(transport)

    def _take_answer(self, frame: memoryview) -> None:
        try:
            if self._versions is None:
                self._take_first_answers(frame)
                return
            if not self._expected:
                raise DecodeError("nothing was asked")
            correlation_id, version, request = self._expected[0]
            begin = answer_begin(frame, request.api.key, version, correlation_id)
            message = decode(request.api.response, frame, version, begin)[0]
        except DecodeError as wrong:
            self._lose(f"an answer of {self.address} cannot be read: {wrong}")
            return
        self._expected.popleft()
        request.timer.cancel()
        request.answer.resolve(message)

    def _take_first_answers(self, frame: memoryview) -> None:
        """Take what a node says before it is asked anything: its versions, and whether it lets this one in."""
        login = self._login
        if login is None:
            self._learn_versions(frame)
            return
        key, version, kind = login.due
        begin = answer_begin(frame, key, version, self._correlation_id)
        login.take(decode(kind, frame, version, begin)[0])

    def _learn_versions(self, frame: memoryview) -> None:
        begin = answer_begin(frame, ApiKey.API_VERSIONS, API_VERSIONS_VERSION, self._correlation_id)
        answer = decode(ApiVersionsResponse, frame, API_VERSIONS_VERSION, begin)[0]
        if answer.error_code != ErrorCode.NONE:
            raise DecodeError(f"it refuses to tell its versions with error {answer.error_code}")
        versions = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
        parts, attempt = self._options.security.login, self._attempt
        if parts is None:
            self._go_on(versions)
            return

        def send(api: Api, version: int, message: Message) -> None:
            if attempt == self._attempt:
                self._next_correlation_id()
                self._write(api, version, message)

        def done(outcome: LoggedIn | str) -> None:
            if attempt != self._attempt:
                return
            if isinstance(outcome, str):
                parts.refused(self.address, outcome)
                self._lose(f"{self.address} does not let this node in: {outcome}")
                return
            if outcome.lifetime_ms > 0:
                self._stale_at = self._loop.time() + outcome.lifetime_ms / 1000 * USED_OF_SESSION
            self._go_on(versions)

        self._login = NodeLogin(parts, versions, send, done)
        self._login.begin()

    def _go_on(self, versions: Mapping[int, tuple[int, int]]) -> None:
        self._login = None
        self._versions = versions
        self._send_waiting()

    # the end of a connection

    def _time_out(self, api: Api, timeout_s: float) -> None:
        self._lose(f"{self.address} did not answer {api.name} within {timeout_s:g} s")

    def _lose_attempt(self, attempt: int, reason: str) -> None:
        if attempt == self._attempt:
            self._lose(reason)

    def _lose(self, reason: str) -> None:
        """Give the connection up; whoever waits for an answer learns why, once everything here is in order again."""
        if self._is_closed:
            return
        requests = self._forget_requests()
        self._disconnect()
        for request in requests:
            request.answer.resolve(Disconnected(reason))

    def _forget_requests(self) -> list[Request]:
        requests = [expected.request for expected in self._expected] + list(self._unsent)
        self._expected.clear()
        self._unsent.clear()
        for request in requests:
            request.timer.cancel()
        return requests

    def _disconnect(self) -> None:
        self._attempt += 1
        self._versions = self._login = self._stale_at = None
        self._out.clear()
        dialing, self._dialing = self._dialing, None
        if dialing is not None:
            dialing.close()
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.unwatch_reading(self._loop)
            self._loop.remove_writer(transport.fd)
            transport.close()
        self._frames.close()


_WHO_WE_ARE: Final = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
