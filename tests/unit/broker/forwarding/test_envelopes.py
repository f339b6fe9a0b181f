"""Requests that are handed on: the bytes of the client out, the bytes of the controller back."""

from collections.abc import Callable

import pytest

from odradek.broker.forwarding.envelopes import Forwarding, principal_data
from odradek.broker.forwarding.refusals import refused
from odradek.broker.nodes.controller_channel import Answer
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.runtime.context import ANONYMOUS, KafkaPrincipal, RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.frame_limits import LARGEST_FRAME, largest_frame
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.headers import RequestHeader, encode_request_header
from odradek.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResource
from odradek.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.messages.incremental_alter_configs import AlterConfigsResource as IncrementalResource
from odradek.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from odradek.protocol.registry import API, ApiKey

LEADER = NodeAddress("c", 1)


class Controller:
    """Stands for the channel; `answer` is what the controller says."""

    def __init__(self, answer: Callable[[Message], Answer]) -> None:
        self.asked: list[Message] = []
        self._answer = answer

    def send(self, request: Message, timeout_s: float | None = None) -> Deferred[Answer]:
        """Answer a little later."""
        self.asked.append(request)
        self.place: Deferred[Answer] = Deferred()
        return self.place

    def answer(self) -> None:
        """Answer the last request."""
        self.place.resolve(self._answer(self.asked[-1]))


def frame_of(request: Message, version: int) -> bytes:
    """Return a request as it comes from a client."""
    header = RequestHeader(ApiKey(request.SCHEMA.api_key), version, 77, "me")
    return encode_request_header(header) + encode(request, version)


def forwarded(frame: bytes, answer: Answer) -> Response:
    """Return what the client gets."""
    controller = Controller(lambda _: answer)
    forwarding = Forwarding(controller, lambda: LEADER, [ApiKey.CREATE_TOPICS])
    told: list[Response] = []
    context = RequestContext("192.0.2.1:5", "192.0.2.1", "PLAINTEXT", "127.0.0.1", 9092)
    forwarding.forward(context, memoryview(frame)).on_done(told.append)
    controller.answer()
    (request,) = controller.asked
    assert isinstance(request, EnvelopeRequest)
    assert (request.request_data, request.client_host_address) == (frame, bytes([192, 0, 2, 1]))
    assert request.request_principal == bytes.fromhex("0000 05") + b"User" + b"\x0aANONYMOUS\0\0"
    return told[0]


def test_the_answer_of_the_controller_is_the_client_s() -> None:
    """Unchanged, header and all."""
    assert forwarded(b"request", EnvelopeResponse(response_data=b"answer")) == b"answer"
    assert principal_data(ANONYMOUS)[:2] == b"\0\0"


def test_an_envelope_that_the_controller_refuses_has_an_answer_of_its_own() -> None:
    """A version that it does not know ends the connection, as in Kafka; all else is UNKNOWN_SERVER_ERROR."""
    frame = frame_of(CreateTopicsRequest(topics=[CreatableTopic(name="t")]), 7)
    closed = forwarded(frame, EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    assert isinstance(closed, CloseConnectionError)
    told = forwarded(frame, EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE))
    assert told == refused(frame, ErrorCode.UNKNOWN_SERVER_ERROR)


REQUESTS: list[Message] = [
    CreateTopicsRequest(topics=[CreatableTopic(name="t")]),
    CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=2, assignments=None)]),
    DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], topic_names=["t"]),
    AlterConfigsRequest(resources=[AlterConfigsResource(resource_type=2, resource_name="t")]),
    IncrementalAlterConfigsRequest(resources=[IncrementalResource(resource_type=2, resource_name="t")]),
]


@pytest.mark.parametrize("request_of", REQUESTS, ids=lambda request: type(request).__name__)
def test_without_a_controller_every_topic_and_resource_is_told_so(request_of: Message) -> None:
    """In every version; the answer is one that the client can read."""
    api = API[ApiKey(request_of.SCHEMA.api_key)]
    for version in range(api.served.first, api.served.last + 1):
        answer = forwarded(frame_of(request_of, version), KafkaError(ErrorCode.REQUEST_TIMED_OUT))
        assert isinstance(answer, bytes)
        assert answer[:4] == bytes([0, 0, 0, 77])
        message, end = decode(api.response, answer, version, 5 if api.is_flexible(version) else 4)
        assert end == len(answer)
        ((result,),) = [getattr(message, name) for name in ("topics", "results", "responses") if hasattr(message, name)]
        assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert "t" in (getattr(result, "name", ""), getattr(result, "resource_name", ""))


def test_clients_are_promised_what_both_know() -> None:
    """The versions of what is handed on are cut to the controller's, asked once for each controller."""
    known = [ApiVersion(api_key=ApiKey.CREATE_TOPICS, min_version=3, max_version=5)]
    controller = Controller(lambda _: ApiVersionsResponse(api_keys=known))
    leader: list[NodeAddress | None] = [None]
    forwarded_keys = [ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS]
    forwarding = Forwarding(controller, lambda: leader[0], forwarded_keys)
    own = API[ApiKey.CREATE_TOPICS].served
    assert forwarding.versions(API[ApiKey.CREATE_TOPICS]) == (own.first, own.last)
    assert controller.asked == []
    leader[0] = LEADER
    forwarding.versions(API[ApiKey.CREATE_TOPICS])
    controller.answer()
    assert forwarding.versions(API[ApiKey.CREATE_TOPICS]) == (3, 5)
    assert forwarding.versions(API[ApiKey.DELETE_TOPICS]) is None
    assert forwarding.versions(API[ApiKey.FETCH]) == (API[ApiKey.FETCH].served.first, API[ApiKey.FETCH].served.last)
    assert len(controller.asked) == 1


def test_the_largest_request_that_is_handed_on_is_one_that_a_controller_takes() -> None:
    """A controller closes the connection of one that is larger, and all clients' requests go over it."""
    controller = Controller(lambda _: EnvelopeResponse())
    forwarding = Forwarding(controller, lambda: LEADER, [])
    name = KafkaPrincipal("User", "x" * 0x7FFF)
    context = RequestContext("::1:5", "::1", "PLAINTEXT", "::1", 9092, principal=name)
    with pytest.raises(CloseConnectionError):
        forwarding.forward(context, memoryview(bytes(LARGEST_FRAME + 1)))
    forwarding.forward(context, memoryview(bytes(LARGEST_FRAME)))
    header = encode_request_header(RequestHeader(ApiKey.ENVELOPE, 0, 1, "broker-2147483647-forwarding"))
    [request] = controller.asked
    assert len(header + encode(request, 0)) <= largest_frame(ApiKey.ENVELOPE)
