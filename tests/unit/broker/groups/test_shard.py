"""A shard carries out what machines want in order, keeps what it acknowledged, and answers everybody once."""

from __future__ import annotations

from uuid import UUID

import pytest

from odradek.broker.coordinator import writer
from odradek.broker.coordinator.effects import OperationResult
from odradek.broker.coordinator.operations import RequestFailed
from odradek.broker.coordinator.partition import CoordinatorState
from odradek.broker.coordinator.writer import OpenTransaction
from odradek.broker.groups.administration import delete_group, expire, remove_most_offsets, remove_offsets
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import (
    ClassicGroupLimits,
    CommitRequest,
    JoinRequest,
    JoinResult,
    SupportedProtocol,
    SyncRequest,
    SyncResult,
)
from odradek.broker.groups.commits import check_commit
from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, encode_commit, record_type
from odradek.broker.groups.shard import OFFSETS_PER_SLICE
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import iter_batches, read_header
from odradek.protocol.records.building import BatchFields
from tests.support.log_lines import LogLines
from tests.support.logs import a_batch
from tests.unit.broker.groups.shard_world import World
from tests.unit.broker.metadata.support import image_of, topic_records

DAY_MS = 24 * 3600 * 1000


def join_request(member_id: str = "", version: int = 3, protocol_type: str = "consumer") -> JoinRequest:
    return JoinRequest(
        member_id, None, "c", "/h", 10_000, 20_000, protocol_type, (SupportedProtocol("range", b""),), version, "uuid"
    )


def now_or_later(answer: OperationResult | Deferred[OperationResult]) -> list[OperationResult]:
    """Return the list that the answer is in, or will be."""
    found: list[OperationResult] = []
    if isinstance(answer, Deferred):
        answer.on_done(found.append)
    else:
        found.append(answer)
    return found


def form_group(world: World, name: str = "g") -> tuple[ClassicGroup, str]:
    """Make a stable group of one member, and return it with the member's id."""
    group = world.shard.classic_group(name, world.clock.now_ms())
    assert isinstance(group, ClassicGroup)
    joined = now_or_later(world.shard.ask(group, lambda token: group.join(join_request(), token, world.clock.now_ms())))
    world.scheduler.advance(3)
    (result,) = joined
    assert isinstance(result, JoinResult)
    sync = SyncRequest(result.member_id, None, result.generation, None, None, {result.member_id: b"mine"})
    (synced,) = now_or_later(world.shard.ask(group, lambda token: group.sync(sync, token)))
    assert isinstance(synced, SyncResult)
    assert synced.assignment == b"mine"
    return group, result.member_id


def test_a_group_and_its_offsets_come_back_after_a_restart() -> None:
    """Members, generation, assignment; and the member goes on with a heartbeat."""
    world = World()
    group, member_id = form_group(world)
    world.commit("g", 0, 42)
    before = group.describe()
    world.restart()
    after = world.shard.groups["g"]
    assert isinstance(after, ClassicGroup)
    assert after is not group
    assert after.describe() == before
    assert after.members[member_id].assignment == b"mine"
    found = world.shard.offsets.get("g", "t", 0)
    assert found is not None
    assert found.offset == 42


def test_a_member_that_does_not_come_back_after_a_restart_is_removed() -> None:
    """Its session begins when the log is loaded."""
    world = World()
    form_group(world)
    world.restart()
    world.scheduler.advance(10)
    assert world.shard.groups["g"].describe().state.value == "Empty"  # type: ignore[union-attr]


def test_offsets_alone_make_a_group() -> None:
    """Live and after a restart, until they are gone."""
    world = World()
    assert world.commit("g", 0, 1) is ErrorCode.NONE
    assert "g" in world.shard.groups
    world.restart()
    assert "g" in world.shard.groups
    assert delete_group(world.shard, "g") is ErrorCode.NONE
    assert "g" not in world.shard.groups
    assert not world.shard.offsets.has_offsets("g")
    world.restart()
    assert "g" not in world.shard.groups
    assert delete_group(world.shard, "g") is ErrorCode.GROUP_ID_NOT_FOUND


def test_deleting_a_group_writes_tombstones_for_all_it_had() -> None:
    """Offsets first, the group last, as Kafka does."""
    world = World()
    world.commit("g", 0, 1)
    world.commit("g", 1, 1)
    delete_group(world.shard, "g")
    tombstones = [record.key for record in world.records() if record.value is None]
    assert [record_type(key) for key in tombstones if key] == [1, 1, 2]


