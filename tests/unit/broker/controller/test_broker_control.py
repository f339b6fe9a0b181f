"""The life of brokers in a cluster: registered, caught up, unfenced, silent, stopping."""

from uuid import UUID

import pytest

from odradek.broker.controller.broker_control import BrokerControl
from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import registered_brokers
from odradek.broker.controller.topics import PlacementRules
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.protocol.messages.broker_registration import BrokerRegistrationResponse
from odradek.protocol.messages.metadata_records import BrokerRegistrationChangeRecord, FeatureLevelRecord
from tests.support.deferred import now
from tests.unit.broker.controller.cluster import (
    NO_LEADER,
    broker,
    change,
    cluster,
    directory_of,
    fenced,
    messages_of,
    partition,
    state_of,
)
from tests.unit.broker.controller.test_registration import asked as registration
from tests.unit.broker.metadata.support import MemorySource

SESSION_MS = 9000
FAR = 10**9


class Brokers:
    """A controller of brokers that has begun to lead at time 0."""

    def __init__(self, image: MetadataImage) -> None:
        self.source = MemorySource(image)
        configs = BrokerConfigs(self.source, 9, {})
        self.controller = Controller(self.source, PlacementRules(), configs, registered_brokers)
        self.control = BrokerControl(self.controller, "cluster", SESSION_MS)
        self.control.begin(0)

    def register(self, broker_id: int, now_ms: int = 0, **changed: object) -> BrokerRegistrationResponse:
        """Register a broker."""
        return now(self.control.register(registration(broker_id, **changed), now_ms))

    def beat(self, broker_id: int, now_ms: int = 0, offset: int = FAR, **changed: object) -> BrokerHeartbeatResponse:
        """Send a heartbeat with the right epoch."""
        known = self.source.image.brokers.get(broker_id)
        request = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=known.epoch if known else 0, current_metadata_offset=offset
        )
        for name, value in changed.items():
            setattr(request, name, value)
        return now(self.control.heartbeat(request, now_ms))

    @property
    def last(self) -> list[object]:
        """What was written last."""
        return messages_of(self.source.batches[-1])


def fencing(broker_id: int, fenced: int) -> BrokerRegistrationChangeRecord:
    """Return the record that fences (1) or unfences (-1) a broker."""
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_id * 100, fenced=fenced)


def test_broker_is_unfenced_once_it_has_seen_its_registration() -> None:
    """Before it would serve metadata of before it was there."""
    brokers = Brokers(cluster())
    at = brokers.source.image.offset
    assert brokers.register(4).broker_epoch == at
    early = brokers.beat(4, offset=at - 1)
    assert (early.error_code, early.is_caught_up, early.is_fenced) == (0, False, True)
    wants_fence = brokers.beat(4, offset=at, want_fence=True)
    assert (wants_fence.is_caught_up, wants_fence.is_fenced) == (True, True)
    ready = brokers.beat(4, offset=at)
    assert (ready.is_caught_up, ready.is_fenced, ready.should_shut_down) == (True, False, False)
    assert not brokers.source.image.brokers[4].fenced


def test_registration_again_has_to_be_seen_again() -> None:
    """The epoch stays, and what counts is the new record."""
    brokers = Brokers(cluster(fenced(2)))
    incarnation = brokers.source.image.brokers[2].incarnation_id
    at = brokers.source.image.offset
    assert brokers.register(2, incarnation_id=incarnation).broker_epoch == 200
    assert not brokers.beat(2, offset=at - 1).is_caught_up
    assert brokers.beat(2, offset=at).is_caught_up


def test_refused_registration_has_kafkas_code_and_changes_nothing() -> None:
    """The broker is told, once, and nothing is written."""
    brokers = Brokers(cluster())
    assert brokers.register(4, cluster_id="other").error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert brokers.source.batches == []


@pytest.mark.parametrize(
    ("at_ms", "code"), [(SESSION_MS, ErrorCode.DUPLICATE_BROKER_REGISTRATION), (9001, ErrorCode.NONE)]
)
def test_id_is_taken_for_one_session(at_ms: int, code: ErrorCode) -> None:
    """A broker that was killed comes back once its old session is over."""
    brokers = Brokers(cluster())
    brokers.beat(2, 0)
    assert brokers.register(2, at_ms).error_code == code


