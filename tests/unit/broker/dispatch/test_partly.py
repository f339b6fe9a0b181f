"""Requests of which the gate leaves only a part: whatever kind of handler answers, the answer is whole."""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from odradek.broker.authorization.partly import Outcome, Partly
from odradek.broker.dispatch.direct_merge import merged
from odradek.broker.dispatch.dispatcher import Dispatcher
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.codec import Message
from odradek.protocol.headers import RequestHeader, encode_request_header
from odradek.protocol.hot.produce import ProduceResult, encode_produce_response
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse, TopicProduceData, TopicProduceResponse
from odradek.protocol.registry import API, Api, ApiKey, decode, encode

VERSION = 12


class HalfGate:
    """Lets only topics through whose name begins with `a`."""

    def admit(self, _context: RequestContext, api: Api, request: Any) -> Outcome:
        """Take the others out, and put them back in with the error 29."""
        is_produce = api.key == ApiKey.PRODUCE
        reduced = copy(request)
        asked = request.topic_data if is_produce else request.topics
        left = [one for one in asked if one.name.startswith("a")]
        if is_produce:
            reduced.topic_data = left
            return Partly(reduced, _with_produced)
        reduced.topics = left
        return Partly(reduced, partial(_with_described, [one.name for one in asked if one not in left]))

    def may_write(self, _context: RequestContext, _topic: object) -> bool:
        """Look at everything."""
        return False


def _with_produced(response: Any) -> Message:
    response.responses = [*response.responses, TopicProduceResponse(name="b")]
    message: Message = response
    return message


def _with_described(names: list[str], response: Any) -> Message:
    response.topics = [*response.topics, *(MetadataResponseTopic(name=name, error_code=29) for name in names)]
    message: Message = response
    return message


def frame(request: Message) -> memoryview:
    """Return a request with its header."""
    header = RequestHeader(request.SCHEMA.api_key, VERSION, 77, "me")
    return memoryview(encode_request_header(header) + encode(request, VERSION))


def context() -> RequestContext:
    """Return what is known of a client."""
    return RequestContext("client:1", "client", "PLAINTEXT", "127.0.0.1", 9092)


def described(_context: RequestContext, request: MetadataRequest) -> MetadataResponse:
    """Answer Metadata, of the topics that get here."""
    assert request.topics is not None
    return MetadataResponse(topics=[MetadataResponseTopic(name=one.name) for one in request.topics])


METADATA = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("a1", "b", "a2")])


def names_of(answer: Response) -> list[tuple[str | None, int]]:
    """Return the topics of an answer to Metadata with their errors."""
    assert isinstance(answer, bytes)
    response, _ = decode(MetadataResponse, answer, VERSION, 5)
    return [(one.name, one.error_code) for one in response.topics]


def test_answer_to_a_part_is_made_whole() -> None:
    """At once, or when the handler has it."""
    later: Deferred[Message] = Deferred()
    expected = [("a1", 0), ("a2", 0), ("b", 29)]

    def wait(_context: RequestContext, request: Any) -> Deferred[Message]:
        return later.then(lambda _: described(_context, request))

    for handler in (described, wait):
        handlers: dict[ApiKey, Callable[[], Any]] = {ApiKey.METADATA: partial(_itself, handler)}
        answer = Dispatcher({}, handlers, HalfGate()).handle(context(), frame(METADATA))
        found: list[Response] = []
        if isinstance(answer, Deferred):
            answer.on_done(found.append)
            later.resolve(MetadataResponse())
        else:
            found.append(answer)
        assert names_of(found[0]) == expected


def _itself(handler: Any) -> Any:
    return handler


def test_answer_that_a_handler_wrote_itself_is_read_again() -> None:
    """Produce writes bytes, of the part that it was given."""

    def produce(_context: RequestContext, request: ProduceRequest, head: bytes) -> bytes:
        topics = [(one.name, [ProduceResult(0, 0, 5)]) for one in request.topic_data]
        return encode_produce_response(head, VERSION, topics)  # type: ignore[arg-type]  # names are references

    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="a"), TopicProduceData(name="b")])
    handle = Dispatcher({ApiKey.PRODUCE: partial(_itself, produce)}, {}, HalfGate()).handle
    answer = handle(context(), frame(request))
    assert isinstance(answer, bytes)
    response, end = decode(ProduceResponse, answer, VERSION, 5)
    assert end == len(answer)
    assert [one.name for one in response.responses] == ["a", "b"]


def test_no_answer_stays_no_answer_but_ends_the_connection() -> None:
    """Something was refused, and there is no other way to say so."""
    outcome = merged(None, API[ApiKey.PRODUCE], VERSION, b"", _with_produced)
    assert isinstance(outcome, CloseConnectionError)
    closed = CloseConnectionError("enough")
    assert merged(closed, API[ApiKey.PRODUCE], VERSION, b"", _with_produced) is closed
