"""What keeps a broker registered: requests in their order, and word of what became of them."""

from uuid import UUID

from odradek.broker.lifecycle.driver import LifecycleDriver
from odradek.broker.lifecycle.registration import AdvertisedListener, registration_of
from odradek.broker.lifecycle.state import LifecycleState, LifecycleTimes
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.nodes.controller_channel import Answer
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.codec import Message, encode
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from tests.support.manual_loop import ManualLoop
from tests.unit.broker.metadata.support import MemorySource

REGISTRATION = registration_of(
    1, "c", UUID(int=5), [AdvertisedListener("PLAINTEXT", "h", 9092, "PLAINTEXT")], "r", [UUID(int=9), UUID(int=8)], 3
)


class Broker:
    """A driver, and the controller that a test plays."""

    def __init__(self) -> None:
        self.loop = ManualLoop()
        self.asked: list[tuple[Message, Deferred[Answer]]] = []
        source = MemorySource(MetadataImage(offset=43))
        self.driver = LifecycleDriver(self.loop, self, source, REGISTRATION, LifecycleTimes())
        self.told: list[str | None] = []

    def send(self, request: Message, timeout_s: float | None = None) -> Deferred[Answer]:
        """Keep a request."""
        answer: Deferred[Answer] = Deferred()
        self.asked.append((request, answer))
        return answer

    def answer(self, answer: Answer) -> Message:
        """Answer the only request there is, and return it."""
        ((request, place),) = self.asked
        self.asked.clear()
        place.resolve(answer)
        self.loop.settle()
        return request

    def beat(self, *, fenced: bool = True, shut_down: bool = False) -> BrokerHeartbeatRequest:
        """Answer a heartbeat, and return it."""
        request = self.answer(BrokerHeartbeatResponse(is_caught_up=True, is_fenced=fenced, should_shut_down=shut_down))
        assert isinstance(request, BrokerHeartbeatRequest)
        return request


def test_a_registration_says_what_a_controller_wants_to_know() -> None:
    """All features with the levels that are known, directories in their order, the epoch of the last clean stop."""
    features = {one.name: (one.min_supported_version, one.max_supported_version) for one in REGISTRATION.features}
    assert features["metadata.version"] == (7, 30)
    assert len(features) == 7
    assert REGISTRATION.log_dirs == [UUID(int=8), UUID(int=9)]
    assert REGISTRATION.previous_broker_epoch == 3
    encode(REGISTRATION, 4)


def test_a_broker_registers_catches_up_serves_and_leaves() -> None:
    """Each step is told of, and the offset of the metadata is that of what is published."""
    broker = Broker()
    broker.driver.start()
    broker.driver.caught_up().on_done(broker.told.append)
    assert isinstance(broker.answer(BrokerRegistrationResponse(broker_epoch=7)), BrokerRegistrationRequest)
    broker.loop.advance(0)
    first = broker.beat()
    assert (first.broker_epoch, first.current_metadata_offset, first.want_fence) == (7, 42, True)
    assert first.cordoned_log_dirs is None
    assert broker.told == [None]
    broker.driver.ready().on_done(broker.told.append)
    assert not broker.beat(fenced=False).want_fence
    assert broker.told == [None, None]
    assert broker.driver.state is LifecycleState.RUNNING
    broker.driver.leave().on_done(broker.told.append)
    broker.loop.settle()
    broker.loop.advance(0)
    assert broker.beat(fenced=False).want_shut_down
    assert broker.told == [None, None]
    broker.loop.advance(0.2)
    broker.beat(shut_down=True)
    assert broker.told == [None, None, None]
    broker.loop.advance(10)
    assert broker.asked == []


def test_a_wish_that_comes_while_a_heartbeat_is_under_way_follows_it_at_once() -> None:
    """Leaders move as soon as a broker is told to stop, and not two seconds later."""
    broker = Broker()
    broker.driver.start()
    broker.answer(BrokerRegistrationResponse(broker_epoch=7))
    broker.loop.advance(0)
    broker.driver.ready()
    broker.beat(fenced=False)
    broker.loop.advance(0.01)
    broker.beat(fenced=False)
    broker.loop.advance(2)
    assert len(broker.asked) == 1
    broker.driver.leave()
    assert not broker.beat(fenced=False).want_shut_down
    broker.loop.advance(0)
    assert broker.beat(fenced=False).want_shut_down


def test_a_refusal_ends_the_wait() -> None:
    """And nothing is asked any more."""
    broker = Broker()
    broker.driver.start()
    broker.driver.caught_up().on_done(broker.told.append)
    broker.answer(BrokerRegistrationResponse(error_code=ErrorCode.INVALID_REGISTRATION))
    assert broker.told[0] is not None
    broker.loop.advance(100)
    assert broker.asked == []


def test_silence_of_the_controllers_is_waited_for() -> None:
    """A heartbeat that nobody answered is followed by the next one."""
    broker = Broker()
    broker.driver.start()
    for _ in range(3):
        broker.answer(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
        broker.loop.advance(1)
    broker.answer(BrokerRegistrationResponse(broker_epoch=7))
    broker.loop.advance(0)
    broker.answer(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
    broker.loop.advance(1)
    assert broker.beat().broker_epoch == 7


def test_failed_directories_are_told_at_once_and_from_then_on() -> None:
    """It counts as told when the heartbeat that says so is answered, not one that was under way before."""
    broker = Broker()
    broker.driver.start()
    broker.answer(BrokerRegistrationResponse(broker_epoch=7))
    broker.loop.advance(0)
    broker.beat()
    broker.driver.ready()
    first, second = UUID(int=8), UUID(int=9)
    broker.driver.directory_failed(first)
    assert broker.beat(fenced=False).offline_log_dirs == []
    assert not broker.driver.has_told(first)
    broker.loop.advance(0)
    assert broker.beat(fenced=False).offline_log_dirs == [first]
    assert broker.driver.has_told(first)
    broker.driver.directory_failed(second)
    assert broker.beat(fenced=False).offline_log_dirs == [first, second]
    assert broker.driver.has_told(second)
    broker.loop.advance(2.0)
    assert broker.beat(fenced=False).offline_log_dirs == [first, second]
