"""From frame to answer: headers, versions, errors in one place."""

from functools import partial
from struct import pack, unpack_from

import pytest

from odradek.broker.dispatch.dispatcher import Dispatcher
from odradek.broker.dispatch.route import MessageHandler
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.registry import API, Api, ApiKey, decode, encode


@pytest.fixture
def context() -> RequestContext:
    return RequestContext("client:1", "client", "PLAINTEXT", "127.0.0.1", 9092)


def frame(key: int, version: int, body: bytes = b"", client: bytes | None = b"me", tags: bytes = b"") -> memoryview:
    head = pack(">hhi", key, version, 77)
    head += pack(">h", -1) if client is None else pack(">h", len(client)) + client
    return memoryview(head + tags + body)


def metadata_frame(version: int) -> memoryview:
    body = encode(MetadataRequest(topics=[]), version)
    return frame(ApiKey.METADATA, version, body, tags=b"\0" if version >= 9 else b"")


def dispatcher(handlers: dict[ApiKey, MessageHandler]) -> Dispatcher:
    return Dispatcher({}, {key: partial(_itself, handler) for key, handler in handlers.items()})


def _itself(handler: MessageHandler) -> MessageHandler:
    return handler


def body_of(answer: Response | Deferred[Response], version: int) -> MetadataResponse:
    assert isinstance(answer, bytes)
    assert unpack_from(">i", answer) == (77,)
    message, end = decode(MetadataResponse, answer, version, 5 if version >= 9 else 4)
    assert end == len(answer)
    return message


@pytest.mark.parametrize("version", [0, 8, 9, 13])
def test_a_handler_sees_the_request_and_its_answer_carries_the_correlation_id(
    context: RequestContext, version: int
) -> None:
    """The same handler serves all versions; the response header follows the version."""
    handle = dispatcher({ApiKey.METADATA: lambda _context, _request: MetadataResponse(controller_id=5)}).handle
    response = body_of(handle(context, metadata_frame(version)), version)
    assert response.controller_id == (5 if version >= 1 else -1)
    assert (context.api_version, context.client_id) == (version, "me")


def test_a_client_without_an_id_is_nobody(context: RequestContext) -> None:
    """A null client id is allowed, and does not inherit the last one."""
    handle = dispatcher({ApiKey.METADATA: lambda _context, _request: MetadataResponse()}).handle
    handle(context, metadata_frame(1))
    handle(context, frame(ApiKey.METADATA, 1, encode(MetadataRequest(topics=[]), 1), client=None))
    assert context.client_id is None


def test_tagged_fields_in_the_header_are_skipped(context: RequestContext) -> None:
    """Unknown header tags of a newer client do no harm."""
    handle = dispatcher({ApiKey.METADATA: lambda _context, _request: MetadataResponse()}).handle
    body = encode(MetadataRequest(topics=[]), 9)
    assert isinstance(handle(context, frame(ApiKey.METADATA, 9, body, tags=b"\1\7\2xx")), bytes)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (memoryview(b""), "too short"),
        (memoryview(b"\0\3"), "too short"),
        (frame(999, 0), "unknown api key 999"),
        (frame(ApiKey.METADATA, 99), "version 99 is not served"),
        (frame(ApiKey.METADATA, -1), "version -1 is not served"),
        (frame(ApiKey.METADATA, 1, b"\x7f\xff\xff\xff"), "does not parse"),
        (memoryview(pack(">hhih", ApiKey.METADATA, 1, 1, 500) + b"short"), "header"),
        (memoryview(pack(">hhih", ApiKey.METADATA, 9, 1, 0) + b"\x05"), "header"),
    ],
)
def test_what_is_no_request_of_ours_ends_the_connection(context: RequestContext, bad: memoryview, reason: str) -> None:
    """Kafka closes, and so do we, with the reason for the log."""
    handle = dispatcher({ApiKey.METADATA: lambda _context, _request: MetadataResponse()}).handle
    with pytest.raises(CloseConnectionError, match=reason):
        handle(context, bad)


def test_an_unknown_version_of_api_versions_is_answered_in_version_0(context: RequestContext) -> None:
    """A newer client learns which version of ApiVersions to ask with."""
    handle = dispatcher({ApiKey.API_VERSIONS: lambda _context, _request: MetadataResponse()}).handle
    answer = handle(context, frame(ApiKey.API_VERSIONS, 99, tags=b"\0"))
    versions = API[ApiKey.API_VERSIONS].served
    assert answer == pack(">ihihhh", 77, 35, 1, 18, versions.first, versions.last)


