"""The handlers of groups: forms of old and new versions, and errors where a version has its place for them."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

import pytest

from odradek.broker.controller.topics import NewTopic
from odradek.broker.groups.records import OffsetKey
from odradek.broker.handlers.group_admin import GroupAdminHandlers
from odradek.broker.handlers.group_offsets import MAX_OFFSETS, OffsetCommitHandlers
from odradek.broker.handlers.groups import MOST_PROTOCOLS, GroupHandlers
from odradek.broker.handlers.offset_fetch import OffsetFetchHandler
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.delete_groups import DeleteGroupsRequest
from odradek.protocol.messages.describe_groups import DescribeGroupsRequest
from odradek.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.protocol.messages.list_groups import ListGroupsRequest
from odradek.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from odradek.protocol.registry import encode
from tests.support.clock import ManualClock
from tests.unit.broker.groups.coordinator_world import Cluster, MemoryLogs, RunningBroker
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.metadata.support import SlowSource

T = TypeVar("T")


class Handlers:
    """All of them, on one broker."""

    def __init__(self, broker: RunningBroker) -> None:
        clock = broker.cluster.clock
        self.broker = broker
        self.members = GroupHandlers(broker.coordinator, clock)
        self.admin = GroupAdminHandlers(broker.coordinator)
        self.commits = OffsetCommitHandlers(broker.coordinator, broker.partitions, clock, 10)
        self.fetch = OffsetFetchHandler(broker.coordinator, broker.partitions)

    def commit(
        self, version: int, *partitions: int, topic: str = "t", metadata: str = "", group: str = "g"
    ) -> list[int]:
        """Commit offset 7 in the partitions, and return the error codes."""
        found = self.broker.partitions.find(topic)
        wanted = OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequestPartition(partition_index=i, committed_offset=7, committed_metadata=metadata)
                for i in partitions
            ],
        )
        if found is not None:
            wanted.topic_id = found.topic_id
        answer = self.commits.offset_commit(at(version), OffsetCommitRequest(group_id=group, topics=[wanted]))
        assert isinstance(answer, OffsetCommitResponse)
        encode(answer, version)
        return [partition.error_code for partition in answer.topics[0].partitions]


def now(answer: T | Deferred[T]) -> T:
    """Return an answer that is there at once."""
    assert not isinstance(answer, Deferred)
    return answer


@pytest.fixture
async def handlers() -> AsyncIterator[Handlers]:
    broker = RunningBroker(Cluster.new("t"))
    yield Handlers(broker)
    broker.stop()


def joining(**changes: object) -> JoinGroupRequest:
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    for name, value in changes.items():
        setattr(request, name, value)
    return request


@pytest.mark.parametrize("version", range(10))
async def test_a_join_that_is_refused_has_a_form_in_every_version(handlers: Handlers, version: int) -> None:
    """Without a group id, with a session that is too short, as nobody known."""
    for change, code in (
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        answer = handlers.members.join_group(at(version), joining(**change))
        assert isinstance(answer, JoinGroupResponse)
        assert (answer.error_code, answer.generation_id) == (code, -1)
        assert answer.protocol_name == (None if version >= 7 else "")
        encode(answer, version)


async def test_a_join_waits_without_a_task_and_goes_with_its_connection(handlers: Handlers) -> None:
    """A cancelled one is never answered."""
    answer = handlers.members.join_group(at(3), joining())
    assert isinstance(answer, Deferred)
    found: list[JoinGroupResponse] = []
    answer.on_done(found.append)
    answer.cancel()
    handlers.broker.coordinator.stop()
    assert found == []


async def test_members_of_a_group_that_is_not_there(handlers: Handlers) -> None:
    """UNKNOWN_MEMBER_ID for all they ask, each in its place."""
    for version in range(5):
        beat = handlers.members.heartbeat(at(version), HeartbeatRequest(group_id="g", member_id="m"))
        assert isinstance(beat, HeartbeatResponse)
        assert beat.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    synced = handlers.members.sync_group(at(4), SyncGroupRequest(group_id="g", member_id="m"))
    assert isinstance(synced, SyncGroupResponse)
    assert synced.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    old = handlers.members.leave_group(at(2), LeaveGroupRequest(group_id="g", member_id="m"))
    assert isinstance(old, LeaveGroupResponse)
    assert old.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    new = handlers.members.leave_group(at(3), LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")]))
    assert isinstance(new, LeaveGroupResponse)
    assert new.error_code == ErrorCode.NONE
    assert [member.error_code for member in new.members] == [ErrorCode.UNKNOWN_MEMBER_ID]


async def test_a_sync_must_name_its_protocol_from_version_5_on(handlers: Handlers) -> None:
    """INCONSISTENT_GROUP_PROTOCOL, whatever else is wrong."""
    answer = handlers.members.sync_group(at(5), SyncGroupRequest(group_id="", protocol_type="consumer"))
    assert isinstance(answer, SyncGroupResponse)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", range(11))
async def test_partitions_that_are_not_there_are_refused_one_by_one(handlers: Handlers, version: int) -> None:
    """The others are committed."""
    assert handlers.commit(version, 0, 9, -1) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert handlers.commit(version, 0, topic="none") == [unknown]
    assert handlers.broker.coordinator.shard("g").offsets.get("g", "t", 0) is not None


@pytest.mark.parametrize("version", [0, 1])
async def test_only_the_first_version_waits_for_a_topic_that_nobody_has_asked_for(version: int) -> None:
    """Its clients look for no coordinator; all others are sent to do so."""
    source = SlowSource()
    cluster = Cluster(source, MemoryLogs(), ManualClock())
    handlers = Handlers(RunningBroker(cluster, is_prepared=False))
    handlers.broker.controller.create_topics([NewTopic("t", 1, 1)])
    source.finish()
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    commit = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])])
    fetch = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
    committed = handlers.commits.offset_commit(at(version), commit)
    fetched = handlers.fetch.offset_fetch(at(version), fetch)
    if version:
        assert now(committed).topics[0].partitions[0].error_code is ErrorCode.NOT_COORDINATOR
        assert now(fetched).error_code is ErrorCode.NOT_COORDINATOR
    else:
        assert isinstance(committed, Deferred)
        assert isinstance(fetched, Deferred)
        told: list[OffsetCommitResponse] = []
        committed.on_done(told.append)
        source.finish()
        assert told[0].topics[0].partitions[0].error_code == ErrorCode.NONE
    handlers.broker.stop()


async def test_topics_of_which_no_partition_is_named_are_left_out(handlers: Handlers) -> None:
    """Where they exist; of one that does not, the answer has the name, as Kafka's."""
    names = ("t", "none")
    commit = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name=name) for name in names])
    committed = now(handlers.commits.offset_commit(at(9), commit))
    assert [(topic.name, topic.partitions) for topic in committed.topics] == [("none", [])]
    delete = OffsetDeleteRequest(group_id="g", topics=[OffsetDeleteRequestTopic(name=name) for name in names])
    handlers.commit(9, 0)
    deleted = now(handlers.commits.offset_delete(at(0), delete))
    assert (deleted.error_code, [(topic.name, topic.partitions) for topic in deleted.topics]) == (0, [("none", [])])