def test_registration_without_a_heartbeat_holds_nothing() -> None:
    """Until its first heartbeat another process may take the id."""
    brokers = Brokers(cluster())
    brokers.register(4, 0)
    assert brokers.register(4, 1, incarnation_id=UUID(int=5)).error_code == ErrorCode.NONE


@pytest.mark.parametrize(("broker_id", "epoch"), [(2, 199), (7, 700)])
def test_heartbeat_of_another_epoch_is_stale(broker_id: int, epoch: int) -> None:
    """It has been registered anew, or forgotten."""
    response = Brokers(cluster()).beat(broker_id, broker_epoch=epoch)
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_broker_that_only_lives_costs_no_record() -> None:
    """Thousands of heartbeats do not grow the log."""
    brokers = Brokers(cluster(partition([1, 2])))
    assert not brokers.beat(1, 1000).is_fenced
    assert brokers.source.batches == []


def test_unfenced_broker_leads_what_nobody_led() -> None:
    """The records are the broker's and then its partitions'."""
    brokers = Brokers(cluster(partition([2], leader=NO_LEADER), fenced(2)))
    brokers.beat(2)
    assert brokers.last == [fencing(2, -1), change(leader=2)]


def test_broker_that_changes_its_mind_about_stopping_serves_again() -> None:
    """As for Kafka's controller: once it is fenced its wish is fulfilled, and its next heartbeat may be another one."""
    brokers = Brokers(cluster(partition([1, 2]), partition([1], number=1)))
    for one in (2, 3):
        brokers.beat(one)
    brokers.beat(1, want_shut_down=True)
    assert brokers.beat(1, want_shut_down=True).should_shut_down
    changed = brokers.beat(1)
    assert (changed.should_shut_down, changed.is_fenced) == (False, False)
    assert brokers.last == [fencing(1, -1), change(number=1, leader=1)]
    assert not brokers.beat(1).should_shut_down


def test_silent_broker_is_fenced_after_its_session() -> None:
    """Others lead what it led, in one batch; the longest silent first, each in a batch of its own."""
    brokers = Brokers(cluster(partition([1, 2, 3])))
    for one, at in ((1, 2000), (2, 1000), (3, 9000)):
        brokers.beat(one, at)
    brokers.control.tick(10_000)
    assert brokers.source.batches == []
    brokers.control.tick(11_001)
    assert [messages_of(batch) for batch in brokers.source.batches] == [
        [change(isr=[1, 3]), fencing(2, 1)],
        [change(isr=[3], leader=3), fencing(1, 1)],
    ]
    brokers.control.tick(11_002)
    assert len(brokers.source.batches) == 2


def test_silent_broker_is_fenced_though_it_has_registered_again() -> None:
    """The same process, still unfenced: its session is the one that its last heartbeat began."""
    brokers = Brokers(cluster(partition([1, 2])))
    incarnation = brokers.source.image.brokers[2].incarnation_id
    for one in (1, 2, 3):
        brokers.beat(one, 1000)
    assert brokers.register(2, 2000, incarnation_id=incarnation).error_code == 0
    assert brokers.register(2, 3000).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    for one in (1, 3):
        brokers.beat(one, 9000)
    brokers.control.tick(10_001)
    assert brokers.last == [change(isr=[1]), fencing(2, 1)]


def test_brokers_have_a_whole_session_after_a_change_of_controllers() -> None:
    """What the one before knew of them is lost."""
    brokers = Brokers(cluster())
    brokers.control.begin(50_000)
    brokers.control.tick(59_000)
    assert brokers.source.batches == []
    brokers.control.tick(59_001)
    assert len(brokers.source.batches) == 3


def test_broker_that_ended_with_its_controller_registers_at_once() -> None:
    """Both are one process, so nobody else has the id; the other brokers keep theirs for a session."""
    brokers = Brokers(cluster())
    brokers.control.begin(50_000, own_broker=1)
    assert brokers.register(1, 50_001).error_code == 0
    assert brokers.register(2, 50_001).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_fencing_that_cannot_be_stored_is_tried_again() -> None:
    """A full disk must not leave a dead broker in charge for ever."""
    brokers = Brokers(cluster(brokers=[1]))
    brokers.source.fail_with = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "full")
    brokers.control.tick(9001)
    brokers.source.fail_with = None
    brokers.control.tick(9002)
    assert brokers.last == [fencing(1, 1)]


