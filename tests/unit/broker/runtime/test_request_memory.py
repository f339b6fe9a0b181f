"""The memory of all requests: what is counted, who waits, and who loses its connection."""

from collections.abc import Callable

from odradek.broker.runtime.request_memory import RequestMemory


class Client:
    """A connection whose client does not read."""

    def __init__(self, memory: RequestMemory) -> None:
        self.memory = memory
        self.reason: str | None = None

    def close(self, reason: str | None = None) -> None:
        """Remember why."""
        self.reason = reason
        self.memory.forget_unread(self)


def new(limit: int = 1000) -> tuple[RequestMemory, list[Callable[[], None]]]:
    """Return a memory, and what it schedules."""
    scheduled: list[Callable[[], None]] = []
    return RequestMemory(limit, scheduled.append), scheduled


def test_requests_fit_until_the_limit_and_the_first_one_always() -> None:
    """A single large request passes, a second one waits; a growing buffer counts once."""
    memory, _ = new()
    assert memory.may_hold(5000)
    memory.hold(600)
    assert memory.may_hold(400)
    assert not memory.may_hold(401)
    assert memory.may_hold(900, instead_of=600)
    memory.hold(400)
    full = memory.is_full
    memory.release(1)
    assert (full, memory.is_full) == (True, False)


def test_whoever_waits_is_called_once_when_memory_comes_back() -> None:
    """A release schedules those that wait; they have to ask again."""
    memory, scheduled = new()
    memory.hold(1000)
    memory.when_freed(lambda: None)
    before = memory.is_short
    memory.release(10)
    memory.release(10)
    assert (before, memory.is_short, len(scheduled)) == (True, False, 1)


def test_who_has_read_nothing_for_longest_goes_first() -> None:
    """Unread answers over the limit end connections, and a client that reads on moves to the end of the row."""
    memory, _ = new()
    first, second, third = (Client(memory) for _ in range(3))
    memory.keep_unread(first, 400)
    memory.keep_unread(second, 400)
    memory.forget_unread(first)
    memory.keep_unread(first, 300)
    memory.keep_unread(third, 500)
    assert second.reason is not None
    assert first.reason is None
    assert third.reason is None
    assert memory.held_bytes == 800


def test_a_single_answer_may_be_larger_than_the_limit() -> None:
    """The limit closes nobody who is alone."""
    memory, _ = new()
    only = Client(memory)
    memory.keep_unread(only, 5000)
    assert only.reason is None


def test_work_and_unread_answers_share_their_half() -> None:
    """A batch that is being checked takes the place of answers that nobody reads; requests have their own half."""
    memory, _ = new()
    clients = [Client(memory) for _ in range(3)]
    for client in clients:
        memory.keep_unread(client, 300)
    memory.begin_work(500)
    assert [client.reason is None for client in clients] == [False, False, True]
    assert memory.may_hold(1000)
    memory.end_work(500)
    assert memory.held_bytes == 300