@pytest.mark.parametrize(("given", "stored"), [(-1, ManualClock().now_ms()), (5, 5)])
async def test_a_commit_may_say_when_it_was_made(handlers: Handlers, given: int, stored: int) -> None:
    """In version 1, the only one with a time for each partition; -1 is now."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7, commit_timestamp=given)
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    handlers.commits.offset_commit(at(1), OffsetCommitRequest(group_id="g", topics=[topic]))
    committed = handlers.broker.coordinator.shard("g").offsets.get("g", "t", 0)
    assert committed is not None
    assert (committed.commit_timestamp, committed.expire_timestamp) == (stored, -1)


async def test_metadata_is_bounded(handlers: Handlers) -> None:
    """In characters, as Kafka counts it."""
    assert handlers.commit(9, 0, metadata="é" * 10) == [ErrorCode.NONE]
    assert handlers.commit(9, 0, metadata="é" * 11) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]


@pytest.mark.parametrize("version", range(8))
async def test_offsets_of_one_group_are_fetched(handlers: Handlers, version: int) -> None:
    """What is not stored is -1, and no error but in the first version."""
    handlers.commit(8, 0, metadata="m")
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
    answer = now(handlers.fetch.offset_fetch(at(version), OffsetFetchRequest(group_id="g", topics=topics)))
    encode(answer, version)
    found = [(p.partition_index, p.committed_offset, p.metadata, p.error_code) for p in answer.topics[0].partitions]
    assert found == [(0, 7, "m", 0), (1, -1, "", 0 if version else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    if version >= 2:
        everything = now(handlers.fetch.offset_fetch(at(version), OffsetFetchRequest(group_id="g", topics=None)))
        assert [p.partition_index for topic in everything.topics for p in topic.partitions] == [0]


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_group_that_cannot_be_asked_is_an_error_where_the_version_has_it(
    handlers: Handlers, version: int
) -> None:
    """In each partition, before there was a place for it."""
    handlers.broker.coordinator.stop()
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    answer = now(handlers.fetch.offset_fetch(at(version), OffsetFetchRequest(group_id="g", topics=topics)))
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    found = [p.error_code for topic in answer.topics for p in topic.partitions]
    assert found == ([ErrorCode.COORDINATOR_NOT_AVAILABLE] if version < 2 else [])


@pytest.mark.parametrize("version", [8, 9, 10])
async def test_offsets_of_several_groups_are_fetched(handlers: Handlers, version: int) -> None:
    """By name, or by id, of which unknown ones are an error; an offset in an open transaction is unstable if asked."""
    handlers.commit(8, 0)
    topic = handlers.broker.partitions.find("t")
    assert topic is not None
    wanted = OffsetFetchRequestTopics(name="t", topic_id=topic.topic_id, partition_indexes=[0])
    groups = [
        OffsetFetchRequestGroup(group_id="g", topics=[wanted]),
        OffsetFetchRequestGroup(group_id="g", topics=None),
        OffsetFetchRequestGroup(group_id="none", topics=None),
    ]
    answer = now(handlers.fetch.offset_fetch(at(version), OffsetFetchRequest(groups=groups)))
    encode(answer, version)
    offsets = [[p.committed_offset for t in g.topics for p in t.partitions] for g in answer.groups]
    assert offsets == [[7], [7], []]
    store = handlers.broker.coordinator.shard("g").offsets
    store.apply_pending(1, OffsetKey("g", "t", 0), b"", 99)
    stable = now(handlers.fetch.offset_fetch(at(version), OffsetFetchRequest(groups=groups, require_stable=True)))
    codes = [[p.error_code for t in g.topics for p in t.partitions] for g in stable.groups]
    assert codes == [[ErrorCode.UNSTABLE_OFFSET_COMMIT], [ErrorCode.UNSTABLE_OFFSET_COMMIT], []]


async def test_a_topic_id_that_nobody_has_is_an_error(handlers: Handlers) -> None:
    """UNKNOWN_TOPIC_ID, from version 10 on."""
    groups = [OffsetFetchRequestGroup(group_id="g", topics=[OffsetFetchRequestTopics(partition_indexes=[3])])]
    answer = now(handlers.fetch.offset_fetch(at(10), OffsetFetchRequest(groups=groups)))
    (partition,) = answer.groups[0].topics[0].partitions
    assert (partition.committed_offset, partition.error_code) == (-1, ErrorCode.UNKNOWN_TOPIC_ID)


async def test_offsets_are_deleted_one_by_one(handlers: Handlers) -> None:
    """Of partitions that are there; a group that is not is an error."""
    request = OffsetDeleteRequest(
        group_id="g",
        topics=[
            OffsetDeleteRequestTopic(
                name="t", partitions=[OffsetDeleteRequestPartition(partition_index=i) for i in (0, 9)]
            )
        ],
    )
    assert now(handlers.commits.offset_delete(at(0), request)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    handlers.commit(8, 0)
    answer = now(handlers.commits.offset_delete(at(0), request))
    codes = [partition.error_code for partition in answer.topics[0].partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    request.group_id = ""
    assert now(handlers.commits.offset_delete(at(0), request)).error_code == ErrorCode.INVALID_GROUP_ID


async def test_groups_are_described_listed_and_deleted(handlers: Handlers) -> None:
    """And one that is not there is dead, or not found."""
    handlers.commit(8, 0)
    request = DescribeGroupsRequest(groups=["g", "none"], include_authorized_operations=True)
    old = now(handlers.admin.describe_groups(at(5), request))
    assert [(g.group_state, g.error_code, g.authorized_operations) for g in old.groups] == [
        ("Empty", 0, 3400),
        ("Dead", 0, 3400),
    ]
    new = now(handlers.admin.describe_groups(at(6), request))
    assert [(g.group_state, g.error_code) for g in new.groups] == [("Empty", 0), ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)]
    for states, types, expected in (
        ([], [], ["g"]),
        (["EMPTY"], ["Classic"], ["g"]),
        (["Stable"], [], []),
        ([], ["consumer"], []),
        (["Foo"], ["bar"], []),
    ):
        listed = now(handlers.admin.list_groups(at(5), ListGroupsRequest(states_filter=states, types_filter=types)))
        assert [group.group_id for group in listed.groups] == expected
    deleted = now(handlers.admin.delete_groups(at(2), DeleteGroupsRequest(groups_names=["g", "g", "none"])))
    assert [(result.group_id, result.error_code) for result in deleted.results] == [
        ("g", ErrorCode.NONE),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
    ]


class SlowDisk:
    """The partition of a group, whose records are safe when a test says so."""

    def __init__(self, handlers: Handlers, group: str) -> None:
        self.partition = handlers.broker.coordinator.shard(group).writer.partition
        self.partition._flush_messages = 1

    def flush(self) -> None:
        """Bring everything to the disk."""
        self.partition.log.flush()
        self.partition.flushed()


def later(answer: T | Deferred[T]) -> list[T]:
    """Return where an answer will be that is not there yet."""
    assert isinstance(answer, Deferred)
    told: list[T] = []
    answer.on_done(told.append)
    return told


async def test_deletions_are_answered_when_they_are_safe(handlers: Handlers) -> None:
    """Of several groups, and of offsets."""
    for group in ("g", "h", "k"):
        handlers.commit(8, 0, group=group)
    disks = [SlowDisk(handlers, group) for group in ("g", "h", "k")]
    deleted = later(handlers.admin.delete_groups(at(2), DeleteGroupsRequest(groups_names=["g", "none", "h"])))
    topics = [OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])]
    removed = later(handlers.commits.offset_delete(at(0), OffsetDeleteRequest(group_id="k", topics=topics)))
    assert deleted == removed == []
    for disk in disks:
        disk.flush()
    codes = [(result.group_id, result.error_code) for result in deleted[0].results]
    assert codes == [("g", ErrorCode.NONE), ("none", ErrorCode.GROUP_ID_NOT_FOUND), ("h", ErrorCode.NONE)]
    assert removed[0].topics[0].partitions[0].error_code == ErrorCode.NONE


def asked(group: str, version: int, *, stable: bool = False) -> OffsetFetchRequest:
    if version >= 8:
        topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
        groups = [OffsetFetchRequestGroup(group_id=group, topics=topics)]
        return OffsetFetchRequest(groups=groups, require_stable=stable)
    old = [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    return OffsetFetchRequest(group_id=group, topics=old, require_stable=stable)


async def test_an_offset_is_told_when_it_is_safe(handlers: Handlers) -> None:
    """At once as it was before, or as it is once it is safe to who asks for what is stable."""
    disk = SlowDisk(handlers, "g")
    wanted = OffsetCommitRequestTopic(
        name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
    )
    later(handlers.commits.offset_commit(at(8), OffsetCommitRequest(group_id="g", topics=[wanted])))
    before = now(handlers.fetch.offset_fetch(at(7), asked("g", 7)))
    assert before.topics[0].partitions[0].committed_offset == -1
    stable = later(handlers.fetch.offset_fetch(at(7), asked("g", 7, stable=True)))
    several = later(handlers.fetch.offset_fetch(at(8), asked("g", 8, stable=True)))
    assert stable == several == []
    disk.flush()
    assert stable[0].topics[0].partitions[0].committed_offset == 7
    assert several[0].groups[0].topics[0].partitions[0].committed_offset == 7


@pytest.mark.parametrize("code", [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.REQUEST_TIMED_OUT])
async def test_an_offset_that_does_not_become_safe_is_not_told(handlers: Handlers, code: ErrorCode) -> None:
    """NOT_COORDINATOR, which consumers of any age take for a reason to look again."""
    disk = SlowDisk(handlers, "g")
    wanted = OffsetCommitRequestTopic(
        name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
    )
    later(handlers.commits.offset_commit(at(8), OffsetCommitRequest(group_id="g", topics=[wanted])))
    told = later(handlers.fetch.offset_fetch(at(8), asked("g", 8, stable=True)))
    disk.partition._report_all(code)
    assert (told[0].groups[0].error_code, told[0].groups[0].topics) == (ErrorCode.NOT_COORDINATOR, [])


async def awaited(answer: T | Deferred[T]) -> T:
    """Return an answer that is not there yet: others get their turn before it is."""
    assert isinstance(answer, Deferred)
    async with asyncio.timeout(10):
        return await answer


async def test_requests_for_very_many_groups_leave_others_their_turn(handlers: Handlers) -> None:
    """They are answered as those for few are, in the order of the request, a few groups at a time."""
    names = [f"g{number}" for number in range(500)]
    for name in names:
        handlers.commit(8, 0, group=name)
    listed = await awaited(handlers.admin.list_groups(at(5), ListGroupsRequest()))
    assert sorted(group.group_id for group in listed.groups) == sorted(names)
    described = await awaited(handlers.admin.describe_groups(at(6), DescribeGroupsRequest(groups=[*names, "none"])))
    assert [(group.group_id, group.error_code) for group in described.groups] == [
        *((name, ErrorCode.NONE) for name in names),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    asked = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    fetched = await awaited(handlers.fetch.offset_fetch(at(8), OffsetFetchRequest(groups=asked)))
    assert [group.topics[0].partitions[0].committed_offset for group in fetched.groups] == [7] * len(names)
    deleted = await awaited(handlers.admin.delete_groups(at(2), DeleteGroupsRequest(groups_names=[*names, "none"])))
    assert [(result.group_id, result.error_code) for result in deleted.results] == [
        *((name, ErrorCode.NONE) for name in names),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
    ]


async def test_a_commit_of_very_many_partitions_leaves_others_their_turn(handlers: Handlers) -> None:
    """It counts as a whole when it is decided, and one that could never fit a message is refused as a whole."""
    partitions = [OffsetCommitRequestPartition(partition_index=i % 4, committed_offset=i) for i in range(1000)]
    topics = [OffsetCommitRequestTopic(name="t", partitions=partitions)]
    request = OffsetCommitRequest(group_id="g", topics=topics)
    answer = handlers.commits.offset_commit(at(8), request)
    assert handlers.broker.coordinator.shard("g").groups == {}
    codes = [partition.error_code for partition in (await awaited(answer)).topics[0].partitions]
    assert codes == [0, 0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 250
    found = handlers.broker.coordinator.shard("g").offsets.get("g", "t", 2)
    assert found is not None
    assert found.offset == 998
    topics[0].partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)] * (MAX_OFFSETS + 1)
    refused = await awaited(handlers.commits.offset_commit(at(8), request))
    assert {partition.error_code for partition in refused.topics[0].partitions} == {ErrorCode.UNKNOWN_SERVER_ERROR}


async def test_what_is_asked_for_twice_is_told_once(handlers: Handlers) -> None:
    """A few bytes must not make an answer of megabytes: metadata of an offset, all that is known of a group."""
    handlers.commit(8, 0, 1)
    topic = OffsetFetchRequestTopics(name="t", partition_indexes=[1, 0, 1, 1])
    wanted = [OffsetFetchRequestGroup(group_id="g", topics=[topic, topic])]
    answer = now(handlers.fetch.offset_fetch(at(8), OffsetFetchRequest(groups=wanted)))
    [found] = answer.groups[0].topics
    assert [partition.partition_index for partition in found.partitions] == [1, 0]
    described = now(handlers.admin.describe_groups(at(6), DescribeGroupsRequest(groups=["g", "g"])))
    assert [group.group_id for group in described.groups] == ["g"]


async def test_a_first_commit_that_is_refused_leaves_no_group(handlers: Handlers) -> None:
    """No record tells of it, so there is nothing to be listed, deleted or kept in memory."""
    assert handlers.commit(8, 0, metadata="m" * 11) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert handlers.broker.coordinator.shard("g").groups == {}
    deleted = now(handlers.admin.delete_groups(at(2), DeleteGroupsRequest(groups_names=["g"])))
    assert deleted.results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_a_member_offers_so_many_protocols_at_most(handlers: Handlers) -> None:
    """Each would be compared with those of all other members."""
    many = [JoinGroupRequestProtocol(name=f"p{i}", metadata=b"") for i in range(MOST_PROTOCOLS + 1)]
    refused = now(handlers.members.join_group(at(9), joining(protocols=many)))
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
