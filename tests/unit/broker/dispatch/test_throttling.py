"""Which requests count, and what becomes of those that are too much."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from odradek.broker.dispatch.dispatcher import Dispatcher
from odradek.broker.dispatch.route import DirectHandler
from odradek.broker.dispatch.throttling import Throttling
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, LastAnswer, Response, Throttled
from odradek.protocol.codec import Message
from odradek.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.metadata_records import ClientQuotaRecord
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.protocol.registry import ApiKey, decode, encode
from tests.support.clock import ManualClock
from tests.support.partitions import context as new_context
from tests.unit.broker.dispatch.test_dispatcher import frame
from tests.unit.broker.metadata.test_client_quotas import quota
from tests.unit.broker.quotas.support import enforcing

VERSION = 9
RATE, TIME = "producer_byte_rate", "request_percentage"
ANSWER = encode(ProduceResponse(), VERSION)


@pytest.fixture
def context() -> RequestContext:
    return new_context(VERSION, None)


def limited(
    produce: DirectHandler, *quotas: ClientQuotaRecord, clock: ManualClock | None = None, forwarded: bool = False
) -> Dispatcher:
    """Return a dispatcher with these quotas; Metadata is answered, CreateTopics tells what it was told."""
    clock = clock or ManualClock()

    def create_topics(_context: RequestContext, request: CreateTopicsRequest) -> Message:
        return CreateTopicsResponse(throttle_time_ms=request.timeout_ms)

    dispatcher = Dispatcher(
        {ApiKey.PRODUCE: lambda: produce},
        {
            ApiKey.METADATA: lambda: lambda _context, _request: MetadataResponse(),
            ApiKey.CREATE_TOPICS: lambda: create_topics,
        },
    )
    dispatcher.throttle(Throttling(enforcing(clock, *quotas), [ApiKey.CREATE_TOPICS] if forwarded else []))
    return dispatcher


def answer(context: RequestContext, request: Any, head: bytes) -> bytes:
    """Answer a produce at once."""
    return head + ANSWER


def produce_frame(size: int = 0) -> memoryview:
    """Return a produce of some 50 bytes, and so many more."""
    body = encode(ProduceRequest(transactional_id="x" * size, acks=-1, timeout_ms=1000), VERSION)
    return frame(ApiKey.PRODUCE, VERSION, body, tags=b"\0")


def throttle_told(response: Response | Deferred[Response]) -> int:
    """Return what a throttled produce is told."""
    assert isinstance(response, Throttled)
    assert isinstance(response.answer, bytes)
    told, _ = decode(ProduceResponse, response.answer, VERSION, 5)
    assert response.seconds == told.throttle_time_ms / 1000
    return told.throttle_time_ms


def test_a_produce_that_is_too_much_is_answered_and_its_client_muted(context: RequestContext) -> None:
    """By the bytes of its request; those before go on as if there was no quota."""
    dispatcher = limited(answer, quota(RATE, 1_000.0, user="ANONYMOUS"))
    for _ in range(9):
        assert isinstance(dispatcher.handle(context, produce_frame(1_000)), bytes)
    size = len(produce_frame(1_000))
    told = throttle_told(dispatcher.handle(context, produce_frame(1_000)))
    assert told == round(10 * size - 10_000)


def test_a_produce_that_waits_counts_when_it_is_answered(context: RequestContext) -> None:
    """As in Kafka: the time to wait begins with the answer."""
    clock, later = ManualClock(), Deferred[Response]()
    dispatcher = limited(lambda *_: later, quota(RATE, 1_000.0, user="ANONYMOUS"), clock=clock)
    outcome = dispatcher.handle(context, produce_frame(20_000))
    assert isinstance(outcome, Deferred)
    answers: list[Response] = []
    outcome.on_done(answers.append)
    later.resolve(b"head\0" + ANSWER)
    assert throttle_told(answers[0]) > 10_000


def test_a_producer_without_acks_is_muted_without_an_answer(context: RequestContext) -> None:
    """And its time is not limited, as in Kafka."""
    dispatcher = limited(lambda *_: None, quota(RATE, 1_000.0, user=None), quota(TIME, 1e-9, user=None))
    assert dispatcher.handle(context, produce_frame()) is None
    outcome = dispatcher.handle(context, produce_frame(20_000))
    assert isinstance(outcome, Throttled)
    assert outcome.answer is None


def test_any_request_takes_time(context: RequestContext) -> None:
    """It is told in the answer to the very request that was too much."""
    dispatcher = limited(answer, quota(TIME, 1e-9, user="ANONYMOUS"))
    body = encode(MetadataRequest(topics=[]), VERSION)
    outcome = dispatcher.handle(context, frame(ApiKey.METADATA, VERSION, body, tags=b"\0"))
    assert isinstance(outcome, Throttled)
    assert isinstance(outcome.answer, bytes)
    assert (decode(MetadataResponse, outcome.answer, VERSION, 5)[0].throttle_time_ms, outcome.seconds) == (1000, 1.0)
    assert throttle_told(dispatcher.handle(context, produce_frame())) == 1000


@pytest.mark.parametrize("forwarded", [True, False])
def test_what_an_answer_tells_already_is_waited_for(context: RequestContext, forwarded: bool) -> None:
    """Of a controller's answer to what was handed on, and of one that changes partitions."""
    dispatcher = limited(answer, quota(TIME, 1e9, user="ANONYMOUS"), forwarded=forwarded)
    for wait_ms in (0, 700):
        body = encode(CreateTopicsRequest(topics=[], timeout_ms=wait_ms), 5)
        outcome = dispatcher.handle(context, frame(ApiKey.CREATE_TOPICS, 5, body, tags=b"\0"))
        assert (outcome.seconds if isinstance(outcome, Throttled) else 0) == wait_ms / 1000


