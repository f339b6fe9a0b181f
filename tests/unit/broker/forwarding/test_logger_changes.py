"""Changes of configs at a broker of a cluster: its loggers are its own, all else is the controller's."""

from collections.abc import Sequence

import pytest

from odradek.broker.forwarding.logger_changes import LARGEST_LOOKED_INTO, LoggerChanges
from odradek.broker.forwarding.refusals import refused
from odradek.broker.metadata.image import ConfigResource, ResourceType
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.config.alter import AlterConfigOp, ConfigChange
from odradek.protocol.codec import decode, encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.headers import RequestHeader, decode_request_header, encode_request_header
from odradek.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.registry import ApiKey

BROKER, LOGGER, TOPIC = ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.TOPIC
CORRELATION_ID = 77
ROOT = AlterableConfig(name="root", config_operation=AlterConfigOp.SET, value="DEBUG")


def resource(kind: int, name: str, *configs: AlterableConfig) -> AlterConfigsResource:
    """Return what a request says of one resource."""
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=list(configs or [ROOT]))


class Broker:
    """Broker 1, whose controller answers when a test says so."""

    def __init__(self) -> None:
        self.forwarded: list[bytes] = []
        self.place: Deferred[Response] = Deferred()
        self.changed: list[tuple[list[str], bool]] = []
        self.may = True
        self.handler = LoggerChanges(self._forward, self._change_loggers, self._check_broker, lambda _: self.may)

    def _forward(self, _context: RequestContext, frame: memoryview) -> Deferred[Response]:
        self.forwarded.append(bytes(frame))
        return self.place

    def _change_loggers(self, node: str, changes: Sequence[ConfigChange], *, validate_only: bool) -> None:
        if node != "1":
            raise KafkaError(ErrorCode.INVALID_REQUEST, "not here")
        self.changed.append(([one.value or "" for one in changes], validate_only))

    def _check_broker(self, _resource: ConfigResource, changes: Sequence[ConfigChange]) -> None:
        if any(one.value == "many" for one in changes):
            raise KafkaError(ErrorCode.INVALID_CONFIG, "not a number")

    def ask(
        self, resources: Sequence[AlterConfigsResource], version: int, *, validate_only: bool = False
    ) -> Response | Deferred[Response]:
        """Let the broker work on a request."""
        return self.handle(frame_of(resources, version, validate_only=validate_only))

    def handle(self, frame: bytes) -> Response | Deferred[Response]:
        """Let the broker work on a frame."""
        context = RequestContext("192.0.2.1:5", "192.0.2.1", "PLAINTEXT", "127.0.0.1", 9092)
        return self.handler.handle(context, memoryview(frame))


def frame_of(resources: Sequence[AlterConfigsResource], version: int, *, validate_only: bool = False) -> bytes:
    """Return a request as it comes from a client."""
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    header = RequestHeader(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, CORRELATION_ID, "me")
    return encode_request_header(header) + encode(request, version)


def answer_of(version: int, *results: tuple[int, str, ErrorCode]) -> bytes:
    """Return a controller's answer."""
    response = IncrementalAlterConfigsResponse(
        throttle_time_ms=5,
        responses=[
            AlterConfigsResourceResponse(error_code=code, resource_type=kind, resource_name=name)
            for kind, name, code in results
        ],
    )
    return CORRELATION_ID.to_bytes(4, "big") + b"\0" * version + encode(response, version)


def results_in(answer: object, version: int) -> list[tuple[int, str, int]]:
    """Return what an answer says of each resource."""
    assert isinstance(answer, bytes)
    assert answer[: 4 + version] == CORRELATION_ID.to_bytes(4, "big") + b"\0" * version
    response, end = decode(IncrementalAlterConfigsResponse, answer, version, 4 + version)
    assert end == len(answer)
    return [(one.resource_type, one.resource_name, one.error_code) for one in response.responses]


@pytest.mark.parametrize("version", [0, 1])
def test_loggers_are_changed_here_and_nobody_else_is_asked(version: int) -> None:
    """A validation is passed on as one; a logger of another broker is refused here, too."""
    broker = Broker()
    answer = broker.ask([resource(LOGGER, "1"), resource(LOGGER, "9")], version, validate_only=True)
    assert results_in(answer, version) == [(LOGGER, "1", 0), (LOGGER, "9", ErrorCode.INVALID_REQUEST)]
    assert (broker.changed, broker.forwarded) == ([(["DEBUG"], True)], [])