def test_a_group_with_members_is_not_deleted() -> None:
    """NON_EMPTY_GROUP."""
    world = World()
    form_group(world)
    assert delete_group(world.shard, "g") is ErrorCode.NON_EMPTY_GROUP


def test_a_group_with_more_offsets_than_fit_one_batch_is_deleted() -> None:
    """In several."""
    world = World()
    value = OffsetAndMetadata(1)
    for start in range(0, 5000, 1000):
        world.shard.write_offsets([encode_commit(OffsetKey("g", "t", start + i), value) for i in range(1000)])
    deleted = delete_group(world.shard, "g")
    assert isinstance(deleted, Deferred)
    assert len(world.shard.offsets) == 5000
    ended: list[ErrorCode] = []
    deleted.on_done(ended.append)
    world.scheduler.advance(0.001)
    assert ended == [ErrorCode.NONE]
    assert "g" not in world.shard.groups
    world.restart()
    assert len(world.shard.offsets) == 0


def test_very_many_offsets_are_deleted_a_few_at_a_time() -> None:
    """Nobody waits for more than some milliseconds."""
    world = World()
    value = OffsetAndMetadata(1)
    world.shard.write_offsets([encode_commit(OffsetKey("g", "t", i), value) for i in range(4 * OFFSETS_PER_SLICE)])
    left = [len(world.shard.offsets)]
    for _ in remove_most_offsets(world.shard, "g"):
        left.append(len(world.shard.offsets))
    assert left == [number * OFFSETS_PER_SLICE for number in (4, 3, 2, 1)]


def test_a_member_that_comes_while_very_many_offsets_are_deleted_keeps_the_group() -> None:
    """NON_EMPTY_GROUP, and the offsets that are left stay."""
    world = World()
    value = OffsetAndMetadata(1)
    world.shard.write_offsets([encode_commit(OffsetKey("g", "t", i), value) for i in range(3 * OFFSETS_PER_SLICE)])
    work = remove_most_offsets(world.shard, "g")
    next(work)
    form_group(world)
    with pytest.raises(StopIteration) as ended:
        next(work)
    assert ended.value.value is ErrorCode.NON_EMPTY_GROUP
    assert 0 < len(world.shard.offsets) < 3 * OFFSETS_PER_SLICE


def test_a_failed_append_changes_nothing_and_is_told() -> None:
    """KAFKA_STORAGE_ERROR becomes NOT_COORDINATOR, and the store has what the log has."""
    world = World()
    world.commit("g", 0, 1)

    world.files.fail("write", times=3)
    assert world.commit("g", 0, 2) is ErrorCode.NOT_COORDINATOR
    found = world.shard.offsets.get("g", "t", 0)
    assert found is not None
    assert found.offset == 1
    assert delete_group(world.shard, "g") is ErrorCode.NOT_COORDINATOR
    assert "g" in world.shard.groups
    group = world.shard.classic_group("new", world.clock.now_ms())
    now = world.clock.now_ms()
    (answer,) = now_or_later(world.shard.ask(group, lambda token: group.join(join_request(), token, now)))
    assert answer.error is ErrorCode.NOT_COORDINATOR
    assert "new" not in world.shard.groups


