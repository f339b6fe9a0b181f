"""The channel to the active controller: one request at a time, and again where the controller was none."""

from odradek.broker.nodes.controller_channel import Answer, ControllerChannel
from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from tests.support.manual_loop import ManualLoop
from tests.support.memory_network import MemoryConnector

FIRST, SECOND = NodeAddress("a", 1), NodeAddress("b", 2)


class Channel:
    """A channel, and whom it takes for the controller."""

    def __init__(self) -> None:
        self.loop = ManualLoop()
        self.network = MemoryConnector()
        self.leader: NodeAddress | None = FIRST
        self.channel = ControllerChannel(self.loop, self.network, lambda: self.leader, "broker-1-x", 30)
        self.answers: list[Answer] = []

    def ask(self, epoch: int = 0, timeout_s: float | None = None) -> None:
        """Send a heartbeat that is told by its epoch."""
        self.channel.send(BrokerHeartbeatRequest(broker_epoch=epoch), timeout_s).on_done(self.answers.append)

    @property
    def waiting(self) -> list[tuple[NodeAddress, int]]:
        """Who was asked what and has not answered."""
        return [(one.address, request.broker_epoch) for one in self.network.waiting for request, _ in one.asked]  # type: ignore[attr-defined]


def test_one_request_is_in_flight_and_the_next_follows_its_answer() -> None:
    """In order, over one connection."""
    channel = Channel()
    channel.ask(1)
    channel.ask(2)
    assert channel.waiting == [(FIRST, 1)]
    channel.network.made[0].answer(BrokerHeartbeatResponse())
    assert channel.waiting == [(FIRST, 2)]
    channel.network.made[0].answer(BrokerHeartbeatResponse())
    assert len(channel.answers) == 2
    assert len(channel.network.made) == 1


def test_who_is_no_controller_any_more_has_the_request_sent_to_the_next_one() -> None:
    """The same for a connection that broke; nobody who asked hears of either."""
    channel = Channel()
    for lost in (BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER), Disconnected("gone")):
        channel.leader = FIRST
        channel.ask(7)
        channel.ask(8)
        channel.network.waiting[0].answer(lost)
        channel.leader = None
        channel.loop.advance(1)
        assert channel.waiting == []
        channel.leader = SECOND
        channel.loop.advance(0.1)
        assert channel.waiting == [(SECOND, 7)]
        for _ in range(2):
            channel.network.waiting[0].answer(BrokerHeartbeatResponse())
    assert [type(answer) for answer in channel.answers] == [BrokerHeartbeatResponse] * 4


def test_not_controller_counts_for_a_topic_too() -> None:
    """CreateTopics says so for each topic, and nowhere else."""
    channel = Channel()
    channel.channel.send(CreateTopicsRequest()).on_done(channel.answers.append)
    refused = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=ErrorCode.NOT_CONTROLLER)])
    channel.network.waiting[0].answer(refused)
    channel.loop.advance(0.1)
    assert channel.answers == []
    assert len(channel.network.waiting) == 1


def test_a_deadline_ends_a_request_wherever_it_is() -> None:
    """In flight, waiting behind another, or while no controller is known; the others go on."""
    channel = Channel()
    channel.ask(1, 5)
    channel.ask(2, 5)
    channel.ask(3)
    channel.loop.advance(6)
    assert [answer.code for answer in channel.answers if isinstance(answer, KafkaError)] == [
        ErrorCode.REQUEST_TIMED_OUT
    ] * 2
    assert channel.waiting == [(FIRST, 3)]
    channel.network.waiting[0].answer(BrokerHeartbeatResponse())
    channel.leader = None
    channel.ask(4, 5)
    channel.loop.advance(6)
    assert len(channel.answers) == 4


def test_a_request_that_the_controller_does_not_know_is_not_sent_again() -> None:
    """Asking again does not help."""
    channel = Channel()
    channel.ask()
    channel.network.waiting[0].answer(Disconnected("too old", is_unsupported=True))
    (answer,) = channel.answers
    assert isinstance(answer, KafkaError)
    assert answer.code is ErrorCode.UNSUPPORTED_VERSION


def test_a_closed_channel_answers_nobody_and_leaves_no_timer() -> None:
    """The broker stops."""
    channel = Channel()
    channel.ask(1, 5)
    channel.ask(2, 5)
    channel.channel.close()
    assert channel.answers == []
    assert channel.loop.timers == 0