@pytest.mark.parametrize("end", [CloseConnectionError("x"), LastAnswer(b"x"), Throttled(b"x", 5.0)])
def test_what_ends_or_mutes_a_connection_anyway_is_left_alone(context: RequestContext, end: Response) -> None:
    """There is nobody left to be told."""
    dispatcher = limited(lambda *_: end, quota(RATE, 1.0, user=None))
    assert dispatcher.handle(context, produce_frame(30_000)) is end


def test_without_quotas_nothing_is_looked_at(context: RequestContext) -> None:
    """Not even whose the request is."""
    dispatcher = limited(answer, quota(RATE, 1.0, user=None))
    dispatcher.throttle(None)
    assert isinstance(dispatcher.handle(context, produce_frame(30_000)), bytes)
    assert context.allowance is None


def test_a_produce_below_its_quota_is_taken_from_what_is_left(context: RequestContext) -> None:
    """Of the bytes exactly its size; what has no limit stays so, also where others have one."""
    dispatcher = limited(answer, quota(RATE, 1e6, user="ANONYMOUS"), quota(TIME, 1e6, user="v"))
    dispatcher.handle(context, produce_frame())
    assert context.allowance is not None
    left = context.allowance.produced.left
    request = produce_frame()
    assert isinstance(dispatcher.handle(context, request), bytes)
    assert context.allowance.produced.left == left - len(request)
    assert context.allowance.worked.left == inf


def test_the_time_of_a_produce_is_taken_from_what_is_left(context: RequestContext) -> None:
    """Each takes some of it, until there is nothing left and the rate is looked at."""
    dispatcher = limited(answer, quota(TIME, 1e6, user="ANONYMOUS"))
    dispatcher.handle(context, produce_frame())
    assert context.allowance is not None
    lefts = []
    for _ in range(3):
        lefts.append(context.allowance.worked.left)
        assert isinstance(dispatcher.handle(context, produce_frame()), bytes)
    assert lefts == sorted(set(lefts), reverse=True)
    assert context.allowance.produced.left == inf