def test_who_may_not_change_the_cluster_changes_no_loggers() -> None:
    """What is the controller's is handed on all the same: it decides by itself."""
    broker = Broker()
    broker.may = False
    answer = broker.ask([resource(LOGGER, "1"), resource(BROKER, "1"), resource(TOPIC, "t")], 1)
    assert isinstance(answer, Deferred)
    found: list[Response] = []
    answer.on_done(found.append)
    broker.place.resolve(answer_of(1, (TOPIC, "t", ErrorCode.NONE)))
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert results_in(found[0], 1) == [(LOGGER, "1", denied), (BROKER, "1", denied), (TOPIC, "t", 0)]
    assert broker.changed == []


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_no_logger_is_handed_on_and_answered_in_the_order_of_the_request(version: int) -> None:
    """Under the same header; one answer is made out of both."""
    broker = Broker()
    told: list[Response] = []
    coming = broker.ask([resource(TOPIC, "a"), resource(LOGGER, "1"), resource(TOPIC, "b")], version)
    assert isinstance(coming, Deferred)
    coming.on_done(told.append)
    assert broker.changed == [(["DEBUG"], False)]
    header, position = decode_request_header(broker.forwarded[0])
    assert header == RequestHeader(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, CORRELATION_ID, "me")
    request = decode(IncrementalAlterConfigsRequest, broker.forwarded[0], version, position)[0]
    assert [one.resource_name for one in request.resources] == ["a", "b"]
    broker.place.resolve(answer_of(version, (TOPIC, "b", ErrorCode.INVALID_CONFIG), (TOPIC, "a", ErrorCode.NONE)))
    assert results_in(told[0], version) == [
        (TOPIC, "a", 0),
        (LOGGER, "1", 0),
        (TOPIC, "b", ErrorCode.INVALID_CONFIG),
    ]


def test_a_value_that_no_broker_can_have_is_refused_here() -> None:
    """Apache Kafka's controller would keep it; what is good goes on, and alone as it came."""
    bad = AlterableConfig(name="log.cleaner.threads", config_operation=AlterConfigOp.SET, value="many")
    good = AlterableConfig(name="log.cleaner.threads", config_operation=AlterConfigOp.SET, value="2")
    broker = Broker()
    refused_ = broker.ask([resource(BROKER, "1", bad), resource(BROKER, "", bad)], 1)
    assert results_in(refused_, 1) == [
        (BROKER, "1", ErrorCode.INVALID_CONFIG),
        (BROKER, "", ErrorCode.INVALID_CONFIG),
    ]
    assert broker.forwarded == []
    frame = frame_of([resource(BROKER, "1", good)], 1)
    assert isinstance(broker.handle(frame), Deferred)
    assert broker.forwarded == [frame]


def test_a_request_without_loggers_goes_on_as_it_came() -> None:
    """And so does one that is too large to be looked into."""
    broker = Broker()
    plain = frame_of([resource(TOPIC, "a")], 1)
    long = AlterableConfig(name="root", value="x" * 32_000)
    large = frame_of([resource(LOGGER, str(number), long) for number in range(3)], 1)
    assert len(large) > LARGEST_LOOKED_INTO
    for frame in (plain, large):
        assert broker.handle(frame) is broker.place
    assert (broker.forwarded, broker.changed) == ([plain, large], [])


def test_changes_that_make_no_sense_are_refused_before_a_logger_is_touched() -> None:
    """A broker that stands twice in a request, a logger twice, no value."""
    without = AlterableConfig(name="root", config_operation=AlterConfigOp.SET, value=None)
    for resources in (
        [resource(LOGGER, "1"), resource(LOGGER, "1")],
        [resource(LOGGER, "1", ROOT, ROOT)],
        [resource(LOGGER, "1", without)],
    ):
        broker = Broker()
        answer = broker.ask(resources, 1)
        assert {code for _, _, code in results_in(answer, 1)} == {ErrorCode.INVALID_REQUEST}
        assert broker.changed == []


def test_without_a_controller_the_loggers_are_changed_all_the_same() -> None:
    """The rest is told that nobody has answered."""
    broker = Broker()
    told: list[Response] = []
    coming = broker.ask([resource(TOPIC, "a"), resource(LOGGER, "1")], 1)
    assert isinstance(coming, Deferred)
    coming.on_done(told.append)
    broker.place.resolve(refused(broker.forwarded[0], ErrorCode.REQUEST_TIMED_OUT))
    assert results_in(told[0], 1) == [(TOPIC, "a", ErrorCode.REQUEST_TIMED_OUT), (LOGGER, "1", 0)]


@pytest.mark.parametrize(
    ("answer", "is_closed"),
    [(answer_of(1), False), (b"\0\0\0\x4d\0\x01", True), (CloseConnectionError("no"), True)],
    ids=["nothing of the resource", "not a response", "the end of the connection"],
)
def test_a_controller_that_answers_badly_does_no_harm(answer: Response, is_closed: bool) -> None:
    """What it says nothing of is UNKNOWN_SERVER_ERROR; what cannot be read ends the connection."""
    broker = Broker()
    told: list[Response] = []
    coming = broker.ask([resource(TOPIC, "a"), resource(LOGGER, "1")], 1)
    assert isinstance(coming, Deferred)
    coming.on_done(told.append)
    broker.place.resolve(answer)
    if is_closed:
        assert isinstance(told[0], CloseConnectionError)
    else:
        assert results_in(told[0], 1) == [(TOPIC, "a", ErrorCode.UNKNOWN_SERVER_ERROR), (LOGGER, "1", 0)]


def test_bytes_that_are_no_request_end_the_connection() -> None:
    """As everywhere."""
    with pytest.raises(CloseConnectionError):
        Broker().handle(frame_of([resource(LOGGER, "1")], 1)[:-3])
