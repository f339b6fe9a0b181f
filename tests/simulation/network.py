"""A network in memory: requests and answers as bytes, with delays, cuts and the loss of whole connections.

A connection is TCP's: bytes arrive in order or not at all. Between nodes that are cut off from each other they wait, as
TCP sends again, until the cut heals. What somebody has sent may arrive after he has given up, or is no more. A process
that ends takes the connections to it with it, which the other side learns unless it is cut off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, FileRegion, HandOver, LastAnswer, Response, Throttled
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.headers import RequestHeader, encode_request_header
from odradek.protocol.registry import API, Api, ApiKey
from tests.simulation.world import Event, SimulatedProcess, World

Serve = Callable[[memoryview], "Response | Deferred[Response]"]
"""Answers the frames of one connection, one after the other."""


class SimulatedServer(Protocol):
    """What listens at an address."""

    process: SimulatedProcess

    def accept(self, client_id: str) -> Serve:
        """Return what answers a new connection."""


@dataclass(slots=True)
class NetworkFaults:
    """What is wrong with the network now. Names are those of processes."""

    cut: set[tuple[str, str]] = field(default_factory=set)
    """From whom to whom nothing arrives."""
    slowness: float = 1.0
    """How many times as long as usual bytes take."""


class SimulatedNetwork:
    """Who listens where, and how long bytes take."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.faults = NetworkFaults()
        self._servers: dict[NodeAddress, SimulatedServer] = {}
        self._names: dict[NodeAddress, str] = {}
        """Of the processes that have ever listened at an address."""
        self._connections: dict[SimulatedConnection, None] = {}

    def listen(self, address: NodeAddress, server: SimulatedServer) -> None:
        """Let a server be reached at an address; another one that was there has ended."""
        self._servers[address] = server
        self._names[address] = server.process.name

    def unlisten(self, address: NodeAddress, process: SimulatedProcess) -> None:
        """Refuse connections to an address of a process from now on."""
        if address in self._servers and self._servers[address].process is process:
            del self._servers[address]

    def server_at(self, address: NodeAddress) -> SimulatedServer | None:
        """Return who listens at an address now."""
        server = self._servers.get(address)
        return server if server is not None and server.process.is_alive else None

    def name_of(self, address: NodeAddress) -> str:
        """Return the name of who listens at an address, or did last."""
        return self._names.get(address, "")

    def connector(self, process: SimulatedProcess) -> SimulatedConnector:
        """Return what makes the connections of a process."""
        return SimulatedConnector(self, process)

    def ended(self, process: SimulatedProcess) -> None:
        """Break the connections to a process that is no more."""
        for connection in list(self._connections):
            connection.peer_ended(process)

    def opened(self, connection: SimulatedConnection) -> None:
        """Note a connection."""
        self._connections[connection] = None

    def closed(self, connection: SimulatedConnection) -> None:
        """Forget a connection."""
        self._connections.pop(connection, None)

    def is_cut(self, sender: str, receiver: str) -> bool:
        """Whether nothing arrives from one at the other."""
        return (sender, receiver) in self.faults.cut

    def delay(self) -> float:
        """Return how long bytes take this time."""
        return self.world.random.expovariate(1 / 0.0005) * self.faults.slowness


class SimulatedConnector:
    """Makes the connections of one process (`nodes.requests.Connector`)."""

    def __init__(self, network: SimulatedNetwork, process: SimulatedProcess) -> None:
        self._network = network
        self._process = process

    def connect(self, address: NodeAddress, client_id: str) -> SimulatedConnection:
        """Return a connection to a node; nothing is sent yet."""
        return SimulatedConnection(self._network, self._process, address, client_id)


CUT_RETRY_S = 0.2
"""How often bytes that do not arrive are sent again."""
KNOCK_S = 1.0
"""How often it is tried to connect where nobody answers."""


class _Line:
    """One direction of a connection: what arrives, arrives in order."""

    def __init__(self, network: SimulatedNetwork, sender: SimulatedProcess, receiver: SimulatedProcess) -> None:
        self._network = network
        self._sender = sender
        self._receiver = receiver
        self._under_way: deque[Callable[[], None]] = deque()
        self._is_busy = False
        self.is_broken = False

    def carry(self, arrive: Callable[[], None]) -> None:
        """Let something arrive at the receiver, after all that was sent before."""
        self._under_way.append(arrive)
        if not self._is_busy:
            self._is_busy = True
            self._deliver_in(self._network.delay())

    def _deliver_in(self, seconds: float) -> None:
        self._network.world.after(seconds, self._deliver, self._receiver)

    def _deliver(self) -> None:
        if self.is_broken:
            return
        if self._network.is_cut(self._sender.name, self._receiver.name):
            self._deliver_in(CUT_RETRY_S)
            return
        arrive = self._under_way.popleft()
        self._is_busy = bool(self._under_way)
        if self._is_busy:
            self._deliver_in(self._network.delay())
        arrive()


@dataclass(slots=True)
class _Asked:
    api: Api
    version: int
    answer: Deferred[Message | Disconnected]
    timer: Event


