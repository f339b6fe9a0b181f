"""An observer and the leader that it follows: whatever befalls either, it ends with the leader's image."""

from copy import deepcopy
from random import Random
from uuid import UUID

import pytest

from odradek.broker.metadata.errors import MetadataError
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.opening import MetadataOptions
from odradek.broker.metadata.quorum_state import read_quorum_state
from odradek.broker.metadata.snapshot_writing import SnapshotSchedule
from odradek.broker.nodes.requests import Disconnected, NodeAddress
from odradek.broker.raft.fetch import MetadataFetchHandler
from odradek.broker.raft.fetch_snapshot import SnapshotFetchHandler
from odradek.broker.raft.metadata_copy import MetadataCopy
from odradek.broker.raft.observer import MetadataObserver, ObserverSettings
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import InPlace
from odradek.config.topic import kafka_defaults
from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from tests.support.clock import ManualClock
from tests.support.deferred import now
from tests.support.manual_loop import ManualLoop
from tests.support.memory_files import MemoryFiles
from tests.support.memory_network import Answer, MemoryConnector
from tests.unit.broker.raft.support import CLUSTER, NODE, add_topic, context, leader_of, new_files, open_leading

LEADER = NodeAddress("c.example", 9093)
BOOTSTRAP = NodeAddress("192.0.2.9", 9093)


class Leader:
    """A controller that answers over a network in memory, as the bytes it would send."""

    def __init__(self, files: MemoryFiles | None = None, snapshots: SnapshotSchedule | None = None) -> None:
        self.files = files or new_files()
        self.log: MetadataLog = open_leading(self.files, snapshots)
        self.loop = ManualLoop()
        view = leader_of(self.log)
        self._fetch = MetadataFetchHandler(self.loop, self.log, view, InPlace(), ManualClock())
        self._snapshots = SnapshotFetchHandler(self.log, view, InPlace())

    def answer(self, _address: NodeAddress, request: Message) -> Answer:
        """Answer at once, also who would wait at the end of the log."""
        if isinstance(request, FetchRequest):
            outcome = self._fetch.fetch(context(18), request)
            if isinstance(outcome, Deferred):
                told: list[FetchResponse] = []
                outcome.on_done(told.append)
                self.loop.advance(1)
                return told[0]
            return decode(FetchResponse, encode(outcome, 18), 18)[0]
        assert isinstance(request, FetchSnapshotRequest)
        return decode(FetchSnapshotResponse, encode(now(self._snapshots.fetch_snapshot(context(1), request)), 1), 1)[0]


class Follower:
    """An observer with its files, its network and its time."""

    def __init__(self, files: MemoryFiles | None = None, *, clean: bool = False) -> None:
        """`clean`: the marker of a clean stop is there."""
        self.files = files or new_files()
        self.loop = ManualLoop()
        self.network = MemoryConnector()
        options = MetadataOptions(1, kafka_defaults(), clean=clean)
        self.copy = MetadataCopy(self.files, "/data/__cluster_metadata-0", options, ManualClock())
        settings = ObserverSettings(1, UUID(int=7), CLUSTER, {}, [BOOTSTRAP], snapshot_max_bytes=100)
        self.observer = MetadataObserver(self.loop, InPlace(), Random(1), self.network, self.copy, settings)
        self.seen: list[tuple[MetadataImage, MetadataImage, ImageDelta]] = []
        self.observer.watch(lambda *change: self.seen.append(change))
        self.first: list[MetadataError | None] = []
        self.observer.first_image.on_done(self.first.append)
        self.observer.start()

    def follow(self, leader: Leader, rounds: int = 40) -> None:
        """Let the two talk for a while."""
        for _ in range(rounds):
            self.network.serve(leader.answer)
            self.loop.advance(0.02)

    def restart(self) -> "Follower":
        """Stop, and start again on the same files."""
        assert self.observer.stop() is None
        self.copy.close()
        return Follower(self.files)


def assert_same(follower: Follower, leader: Leader) -> None:
    ours, theirs = follower.observer.image, leader.log.image
    assert ours.topics_by_id == theirs.topics_by_id
    assert (ours.features, ours.configs, ours.next_producer_id) == (
        theirs.features,
        theirs.configs,
        theirs.next_producer_id,
    )


def test_a_new_observer_takes_everything_over_and_then_each_change() -> None:
    """It finds the leader through a bootstrap server, and notes epoch and leader on the disk before it acts on them."""
    leader, follower = Leader(), Follower()
    add_topic(leader.log, 1)
    follower.follow(leader)
    assert_same(follower, leader)
    assert follower.first == [None]
    assert (follower.observer.leader, follower.observer.leader_id) == (LEADER, NODE)
    state = read_quorum_state(follower.files, "/data/__cluster_metadata-0")
    assert (state.leader_id, state.leader_epoch) == (NODE, leader.log.epoch)
    add_topic(leader.log, 2)
    follower.follow(leader)
    assert_same(follower, leader)
    assert [topic.name for topic in follower.seen[-1][2].created_topics] == ["t2"]


