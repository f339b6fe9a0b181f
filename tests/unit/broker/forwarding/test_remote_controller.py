"""What a broker asks the controller for on its own account."""

from odradek.broker.controller.topics import NewTopic
from odradek.broker.forwarding.remote_controller import RemoteBlocks, RemoteTopicCreation
from odradek.broker.metadata.producer_ids import ProducerIdBlock
from odradek.broker.nodes.controller_channel import Answer
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.codec import Message, encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from odradek.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse


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


def test_who_has_taken_too_much_is_refused_before_the_controller_is_asked() -> None:
    """It is asked in the broker's name, and for the others."""
    channel, tokens = Channel(), 3
    creation = RemoteTopicCreation(channel, 3, 2)
    told: list[list[NewTopic | KafkaError]] = []

    def charge(partitions: int) -> None:
        nonlocal tokens
        if tokens <= 0:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        tokens -= partitions

    for wanted in ([NewTopic("a"), NewTopic("b")], [NewTopic("c")]):
        then(creation.create_topics(wanted, charge=charge), told.append)
    (request,) = channel.asked
    assert isinstance(request, CreateTopicsRequest)
    assert [one.name for one in request.topics] == ["a"]
    channel.place.resolve(CreateTopicsResponse(topics=[CreatableTopicResult(name="a")]))
    refused, (first, second) = told
    assert first == NewTopic("a")
    for one in (second, *refused):
        assert isinstance(one, KafkaError)
        assert one.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED


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