class _Session:
    """One TCP connection, from being made until it breaks."""

    def __init__(self, owner: SimulatedConnection, server: SimulatedServer) -> None:
        self.owner = owner
        self.server = server
        network = owner.network
        self.there = _Line(network, owner.process, server.process)
        self.back = _Line(network, server.process, owner.process)
        self._serve = server.accept(owner.client_id)
        self._waiting: deque[bytearray] = deque()
        self._is_working = False
        self.is_over = False

    def break_off(self) -> None:
        self.is_over = self.there.is_broken = self.back.is_broken = True

    def leave(self) -> None:
        """Whoever asked has given up, or is no more: nothing comes back, but what was sent may still arrive."""
        self.back.is_broken = True

    def arrive(self, frame: bytearray) -> None:
        self._waiting.append(frame)
        if not self._is_working:
            self._work()

    def _work(self) -> None:
        while self._waiting and not self._is_working and not self.is_over:
            self._is_working = True
            response = self._serve(memoryview(self._waiting.popleft()))
            if isinstance(response, Deferred):
                response.on_done(self._answer_later)
            else:
                self._answer(response)

    def _answer_later(self, response: Response) -> None:
        self._answer(response)
        self._work()

    def _answer(self, response: Response) -> None:
        self._is_working = False
        if self.is_over:
            return
        if isinstance(response, CloseConnectionError):
            self.is_over = True
            reason = str(response)
            self.back.carry(lambda: self.owner.broke(self, reason))
        elif response is not None:
            assert not isinstance(response, HandOver | LastAnswer | Throttled), "nobody logs in here, or has a quota"
            data = _bytes_of(response)
            self.back.carry(lambda: self.owner.answered(self, data))


class SimulatedConnection:
    """A `nodes.requests.NodeConnection` over the simulated network."""

    def __init__(
        self, network: SimulatedNetwork, process: SimulatedProcess, address: NodeAddress, client_id: str
    ) -> None:
        self.network = network
        self.process = process
        self.address = address
        self.client_id = client_id
        self._session: _Session | None = None
        self._asked: deque[_Asked] = deque()
        self._unsent: list[bytearray] = []
        """Frames that wait for the connection to be made."""
        self._is_knocking = False
        self._is_closed = False
        self._correlation_id = 0

    def send(self, request: Message, timeout_s: float, version: int | None = None) -> Deferred[Message | Disconnected]:
        """Send a request; see `NodeConnection.send`."""
        api = API[ApiKey(request.SCHEMA.api_key)]
        newest = request.SCHEMA.versions.last
        chosen = newest if version is None else min(newest, version)
        answer: Deferred[Message | Disconnected] = Deferred()
        world = self.network.world
        late = f"{self.address} did not answer {api.name} within {timeout_s:g} s"
        timer = world.after(timeout_s, lambda: self._lose(late), self.process)
        self._asked.append(_Asked(api, chosen, answer, timer))
        self._correlation_id += 1
        header = RequestHeader(api.key, chosen, self._correlation_id, self.client_id)
        self._unsent.append(bytearray(encode_request_header(header) + encode(request, chosen)))
        if self._session is None:
            self._open()
        else:
            self._send_all(self._session)
        return answer

    def _send_all(self, session: _Session) -> None:
        unsent, self._unsent = self._unsent, []
        for frame in unsent:
            session.there.carry(partial(session.arrive, frame))

    def close(self) -> None:
        """End it for good; nobody is told."""
        self._is_closed = True
        for asked in self._forget():
            asked.answer.cancel()

    def answered(self, session: _Session, data: memoryview) -> None:
        """An answer has arrived."""
        if session is not self._session:
            return
        asked = self._asked.popleft()
        asked.timer.is_cancelled = True
        start = 5 if asked.api.is_flexible(asked.version) and asked.api.key != ApiKey.API_VERSIONS else 4
        asked.answer.resolve(decode(asked.api.response, data, asked.version, start)[0])

    def broke(self, session: _Session, reason: str) -> None:
        """The other side has closed the connection."""
        if session is self._session:
            self._lose(f"{self.address} closed the connection: {reason}")

    def peer_ended(self, process: SimulatedProcess) -> None:
        """A process has ended; if it is the other side, this one learns it, unless it is cut off."""
        session = self._session
        if session is None or session.server.process is not process:
            return
        session.break_off()

        def learn() -> None:
            if session is not self._session:
                return
            if self.network.is_cut(process.name, self.process.name):
                self.network.world.after(CUT_RETRY_S, learn, self.process)
            else:
                self._lose(f"{self.address} closed the connection")

        self.network.world.after(self.network.delay(), learn, self.process)

    def _open(self) -> None:
        server = self.network.server_at(self.address)
        name = self.network.name_of(self.address)
        if self.network.is_cut(self.process.name, name) or self.network.is_cut(name, self.process.name):
            self._knock_again()
            return
        if server is None:
            reason = f"no connection to {self.address}: Connection refused"
            self.network.world.after(self.network.delay(), lambda: self._lose(reason), self.process)
            return
        self._session = session = _Session(self, server)
        self.network.opened(self)
        self._send_all(session)

    def _knock_again(self) -> None:
        """Nobody answers; TCP goes on trying, until whoever waits gives up."""
        if not self._is_knocking:
            self._is_knocking = True
            self.network.world.after(KNOCK_S, self._knocked, self.process)

    def _knocked(self) -> None:
        self._is_knocking = False
        if self._asked and self._session is None:
            self._open()

    def _lose(self, reason: str) -> None:
        for asked in self._forget():
            asked.answer.resolve(Disconnected(reason))

    def _forget(self) -> list[_Asked]:
        session, self._session = self._session, None
        if session is not None:
            session.leave()
            self.network.closed(self)
        asked, self._asked, self._unsent = list(self._asked), deque(), []
        for one in asked:
            one.timer.is_cancelled = True
        return asked


def _bytes_of(response: bytes | list[bytes | memoryview | FileRegion]) -> memoryview:
    """Return the bytes of an answer; regions of files as they are now."""
    if isinstance(response, bytes):
        return memoryview(response)
    data = bytearray()
    for piece in response:
        if isinstance(piece, FileRegion):
            data += piece.file.pread(piece.length, piece.position)  # type: ignore[attr-defined]  # a file in memory
        else:
            data += piece
    return memoryview(data)