def test_after_a_restart_nothing_is_seen_before_the_leader_says_how_far_it_may_be() -> None:
    """The high watermark is not on the disk; what is in the log may still be replaced."""
    leader, follower = Leader(), Follower()
    add_topic(leader.log, 1)
    follower.follow(leader)
    follower = follower.restart()
    assert follower.observer.image == MetadataImage()
    assert follower.copy.end_offset == leader.log.end_offset
    follower.follow(leader)
    assert_same(follower, leader)
    assert [topic.name for topic in follower.seen[0][2].created_topics] == ["t1"]


def test_a_snapshot_stands_for_what_the_leader_has_no_more() -> None:
    """It comes in pieces; watchers are told of the difference, and the log goes on behind it."""
    leader, follower = Leader(snapshots=SnapshotSchedule(max_bytes=1)), Follower()
    for number in range(3):
        add_topic(leader.log, number)
    follower.follow(leader, 80)
    assert_same(follower, leader)
    add_topic(leader.log, 9)
    follower.follow(leader, 80)
    assert_same(follower, leader)
    follower = follower.restart()
    follower.follow(leader)
    assert_same(follower, leader)


def test_what_the_leader_of_a_new_epoch_does_not_have_is_cut() -> None:
    """A tail that only this node got: here, of a controller whose disk forgot it."""
    files = new_files()
    leader = Leader(files)
    add_topic(leader.log, 1)
    kept = deepcopy(files)
    add_topic(leader.log, 2)
    follower = Follower()
    follower.follow(leader)
    follower = follower.restart()
    other = Leader(kept)
    add_topic(other.log, 3)
    follower.follow(other)
    assert_same(follower, other)


def test_a_leader_that_is_gone_is_looked_for_at_every_address_and_found_again() -> None:
    """Nothing ends the search; what is known goes on being served meanwhile."""
    leader, follower = Leader(), Follower()
    follower.follow(leader)
    image = follower.observer.image
    asked = set()

    def gone(address: NodeAddress, _request: Message) -> Answer:
        asked.add(address)
        return Disconnected("gone")

    for _ in range(200):
        follower.network.serve(gone)
        follower.loop.advance(0.1)
    assert asked == {LEADER, BOOTSTRAP}
    assert follower.observer.image is image
    add_topic(leader.log, 5)
    for _ in range(20):
        follower.network.serve(leader.answer)
        follower.loop.advance(0.5)
    assert_same(follower, leader)


def test_controllers_of_another_cluster_are_named_in_a_sentence() -> None:
    """Whoever starts is told at once, and is not left waiting."""
    follower = Follower()
    other = ErrorCode.INCONSISTENT_CLUSTER_ID
    follower.network.serve(lambda _address, _request: FetchResponse(error_code=other))
    assert "another cluster" in str(follower.first[0])


def test_a_damaged_batch_is_asked_for_again() -> None:
    """What a network did to the bytes never gets into the image."""
    leader, follower = Leader(), Follower()
    add_topic(leader.log, 1)
    damaged = 0

    def damage(address: NodeAddress, request: Message) -> Answer:
        nonlocal damaged
        answer = leader.answer(address, request)
        assert isinstance(answer, FetchResponse)
        records = answer.responses[0].partitions[0].records
        if records and not damaged:
            damaged += 1
            broken = bytearray(bytes(records))
            broken[-1] ^= 1
            answer.responses[0].partitions[0].records = bytes(broken)
        return answer

    for _ in range(100):
        follower.network.serve(damage)
        follower.loop.advance(0.1)
    assert damaged == 1
    assert_same(follower, leader)


def test_a_directory_that_decided_itself_is_refused() -> None:
    """Its metadata has offsets and epochs of its own, which no controller elsewhere knows."""
    files = new_files()
    open_leading(files)
    with pytest.raises(MetadataError, match="decided by this node"):
        MetadataCopy(files, "/data/__cluster_metadata-0", MetadataOptions(NODE, kafka_defaults()), ManualClock())


def test_a_copy_that_a_power_failure_damaged_is_fetched_again_and_the_epoch_kept() -> None:
    """An observer does not sync its log, so there may be holes in it: the controllers have all of it."""
    leader, follower = Leader(), Follower()
    for number in range(5):
        add_topic(leader.log, number)
        follower.follow(leader)
    assert follower.observer.stop() is None
    follower.copy.close()
    path = "/data/__cluster_metadata-0/00000000000000000000.log"
    half = len(follower.files.read_bytes(path)) // 2
    follower.files.open(path).pwrite(bytes(20), half)
    follower = Follower(follower.files)
    assert follower.copy.end_offset == 0
    assert follower.copy.state.leader_epoch == leader.log.epoch
    follower.follow(leader)
    assert follower.first == [None]
    assert_same(follower, leader)


def test_a_torn_copy_is_cut_though_the_last_stop_was_clean() -> None:
    """The copy goes on while a broker waits to be registered, and the marker stays until then; power may fail."""
    leader, follower = Leader(), Follower()
    for number in range(3):
        add_topic(leader.log, number)
        follower.follow(leader)
    assert follower.observer.stop() is None
    follower.copy.close()
    path = "/data/__cluster_metadata-0/00000000000000000000.log"
    content = follower.files.read_bytes(path)
    follower.files.write_bytes(path, content[:-5] + bytes(5))
    follower = Follower(follower.files, clean=True)
    assert 0 < follower.copy.end_offset < leader.log.end_offset
    follower.follow(leader)
    assert_same(follower, leader)