def test_a_kafka_error_becomes_the_error_of_the_response(context: RequestContext) -> None:
    """The code, and the message where the response has a place for it."""

    def refuse(_context: RequestContext, _request: object) -> DescribeClusterResponse:
        raise KafkaError(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "no such endpoints")

    handle = dispatcher({ApiKey.DESCRIBE_CLUSTER: refuse}).handle
    answer = handle(context, frame(ApiKey.DESCRIBE_CLUSTER, 0, encode(DescribeClusterRequest(), 0), tags=b"\0"))
    assert isinstance(answer, bytes)
    response, _ = decode(DescribeClusterResponse, answer, 0, 5)
    assert response.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
    assert response.error_message == "no such endpoints"


def test_a_bug_is_answered_and_the_broker_lives(context: RequestContext) -> None:
    """UNKNOWN_SERVER_ERROR where the response can say it, else the end of the connection."""

    def fail(_context: RequestContext, _request: object) -> MetadataResponse:
        raise ZeroDivisionError

    handle = dispatcher({ApiKey.DESCRIBE_CLUSTER: fail, ApiKey.METADATA: fail}).handle
    answer = handle(context, frame(ApiKey.DESCRIBE_CLUSTER, 0, encode(DescribeClusterRequest(), 0), tags=b"\0"))
    assert isinstance(answer, bytes)
    assert decode(DescribeClusterResponse, answer, 0, 5)[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_deferred_response_is_encoded_when_it_comes(context: RequestContext) -> None:
    """Without a task; and nobody is called any more once the connection is gone."""
    deferred: list[Deferred[MetadataResponse]] = []

    def later(_context: RequestContext, _request: MetadataRequest) -> Deferred[MetadataResponse]:
        deferred.append(Deferred())
        return deferred[-1]

    handle = dispatcher({ApiKey.METADATA: later}).handle
    answers: list[Response] = []
    for is_gone in (False, True):
        pending = handle(context, metadata_frame(9))
        assert isinstance(pending, Deferred)
        pending.on_done(answers.append)
        if is_gone:
            pending.cancel()
    for place in deferred:
        place.resolve(MetadataResponse(controller_id=6))
    (answer,) = answers
    assert body_of(answer, 9).controller_id == 6


def test_a_deferred_response_that_cannot_be_encoded_harms_nobody_else(context: RequestContext) -> None:
    """Whoever resolves it goes on; the connection ends, as for every answer that has no form in its version."""
    place: Deferred[MetadataResponse] = Deferred()
    handle = dispatcher({ApiKey.METADATA: lambda _context, _request: place}).handle
    pending = handle(context, metadata_frame(13))
    assert isinstance(pending, Deferred)
    answers: list[Response] = []
    pending.on_done(answers.append)
    place.resolve(MetadataResponse(controller_id="not a number"))  # type: ignore[arg-type]
    (answer,) = answers
    assert isinstance(answer, CloseConnectionError)
    assert "cannot be written" in str(answer)


class Gate:
    """Refuses one API."""

    def __init__(self, refused: ApiKey) -> None:
        self.refused = refused

    def admit(self, context: RequestContext, api: Api, request: Message) -> Message | None:
        if api.key is self.refused:
            assert isinstance(request, MetadataRequest)
            return MetadataResponse(cluster_id=str(context.principal))
        return None

    def may_write(self, _context: RequestContext, _topic: object) -> bool:
        return False


def test_a_request_that_the_gate_refuses_never_reaches_its_handler(context: RequestContext) -> None:
    """The gate knows who asks, and gives the response."""

    def handler(_context: RequestContext, _request: object) -> MetadataResponse:
        raise AssertionError

    handle = Dispatcher({}, {ApiKey.METADATA: lambda: handler}, Gate(ApiKey.METADATA)).handle
    assert body_of(handle(context, metadata_frame(9)), 9).cluster_id == "User:ANONYMOUS"


def test_a_handler_is_found_at_the_first_request_for_it(context: RequestContext) -> None:
    """Once; a broker starts without what nobody asks for."""
    found: list[int] = []

    def find() -> MessageHandler:
        found.append(1)
        return lambda _context, _request: MetadataResponse()

    handle = Dispatcher({}, {ApiKey.METADATA: find}).handle
    assert found == []
    for _ in range(2):
        body_of(handle(context, metadata_frame(9)), 9)
    assert found == [1]