def test_a_disk_that_fails_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with every heartbeat; and again when it fails again."""
    logged = LogLines()
    monkeypatch.setattr(writer, "log", logged)
    world = World()
    for times in (1, 2):
        world.files.fail("write", times=3)
        for _ in range(3):
            assert world.commit("g", 0, 1) is ErrorCode.NOT_COORDINATOR
        assert len(logged.lines) == times
        assert world.commit("g", 0, 1) is ErrorCode.NONE
    assert "Input/output error" in str(logged.lines[0].fields["reason"])


def test_a_batch_larger_than_the_topic_allows_is_refused() -> None:
    """With the code that Kafka gives."""
    world = World()
    text = "m" * 4000
    value = OffsetAndMetadata(1, 0, text)
    result = world.shard.write_offsets([encode_commit(OffsetKey("g", "t", i), value) for i in range(300)])
    assert result is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not world.shard.offsets.has_offsets("g")


def test_nothing_is_acknowledged_before_it_is_on_the_disk() -> None:
    """With flush.messages=1 on the topic, commits and members wait for the fsync."""
    world = World(flush_messages=1)
    result = world.commit("g", 0, 1)
    assert isinstance(result, Deferred)
    told: list[ErrorCode] = []
    result.on_done(told.append)
    assert told == []
    world.flusher.flush()
    assert told == [ErrorCode.NONE]


def later(outcome: object) -> list[object]:
    """Return where the outcome of something will be, which is not there yet."""
    assert isinstance(outcome, Deferred)
    told: list[object] = []
    outcome.on_done(told.append)
    return told


def test_nothing_is_deleted_before_that_is_on_the_disk() -> None:
    """Neither a group nor an offset: a power cut must not bring back what was said to be gone."""
    world = World(flush_messages=1)
    for group in ("g", "h"):
        world.commit(group, 0, 1)
    world.flusher.flush()
    deleted = later(delete_group(world.shard, "g"))
    removed = later(remove_offsets(world.shard, "h", [("t", 0)]))
    assert (deleted, removed) == ([], [])
    world.flusher.flush()
    assert (deleted, removed) == ([ErrorCode.NONE], [{("t", 0): ErrorCode.NONE}])


def test_deletions_that_do_not_become_safe_are_told() -> None:
    """With the coordinator's error, as a commit is."""
    world = World(flush_messages=1)
    for group in ("g", "h"):
        world.commit(group, 0, 1)
    world.flusher.flush()
    deleted = later(delete_group(world.shard, "g"))
    removed = later(remove_offsets(world.shard, "h", [("t", 0)]))
    world.partition.flush_failed()
    assert deleted == removed == [ErrorCode.NOT_COORDINATOR]


def test_offsets_are_visible_when_they_are_on_the_disk() -> None:
    """Who asks for the newest can wait for it."""
    world = World(flush_messages=1)
    world.commit("g", 0, 1)
    world.flusher.flush()
    world.commit("g", 0, 2)
    found = world.shard.visible.get("g", "t", 0)
    assert found is not None
    assert found.offset == 1
    told = later(world.shard.when_all_safe())
    world.flusher.flush()
    assert told == [ErrorCode.NONE]
    found = world.shard.visible.get("g", "t", 0)
    assert found is not None
    assert found.offset == 2
    assert world.shard.when_all_safe() is ErrorCode.NONE


