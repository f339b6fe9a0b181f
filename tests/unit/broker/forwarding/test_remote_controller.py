"""What a broker asks the controller for on its own account."""

import pytest

from odradek.broker.controller.topics import NewTopic
from odradek.broker.forwarding.envelopes import principal_data
from odradek.broker.forwarding.remote_controller import RemoteBlocks, RemoteTopicCreation
from odradek.broker.metadata.producer_ids import ProducerIdBlock
from odradek.broker.nodes.controller_channel import Answer
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.headers import decode_request_header, encode_response_header
from odradek.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from odradek.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from odradek.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.registry import ApiKey


class Channel:
    """Answers with what a test says, once `on_done` is there."""

    def __init__(self) -> None:
        self.asked: list[Message] = []
        self.place: Deferred[Answer] = Deferred()

    def send(self, request: Message, timeout_s: float | None = None) -> Deferred[Answer]:
        """Keep a request."""
        self.asked.append(request)
        self.place = Deferred()
        return self.place


def test_topics_get_the_broker_s_defaults_and_each_its_own_error() -> None:
    """As Kafka's broker asks for what clients have it create."""
    channel = Channel()
    creation = RemoteTopicCreation(channel, 3, 2)
    told: list[list[NewTopic | KafkaError]] = []
    wanted = [NewTopic("a"), NewTopic("b", 50, 1, configs={"cleanup.policy": "compact"})]
    then(creation.create_topics(wanted), told.append)
    (request,) = channel.asked
    assert isinstance(request, CreateTopicsRequest)
    assert [(one.name, one.num_partitions, one.replication_factor) for one in request.topics] == [
        ("a", 3, 2),
        ("b", 50, 1),
    ]
    encode(request, 7)
    refused = CreatableTopicResult(name="b", error_code=ErrorCode.TOPIC_ALREADY_EXISTS, error_message="there")
    channel.place.resolve(CreateTopicsResponse(topics=[refused, CreatableTopicResult(name="a")]))
    first, second = told[0]
    assert first is wanted[0]
    assert isinstance(second, KafkaError)
    assert (second.code, second.message) == (ErrorCode.TOPIC_ALREADY_EXISTS, "there")
    then(creation.create_topics(wanted), told.append)
    channel.place.resolve(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
    assert [type(one) for one in told[1]] == [KafkaError, KafkaError]


CLIENT = RequestContext(
    *("10.0.0.7:4711", "10.0.0.7", "SASL", "10.0.0.1", 9092), client_id="app", principal=KafkaPrincipal("User", "anna")
)


def test_topics_for_a_client_are_asked_for_in_its_name() -> None:
    """In an envelope with its principal, address and client id: the controller counts them for its quota."""
    channel = Channel()
    creation = RemoteTopicCreation(channel, 3, 2)
    told: list[list[NewTopic | KafkaError]] = []
    wanted = [NewTopic("a"), NewTopic("b")]
    then(creation.create_topics(wanted, client=CLIENT), told.append)
    (envelope,) = channel.asked
    assert isinstance(envelope, EnvelopeRequest)
    assert envelope.client_host_address == bytes((10, 0, 0, 7))
    assert envelope.request_principal == principal_data(CLIENT.principal)
    header, begin = decode_request_header(envelope.request_data)
    assert (header.api_key, header.api_version, header.client_id) == (ApiKey.CREATE_TOPICS, 7, "app")
    request, _ = decode(CreateTopicsRequest, envelope.request_data, 7, begin)
    assert [(one.name, one.num_partitions) for one in request.topics] == [("a", 3), ("b", 3)]
    refused = CreatableTopicResult(name="b", error_code=ErrorCode.THROTTLING_QUOTA_EXCEEDED, error_message="later")
    answer = CreateTopicsResponse(topics=[CreatableTopicResult(name="a"), refused])
    data = encode_response_header(0, ApiKey.CREATE_TOPICS, 7) + encode(answer, 7)
    channel.place.resolve(EnvelopeResponse(response_data=data))
    first, second = told[0]
    assert first is wanted[0]
    assert isinstance(second, KafkaError)
    assert (second.code, second.message) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, "later")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (EnvelopeResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (EnvelopeResponse(), ErrorCode.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(response_data=b"\0\0"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (KafkaError(ErrorCode.REQUEST_TIMED_OUT), ErrorCode.REQUEST_TIMED_OUT),
    ],
)
def test_an_envelope_that_comes_back_with_nothing_makes_no_topic(answer: Answer, code: ErrorCode) -> None:
    """Each of them has the error."""
    channel = Channel()
    told: list[list[NewTopic | KafkaError]] = []
    then(RemoteTopicCreation(channel, 1, 1).create_topics([NewTopic("a"), NewTopic("b")], client=CLIENT), told.append)
    channel.place.resolve(answer)
    assert [one.code for one in told[0] if isinstance(one, KafkaError)] == [code] * 2


def test_blocks_of_producer_ids_come_in_the_name_of_the_registration() -> None:
    """Whatever is no block is an error at which a client tries again."""
    channel = Channel()
    blocks = RemoteBlocks(channel, 1, lambda: 42)
    told: list[ProducerIdBlock | KafkaError] = []
    answers: list[Answer] = [
        AllocateProducerIdsResponse(producer_id_start=5000, producer_id_len=1000),
        AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH),
        AllocateProducerIdsResponse(producer_id_start=0, producer_id_len=-1),
        KafkaError(ErrorCode.REQUEST_TIMED_OUT),
    ]
    for answer in answers:
        blocks.next_block().on_done(told.append)
        request = channel.asked[-1]
        assert isinstance(request, AllocateProducerIdsRequest)
        assert (request.broker_id, request.broker_epoch) == (1, 42)
        channel.place.resolve(answer)
    assert told[0] == ProducerIdBlock(5000, 1000)
    assert [one.code for one in told[1:] if isinstance(one, KafkaError)] == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3