def test_broker_that_leads_nothing_stops_at_once() -> None:
    """It is fenced in the same step."""
    brokers = Brokers(cluster(partition([1, 2])))
    response = brokers.beat(2, want_shut_down=True)
    assert (response.should_shut_down, response.is_fenced) == (True, True)
    assert brokers.last == [change(isr=[1]), fencing(2, 1)]


def test_leader_hands_over_before_it_stops() -> None:
    """It waits until every other broker has followed the metadata so far, then it is fenced."""
    brokers = Brokers(cluster(partition([1, 2])))
    for one in (2, 3):
        brokers.beat(one, 0, offset=1)
    first = brokers.beat(1, 10, want_shut_down=True)
    assert (first.should_shut_down, first.is_fenced) == (False, False)
    stops = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=100, in_controlled_shutdown=1)
    assert brokers.last == [stops, change(isr=[2], leader=2)]
    end = brokers.source.image.offset
    brokers.beat(2, 20, offset=end)
    assert not brokers.beat(1, 30, want_shut_down=True).should_shut_down
    brokers.beat(3, 40, offset=end)
    last = brokers.beat(1, 50, want_shut_down=True)
    assert (last.should_shut_down, last.is_fenced) == (True, True)
    assert brokers.last == [fencing(1, 1)]


def test_fenced_broker_stops_at_once() -> None:
    """There is nothing to hand over."""
    response = Brokers(cluster(fenced(2))).beat(2, want_shut_down=True)
    assert (response.should_shut_down, response.is_fenced) == (True, True)


def test_broker_that_wants_to_be_fenced_is() -> None:
    """As it asks for while it starts; its partitions go to others."""
    brokers = Brokers(cluster(partition([1, 2])))
    assert brokers.beat(1, want_fence=True).is_fenced
    assert state_of(brokers.source.image).leader == 2


def test_failed_directory_takes_its_replicas_out() -> None:
    """Those in other directories of the broker go on; the second time it is told, nothing happens."""
    good, bad = UUID(int=0xD00D), UUID(int=0xBAD)
    two = broker(1, log_dirs=[good, bad])
    image = cluster(
        two,
        partition([1, 2], directories=[bad, directory_of(2)]),
        partition([1, 2], number=1, directories=[good, directory_of(2)]),
    )
    brokers = Brokers(image)
    brokers.beat(1, offline_log_dirs=[bad])
    told = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=100, log_dirs=[good])
    assert brokers.last == [change(isr=[2], leader=2), told]
    brokers.beat(1, offline_log_dirs=[bad])
    assert len(brokers.source.batches) == 1


def test_cordoned_directories_are_recorded_where_the_cluster_knows_of_them() -> None:
    """From metadata.version 30 on (KIP-1066); the first empty list counts, too."""
    brokers = Brokers(cluster())
    brokers.beat(1, cordoned_log_dirs=[])
    assert brokers.source.batches == []
    brokers = Brokers(cluster(FeatureLevelRecord(name="metadata.version", feature_level=30)))
    for cordoned in ([], [], [directory_of(1)]):
        brokers.beat(1, cordoned_log_dirs=cordoned)
    told = [messages_of(batch) for batch in brokers.source.batches]
    assert told == [
        [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=100, cordoned_log_dirs=cordoned)]
        for cordoned in ([], [directory_of(1)])
    ]


def test_heartbeat_with_very_many_failed_directories_looks_at_each_once() -> None:
    """What a broker says of a megabyte of directories takes as long as they are many, not as long as their square."""

    class Counted(UUID):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return super().__eq__(other)

        __hash__ = UUID.__hash__

    own: list[UUID] = [Counted(int=0xD0000 + number) for number in range(1_000)]
    brokers = Brokers(cluster(broker(1, log_dirs=own), partition([1, 2], directories=[own[-1], directory_of(2)])))
    brokers.beat(1, offline_log_dirs=[Counted(int=0xE0000 + number) for number in range(1_000)] + own[500:])
    told = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=100, log_dirs=own[:500])
    assert brokers.last == [change(isr=[2], leader=2), told]
    assert Counted.compared < 20_000
