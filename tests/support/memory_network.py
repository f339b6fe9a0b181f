"""Connections to other nodes without sockets: a test answers what is asked, or a handler does."""

from collections.abc import Callable

from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.codec import Message

Answer = Message | Disconnected


class MemoryConnection:
    """A `NodeConnection`: `asked` has the requests that wait, `answer` answers the oldest."""

    def __init__(self, address: NodeAddress, client_id: str) -> None:
        self.address = address
        self.client_id = client_id
        self.asked: list[tuple[Message, Deferred[Answer]]] = []
        self.is_closed = False

    def send(self, request: Message, timeout_s: float, version: int | None = None) -> Deferred[Answer]:
        """Keep a request."""
        answer: Deferred[Answer] = Deferred()
        self.asked.append((request, answer))
        return answer

    def answer(self, answer: Answer) -> None:
        """Answer the oldest request."""
        _, place = self.asked.pop(0)
        place.resolve(answer)

    def close(self) -> None:
        """Forget what waits."""
        self.is_closed = True
        for _, answer in self.asked:
            answer.cancel()
        self.asked.clear()


class MemoryConnector:
    """A `Connector` that remembers what it made."""

    def __init__(self) -> None:
        self.made: list[MemoryConnection] = []

    def connect(self, address: NodeAddress, client_id: str) -> MemoryConnection:
        """Make a connection."""
        self.made.append(MemoryConnection(address, client_id))
        return self.made[-1]

    @property
    def waiting(self) -> list[MemoryConnection]:
        """The connections over which something was asked that has no answer."""
        return [one for one in self.made if one.asked]

    def serve(self, handle: Callable[[NodeAddress, Message], Answer | None]) -> int:
        """Answer what waits as `handle` says, None for no answer yet; return how many it was."""
        count = 0
        for connection in self.waiting:
            answer = handle(connection.address, connection.asked[0][0])
            if answer is not None:
                connection.answer(answer)
                count += 1
        return count
