"""Requests too large for one turn of the loop: decoded elsewhere, answered in portions, bounded in memory."""

import asyncio
from functools import partial
from struct import pack
from threading import get_ident

import pytest

from odradek.broker.dispatch.dispatcher import Dispatcher
from odradek.broker.dispatch.division import MOST_OF_A_PORTION
from odradek.broker.dispatch.large_requests import DIVIDED_FRAME, LARGE_FRAME, LargeRequests
from odradek.broker.dispatch.route import MessageHandler
from odradek.broker.handlers.converting import Converter
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.frame_limits import LARGEST_FRAME
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from odradek.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse
from odradek.protocol.registry import ApiKey, decode, encode
from tests.support.partitions import Reply
from tests.unit.broker.handlers.old_support import answered

VERSION = 8


class Broker:
    """A dispatcher with one handler, which remembers how much it was asked at a time."""

    def __init__(self, limit: int = 1 << 28) -> None:
        loop = asyncio.get_running_loop()
        self.memory = RequestMemory(limit, loop.call_soon)
        self.asked: list[int] = []
        self.turns: list[int] = []
        self.later: list[Deferred[MetadataResponse]] | None = None
        large = LargeRequests(loop, partial(Converter, loop, self.memory), self.memory)
        handlers: dict[ApiKey, MessageHandler] = {ApiKey.METADATA: self.answer, ApiKey.OFFSET_FETCH: self.fail}
        self.dispatcher = Dispatcher({}, {key: partial(_itself, h) for key, h in handlers.items()}, large=large)
        self.context = RequestContext("client:1", "client", "PLAINTEXT", "127.0.0.1", 9092)

    def answer(
        self, _context: RequestContext, request: MetadataRequest
    ) -> MetadataResponse | Deferred[MetadataResponse]:
        assert request.topics is not None
        self.asked.append(len(request.topics))
        response = MetadataResponse(topics=[MetadataResponseTopic(name=topic.name) for topic in request.topics])
        if len(self.asked) == 2:  # one of them later
            later: Deferred[MetadataResponse] = Deferred()
            asyncio.get_running_loop().call_soon(later.resolve, response)
            return later
        return response

    def fail(self, _context: RequestContext, _request: OffsetFetchRequest) -> OffsetFetchResponse:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def handle(self, key: ApiKey, body: bytes, version: int = VERSION) -> Reply:
        frame = bytearray(pack(">hhih", key, version, 77, -1) + body)
        reply = Reply(self.dispatcher.handle(self.context, memoryview(frame)))
        frame[:] = bytes(len(frame))  # its memory is used again
        return reply


def _itself(handler: MessageHandler) -> MessageHandler:
    return handler


def names(count: int) -> list[str]:
    return [f"topic-{number:06}" for number in range(count)]


def metadata(count: int) -> bytes:
    """Return a request for so many topics."""
    return encode(MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names(count)]), VERSION)


@pytest.mark.parametrize("count", [2_000, 20_000])
async def test_many_names_are_answered_in_portions(count: int) -> None:
    """On the loop no more than a portion at a time, in the order of the request, and one answer in the end."""
    broker = Broker()
    body = metadata(count)
    assert (len(body) > LARGE_FRAME) == (count > 5_000)
    reply = broker.handle(ApiKey.METADATA, body)
    assert reply.is_waiting
    await answered(reply)
    response, _ = decode(MetadataResponse, reply.data, VERSION, 4)
    assert [topic.name for topic in response.topics] == names(count)
    assert max(broker.asked) <= MOST_OF_A_PORTION
    assert broker.memory.held_bytes == 0


async def test_an_ordinary_request_is_answered_at_once() -> None:
    """What fits into a turn waits for nothing."""
    broker = Broker()
    assert len(metadata(500)) < DIVIDED_FRAME
    assert not broker.handle(ApiKey.METADATA, metadata(500)).is_waiting


async def test_an_error_of_a_portion_is_the_answer() -> None:
    """A handler that refuses gives the response that it gives to small requests."""
    broker = Broker()
    topics = [OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in names(3_000)]
    reply = broker.handle(ApiKey.OFFSET_FETCH, encode(OffsetFetchRequest(group_id="g", topics=topics), 5), 5)
    response, _ = decode(OffsetFetchResponse, (await answered(reply)).data, 5, 4)
    assert response.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_large_frame_that_does_not_parse_ends_its_connection() -> None:
    """As a small one does, only later."""
    broker = Broker()
    reply = await answered(broker.handle(ApiKey.METADATA, metadata(20_000)[:-5]))
    assert isinstance(reply.answers[0], CloseConnectionError)
    assert broker.memory.held_bytes == 0


async def test_what_is_larger_than_any_honest_list_is_not_taken() -> None:
    """A megabyte of names is twenty-four of objects."""
    with pytest.raises(CloseConnectionError, match=str(LARGEST_FRAME)):
        Broker().handle(ApiKey.METADATA, bytes(LARGEST_FRAME))


async def test_only_so_many_are_worked_on_as_there_is_memory_for() -> None:
    """Another one ends its connection, and may come again."""
    broker = Broker(limit=1 << 20)
    first = broker.handle(ApiKey.METADATA, metadata(20_000))
    with pytest.raises(CloseConnectionError, match="memory"):
        broker.handle(ApiKey.METADATA, metadata(20_000))
    await answered(first)
    await answered(broker.handle(ApiKey.METADATA, metadata(20_000)))


async def test_what_a_request_leads_to_is_done_on_the_thread_and_told_on_the_loop() -> None:
    """Also where it fails; large changes of the metadata are planned so."""
    loop = asyncio.get_running_loop()
    memory = RequestMemory(1 << 28, loop.call_soon)
    large = LargeRequests(loop, partial(Converter, loop, memory), memory)
    worked: list[int] = []
    told: asyncio.Queue[tuple[int, BaseException | None]] = asyncio.Queue()

    def fail() -> None:
        raise ValueError

    for work in (lambda: worked.append(get_ident()), fail):
        large.submit(work, lambda failed: told.put_nowait((get_ident(), failed)))
    first, second = await told.get(), await told.get()
    assert first == (get_ident(), None)
    assert worked != [get_ident()]
    assert isinstance(second[1], ValueError)