def in_transaction(world: World, partition: int, offset: int, producer_id: int = 7) -> ErrorCode | Deferred[ErrorCode]:
    """Write an offset of group g in the open transaction of a producer, which was verified."""
    fields = BatchFields(producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
    header = read_header(a_batch((b"x",), 0, fields))
    guard = world.log.producers.start_verification(header, False, world.clock.now_ms())
    commit = encode_commit(OffsetKey("g", "t", partition), OffsetAndMetadata(offset))
    return world.shard.write_transactional_offsets([commit], OpenTransaction(producer_id, 0, guard))


def shown(world: World, partition: int = 0) -> int | None:
    found = world.shard.visible.get("g", "t", partition)
    return None if found is None else found.offset


@pytest.mark.parametrize("committed", [True, False])
def test_offsets_of_a_transaction_count_when_its_marker_is_written(committed: bool) -> None:
    """Or never, if it was aborted; live and after a restart alike, as long as it is open, too."""
    world = World()
    world.commit("g", 0, 1)
    for partition in (0, 1):
        assert in_transaction(world, partition, 5) is ErrorCode.NONE
    for _ in range(2):
        assert (shown(world), shown(world, 1)) == (1, None)
        assert world.shard.offsets.is_pending("g", "t", 0)
        world.restart()
    assert world.shard.write_marker(TransactionMarker(7, 0, 0, committed, 0)) is ErrorCode.NONE
    for _ in range(2):
        assert (shown(world), shown(world, 1)) == ((5, 5) if committed else (1, None))
        assert not world.shard.offsets.is_pending("g", "t", 0)
        world.restart()


def test_offsets_of_a_transaction_are_shown_when_its_marker_is_safe() -> None:
    """Not before: it may be lost yet. Who wants the newest waits for it."""
    world = World(flush_messages=1)
    world.commit("g", 0, 1)
    in_transaction(world, 0, 5)
    world.flusher.flush()
    written = later(world.shard.write_marker(TransactionMarker(7, 0, 0, True, 0)))
    stable = later(world.shard.when_all_safe())
    assert (written, stable, shown(world)) == ([], [], 1)
    world.flusher.flush()
    assert (written, stable, shown(world)) == ([ErrorCode.NONE], [ErrorCode.NONE], 5)


def test_a_batch_of_a_transaction_is_one_as_kafka_writes_it() -> None:
    """With the producer's id and epoch and sequence 0; the marker is a control batch. An unverified one is refused."""
    world = World()
    commit = encode_commit(OffsetKey("g", "t", 0), OffsetAndMetadata(5))
    refused = world.shard.write_transactional_offsets([commit], OpenTransaction(7, 0, None))
    assert refused is ErrorCode.INVALID_TXN_STATE
    in_transaction(world, 0, 5)
    world.shard.write_marker(TransactionMarker(7, 0, 3, True, 0))
    [segment] = world.log.segments
    headers = [header for _, header in iter_batches(segment.file.pread(segment.size, 0))]
    assert [(each.producer_id, each.producer_epoch, each.base_sequence) for each in headers] == [(7, 0, 0), (7, 0, -1)]
    assert [(each.is_transactional, each.is_control) for each in headers] == [(True, False), (True, True)]


def test_a_marker_of_an_older_epoch_or_coordinator_changes_nothing() -> None:
    """The transaction goes on."""
    world = World()
    in_transaction(world, 0, 5)
    assert world.shard.write_marker(TransactionMarker(7, -1, 0, True, 0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    world.shard.write_marker(TransactionMarker(8, 0, 4, True, 0))
    assert world.shard.write_marker(TransactionMarker(8, 0, 3, True, 0)) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert world.shard.offsets.is_pending("g", "t", 0)


def test_a_write_that_never_becomes_safe_is_told_in_time() -> None:
    """offsets.commit.timeout.ms."""
    world = World(flush_messages=1)
    result = world.commit("g", 0, 1)
    assert isinstance(result, Deferred)
    told: list[ErrorCode] = []
    result.on_done(told.append)
    world.scheduler.advance(5)
    assert told == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    world.flusher.flush()
    assert len(told) == 1


def test_who_waits_when_the_shard_closes_is_answered() -> None:
    """NOT_COORDINATOR, once, and no timer is left."""
    world = World()
    group = world.shard.classic_group("g", world.clock.now_ms())
    assert isinstance(group, ClassicGroup)
    now = world.clock.now_ms()
    answers = now_or_later(world.shard.ask(group, lambda token: group.join(join_request(), token, now)))
    assert answers == []
    world.host.close()
    assert [answer.error for answer in answers] == [ErrorCode.NOT_COORDINATOR]
    assert world.scheduler.pending == 0
    assert world.host.state is CoordinatorState.CLOSED


def test_who_has_gone_is_not_answered() -> None:
    """A cancelled place takes nothing, and the group goes on."""
    world = World()
    group = world.shard.classic_group("g", world.clock.now_ms())
    assert isinstance(group, ClassicGroup)
    now = world.clock.now_ms()
    answer = world.shard.ask(group, lambda token: group.join(join_request(), token, now))
    assert isinstance(answer, Deferred)
    answers = now_or_later(answer)
    answer.cancel()
    world.scheduler.advance(4)
    assert answers == []
    assert group.generation == 1


def test_commits_of_strangers() -> None:
    """What each is told."""
    world = World()
    stranger = CommitRequest("m", None, 3)
    for version, code in ((9, ErrorCode.GROUP_ID_NOT_FOUND), (8, ErrorCode.ILLEGAL_GENERATION)):
        with pytest.raises(KafkaError) as caught:
            check_commit(world.shard, "none", stranger, version)
        assert caught.value.code is code
    rule = check_commit(world.shard, "none", CommitRequest("", None, -1), 9)
    assert rule.error_of(None, 0) is ErrorCode.NONE
    form_group(world)
    with pytest.raises(KafkaError) as caught:
        check_commit(world.shard, "g", stranger, 9)
    assert caught.value.code is ErrorCode.UNKNOWN_MEMBER_ID


def expire_all(world: World, days: int = 7) -> None:
    for _ in expire(world.shard, days * DAY_MS):
        pass


def test_offsets_without_a_group_expire_by_their_age() -> None:
    """And the group with the last of them."""
    world = World()
    world.commit("g", 0, 1)
    world.clock.advance(4 * 24 * 3600)
    world.commit("g", 1, 1)
    world.clock.advance(3 * 24 * 3600)
    expire_all(world)
    assert world.shard.offsets.get("g", "t", 0) is None
    assert world.shard.offsets.get("g", "t", 1) is not None
    world.clock.advance(4 * 24 * 3600)
    expire_all(world)
    assert "g" not in world.shard.groups
    world.restart()
    assert "g" not in world.shard.groups


def test_offsets_of_a_group_that_lost_its_members_expire_by_the_time_since_then() -> None:
    """Not by their own age; a group with members whose subscription is not known keeps all."""
    world = World()
    form_group(world)
    world.commit("g", 0, 1)
    world.clock.advance(8 * 24 * 3600)
    expire_all(world)
    assert world.shard.offsets.get("g", "t", 0) is not None  # the member is still there
    world.scheduler.advance(60)
    assert world.shard.groups["g"].describe().state.value == "Empty"  # type: ignore[union-attr]
    expire_all(world)
    assert world.shard.offsets.get("g", "t", 0) is not None
    world.clock.advance(7 * 24 * 3600)
    expire_all(world)
    assert "g" not in world.shard.groups


def test_an_offset_with_a_time_of_its_own_expires_then() -> None:
    """OffsetCommit 2 to 4 may say how long."""
    world = World()
    value = OffsetAndMetadata(1, 0, "", world.clock.now_ms(), world.clock.now_ms() + 5000)
    world.shard.write_offsets([encode_commit(OffsetKey("g", "t", 0), value)])
    expire_all(world)
    assert world.shard.offsets.has_offsets("g")
    world.clock.advance(5)
    expire_all(world)
    assert not world.shard.offsets.has_offsets("g")


def test_removing_offsets() -> None:
    """Of topics that nobody reads; the rest is refused one by one."""
    world = World()
    assert remove_offsets(world.shard, "g", [("t", 0)]) is ErrorCode.GROUP_ID_NOT_FOUND
    world.commit("g", 0, 1)
    assert remove_offsets(world.shard, "g", [("t", 0), ("t", 1)]) == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.NONE,
    }
    assert world.shard.offsets.get("g", "t", 0) is None
    form_group(world)
    world.commit("g", 0, 1)
    assert remove_offsets(world.shard, "g", [("t", 0)]) == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


def test_a_deleted_topic_takes_its_offsets_with_it() -> None:
    """Of all groups, also those of a shard that is still loading, and for good."""
    world = World()
    world.commit("g", 0, 1)
    world.commit("h", 0, 1)
    world.commit("g", 0, 1, topic="other")
    for _ in world.shard.remove_topics(frozenset(["t"])):
        pass
    assert len(world.shard.offsets) == 1
    world.restart()
    assert len(world.shard.offsets) == 1


def test_offsets_in_a_deleted_topic_go_a_few_at_a_time_and_those_in_a_new_one_stay() -> None:
    """Whoever commits for a topic that was made again meanwhile has committed for that."""
    world = World()
    old, new = UUID(int=1), UUID(int=2)
    count = 2 * OFFSETS_PER_SLICE
    value = OffsetAndMetadata(1, topic_id=old)
    world.shard.write_offsets([encode_commit(OffsetKey("g", "t", i), value) for i in range(count)])
    work = world.shard.remove_topics(frozenset(["t"]))
    next(work)
    assert len(world.shard.offsets) == count - OFFSETS_PER_SLICE
    world.image = image_of(topic_records("t", new, count))
    world.shard.write_offsets([encode_commit(OffsetKey("g", "t", count - 1), OffsetAndMetadata(5, topic_id=new))])
    for _ in work:
        pass
    assert world.shard.offsets.keys_of("g") == [OffsetKey("g", "t", count - 1)]


def test_an_empty_group_gives_way_to_one_of_the_other_kind() -> None:
    """Its offsets stay; one with members does not."""
    world = World()
    world.commit("g", 0, 1)
    assert world.shard.consumer_group("g", create=False) is None
    assert world.shard.consumer_group("g", create=True) is not None
    assert world.shard.offsets.has_offsets("g")
    form_group(world, "h")
    assert world.shard.consumer_group("h", create=True) is not world.shard.groups["h"]


def test_a_group_that_became_too_large_shrinks() -> None:
    """group.max.size was lowered: the members join again."""
    world = World()
    form_group(world)
    world.limits = ClassicGroupLimits(max_size=0)
    world.restart()
    assert world.shard.groups["g"].describe().state.value == "PreparingRebalance"  # type: ignore[union-attr]


def test_failed_answers_say_why() -> None:
    """They have nothing else."""
    assert RequestFailed(ErrorCode.NOT_COORDINATOR).error is ErrorCode.NOT_COORDINATOR
