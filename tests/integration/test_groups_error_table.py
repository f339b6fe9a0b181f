"""The table of all errors of groups: by API, with the shortest way to provoke each of them over the wire.

What is around an error, and what happens after it, is tested in `test_groups_errors` and `test_groups_consumer`; errors
of a coordinator that cannot work in `test_groups_unavailable`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.integration.clients import Confluent
from tests.integration.groups.raw import RawMember, await_coordinator
from tests.integration.groups.raw_consumer import RawConsumer
from tests.support.broker import BrokerProcess
from tests.support.wire import ERROR_NAMES, Message, WireClient

MAX_SIZE = 8
"""group.max.size and group.consumer.max.size of the broker."""


class Stage:
    """A group of its own, and members of it that are made when they are asked for."""

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        self.broker = broker
        self.topic = topic
        self.group = f"group-{topic}"
        self.wire = WireClient(broker.port)
        self._wires = [self.wire]

    def new(self, instance_id: str | None = None) -> RawMember:
        """A classic member that has not joined."""
        member = RawMember(self.broker, self.group, self.topic, instance_id)
        self._wires.append(member.wire)
        return member

    def member(self, instance_id: str | None = None) -> RawMember:
        """The only member of a stable classic group."""
        member = self.new(instance_id)
        member.enter()
        return member

    def consumer(self, instance_id: str | None = None) -> RawConsumer:
        """A member of the consumer protocol that has joined."""
        consumer = RawConsumer(self.broker, self.group, self.topic, instance_id)
        self._wires.append(consumer.wire)
        assert consumer.join()["error_code"] == 0
        return consumer

    def rebalancing(self) -> RawMember:
        """The old member of a group that waits for it to join again."""
        member, newcomer = self.member(), self.new()
        newcomer.send_join()
        newcomer.joined()
        newcomer.send_join()
        while member.heartbeat() == 0:
            pass
        return member

    def completing(self) -> RawMember:
        """The leader of a group that waits for its assignment."""
        member = self.new()
        assert member.join()["error_code"] == 0
        return member

    def fenced(self) -> RawMember:
        """A static member whose instance another process has taken over."""
        member = self.member("i")
        assert self.new("i").join()["error_code"] == 0
        return member

    def ask(self, api: str, version: int, **fields: object) -> Message:
        """Ask for something about the group."""
        return self.wire.ask(api, version, **fields)

    def close(self) -> None:
        """Cut all connections."""
        for wire in self._wires:
            wire.close()


class Row(NamedTuple):
    """An error of an API, and how it is come by."""

    api: str
    error: str
    provoke: Callable[[Stage], int]


def _join(stage: Stage, **changed: object) -> int:
    member = stage.new(changed.pop("instance_id", None))  # type: ignore[arg-type]  # text or none
    member.send_join(**changed)  # type: ignore[arg-type]  # fields of the request
    return int(member.joined()["error_code"])


def _join_full(stage: Stage) -> int:
    members = [stage.new() for _ in range(MAX_SIZE + 1)]
    members[0].send_join(version=3)
    members[0].joined(3)
    for member in members[1:]:
        member.send_join(version=3)
    for _ in range(1000):  # the last one that comes is refused, whichever that is
        [described] = stage.ask("DescribeGroups", 5, groups=[stage.group])["groups"]
        if len(described["members"]) == MAX_SIZE:
            break
    members[0].send_join(version=3)
    return max(int(member.joined(3)["error_code"]) for member in members)


def _join_fenced(stage: Stage) -> int:
    member = stage.fenced()
    member.send_join()
    return int(member.joined()["error_code"])


def _join_with_nothing_in_common(stage: Stage) -> int:
    stage.member()
    return _join(stage, protocols=[{"name": "other", "metadata": b""}])


def _leave(stage: Stage, member: RawMember) -> int:
    return int(member.leave()["members"][0]["error_code"])


def _consumer_commit(stage: Stage, **changed: object) -> int:
    consumer = stage.consumer()
    fields = {"generation_id_or_member_epoch": consumer.epoch, **changed}
    name = consumer.commit(1, **fields)  # type: ignore[arg-type]  # fields of the request
    return next(code for code, known in ERROR_NAMES.items() if known == name)


def _consumer_fetch(stage: Stage, **changed: object) -> int:
    consumer = stage.consumer()
    asked = {"group_id": stage.group, "member_id": consumer.member_id, "member_epoch": consumer.epoch, "topics": None}
    return int(stage.ask("OffsetFetch", 9, groups=[{**asked, **changed}])["groups"][0]["error_code"])


def _delete_offset(stage: Stage, group: str, topic: str) -> Message:
    asked = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    return stage.ask("OffsetDelete", 0, group_id=group, topics=asked)


def _delete_offset_of(stage: Stage, topic: str) -> int:
    stage.member()
    return int(_delete_offset(stage, stage.group, topic)["topics"][0]["partitions"][0]["error_code"])


def _delete_offset_of_connect(stage: Stage) -> int:
    member = stage.new()
    member.join(protocol_type="connect")
    return int(_delete_offset(stage, stage.group, stage.topic)["error_code"])


def _delete_group(stage: Stage, group: str) -> int:
    return int(stage.ask("DeleteGroups", 2, groups_names=[group])["results"][0]["error_code"])


def _delete_with_member(stage: Stage) -> int:
    stage.member()
    return _delete_group(stage, stage.group)


def _join_classic(stage: Stage) -> int:
    stage.consumer()
    return _join(stage, protocol_type="connect")


def _consumer(stage: Stage, **changed: object) -> int:
    return int(stage.consumer().beat(**changed)["error_code"])


def _consumer_join(stage: Stage, **changed: object) -> int:
    consumer = RawConsumer(stage.broker, stage.group, stage.topic)
    try:
        return int(consumer.join(**changed)["error_code"])
    finally:
        consumer.wire.close()


def _consumer_full(stage: Stage) -> int:
    for _ in range(MAX_SIZE):
        stage.consumer()
    return _consumer_join(stage)


TABLE = [
    Row("FindCoordinator", "INVALID_REQUEST", lambda s: int(
        s.ask("FindCoordinator", 4, key_type=7, coordinator_keys=["g"])["coordinators"][0]["error_code"])),
    Row("JoinGroup", "INVALID_GROUP_ID", lambda s: _join(s, group_id="")),
    Row("JoinGroup", "INVALID_SESSION_TIMEOUT", lambda s: _join(s, session_timeout_ms=1)),
    Row("JoinGroup", "UNKNOWN_MEMBER_ID", lambda s: _join(s, member_id="nobody")),
    Row("JoinGroup", "MEMBER_ID_REQUIRED", _join),
    Row("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL", _join_with_nothing_in_common),
    Row("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL", _join_classic),
    Row("JoinGroup", "GROUP_MAX_SIZE_REACHED", _join_full),
    Row("JoinGroup", "FENCED_INSTANCE_ID", _join_fenced),
    Row("SyncGroup", "INVALID_GROUP_ID", lambda s: s.new().sync(group_id="")["error_code"]),
    Row("SyncGroup", "UNKNOWN_MEMBER_ID", lambda s: s.new().sync()["error_code"]),
    Row("SyncGroup", "ILLEGAL_GENERATION", lambda s: s.member().sync(generation_id=77)["error_code"]),
    Row("SyncGroup", "INCONSISTENT_GROUP_PROTOCOL", lambda s: s.member().sync(protocol_name="o")["error_code"]),
    Row("SyncGroup", "REBALANCE_IN_PROGRESS", lambda s: s.rebalancing().sync()["error_code"]),
    Row("SyncGroup", "FENCED_INSTANCE_ID", lambda s: s.fenced().sync()["error_code"]),
    Row("Heartbeat", "INVALID_GROUP_ID", lambda s: s.new().heartbeat(group_id="")),
    Row("Heartbeat", "UNKNOWN_MEMBER_ID", lambda s: s.new().heartbeat()),
    Row("Heartbeat", "ILLEGAL_GENERATION", lambda s: s.member().heartbeat(generation_id=77)),
    Row("Heartbeat", "REBALANCE_IN_PROGRESS", lambda s: s.rebalancing().heartbeat()),
    Row("Heartbeat", "FENCED_INSTANCE_ID", lambda s: s.fenced().heartbeat()),
    Row("Heartbeat", "NONE", lambda s: s.completing().heartbeat()),
    Row("LeaveGroup", "INVALID_GROUP_ID", lambda s: s.ask("LeaveGroup", 4, group_id="", members=[])["error_code"]),
    Row("LeaveGroup", "UNKNOWN_MEMBER_ID", lambda s: _leave(s, s.new())),
    Row("LeaveGroup", "FENCED_INSTANCE_ID", lambda s: _leave(s, s.fenced())),
    Row("OffsetCommit", "UNKNOWN_MEMBER_ID", lambda s: s.member().commit(1, member_id="nobody")),
    Row("OffsetCommit", "ILLEGAL_GENERATION", lambda s: s.member().commit(1, generation_id_or_member_epoch=77)),
    Row("OffsetCommit", "ILLEGAL_GENERATION", lambda s: s.new().commit(1, generation_id_or_member_epoch=3)),
    Row("OffsetCommit", "GROUP_ID_NOT_FOUND", lambda s: s.new().commit(1, 9, generation_id_or_member_epoch=3)),
    Row("OffsetCommit", "REBALANCE_IN_PROGRESS", lambda s: s.completing().commit(1)),
    Row("OffsetCommit", "FENCED_INSTANCE_ID", lambda s: s.fenced().commit(1)),
    Row("OffsetCommit", "OFFSET_METADATA_TOO_LARGE", lambda s: s.new().commit(1, metadata="x" * 4097)),
    Row("OffsetCommit", "UNKNOWN_TOPIC_OR_PARTITION", lambda s: s.new().commit(1, partition=9)),
    Row("OffsetCommit", "STALE_MEMBER_EPOCH", lambda s: _consumer_commit(s, generation_id_or_member_epoch=77)),
    Row("OffsetCommit", "UNSUPPORTED_VERSION", lambda s: _consumer_commit(s, version=8)),
    Row("OffsetFetch", "NONE", lambda s: s.ask("OffsetFetch", 7, group_id="nowhere", topics=None)["error_code"]),
    Row("OffsetFetch", "UNKNOWN_MEMBER_ID", lambda s: _consumer_fetch(s, member_id="nobody")),
    Row("OffsetFetch", "STALE_MEMBER_EPOCH", lambda s: _consumer_fetch(s, member_epoch=77)),
    Row("DescribeGroups", "NONE", lambda s: s.ask("DescribeGroups", 5, groups=["nowhere"])["groups"][0]["error_code"]),
    Row("DescribeGroups", "GROUP_ID_NOT_FOUND", lambda s: s.ask(
        "DescribeGroups", 6, groups=["nowhere"])["groups"][0]["error_code"]),
    Row("DeleteGroups", "GROUP_ID_NOT_FOUND", lambda s: _delete_group(s, "nowhere")),
    Row("DeleteGroups", "NON_EMPTY_GROUP", _delete_with_member),
    Row("OffsetDelete", "INVALID_GROUP_ID", lambda s: _delete_offset(s, "", s.topic)["error_code"]),
    Row("OffsetDelete", "GROUP_ID_NOT_FOUND", lambda s: _delete_offset(s, "nowhere", s.topic)["error_code"]),
    Row("OffsetDelete", "NON_EMPTY_GROUP", _delete_offset_of_connect),
    Row("OffsetDelete", "GROUP_SUBSCRIBED_TO_TOPIC", lambda s: _delete_offset_of(s, s.topic)),
    Row("OffsetDelete", "UNKNOWN_TOPIC_OR_PARTITION", lambda s: _delete_offset_of(s, "no-such-topic")),
    Row("ConsumerGroupHeartbeat", "INVALID_REQUEST", lambda s: _consumer_join(s, group_id="")),
    Row("ConsumerGroupHeartbeat", "UNSUPPORTED_ASSIGNOR", lambda s: _consumer_join(s, server_assignor="nope")),
    Row("ConsumerGroupHeartbeat", "INVALID_REGULAR_EXPRESSION", lambda s: _consumer_join(
        s, subscribed_topic_names=None, subscribed_topic_regex="(")),
    Row("ConsumerGroupHeartbeat", "GROUP_ID_NOT_FOUND", lambda s: _consumer_join(s, member_epoch=3)),
    Row("ConsumerGroupHeartbeat", "GROUP_MAX_SIZE_REACHED", _consumer_full),
    Row("ConsumerGroupHeartbeat", "UNKNOWN_MEMBER_ID", lambda s: _consumer(s, member_id="nobody")),
    Row("ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH", lambda s: _consumer(s, member_epoch=77)),
    Row("ConsumerGroupHeartbeat", "UNRELEASED_INSTANCE_ID", lambda s: int(
        s.consumer("i").beat(member_id="other", member_epoch=0, rebalance_timeout_ms=5000,
                             subscribed_topic_names=[s.topic], topic_partitions=[])["error_code"])),
    Row("ConsumerGroupHeartbeat", "FENCED_INSTANCE_ID", lambda s: s.consumer("i").beat(member_id="o")["error_code"]),
    Row("ConsumerGroupDescribe", "GROUP_ID_NOT_FOUND", lambda s: s.ask(
        "ConsumerGroupDescribe", 1, group_ids=["nowhere"])["groups"][0]["error_code"]),
]  # fmt: skip


@pytest.fixture
def stage(groups_broker: BrokerProcess, topic: str) -> Iterator[Stage]:
    """A group that no other test uses; its topic exists and its coordinator is ready."""
    Confluent(groups_broker.bootstrap).create_topic(topic)
    await_coordinator(groups_broker, f"group-{topic}")
    made = Stage(groups_broker, topic)
    yield made
    made.close()


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.api}-{row.error}-{number}") for number, row in enumerate(TABLE)]
)
def test_every_error_of_the_table(stage: Stage, row: Row) -> None:
    """The API answers this error to who provokes it."""
    assert ERROR_NAMES[row.provoke(stage)] == row.error
