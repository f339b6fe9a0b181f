"""Offsets that are committed as part of transactions: who may, what becomes of them, and what others see meanwhile."""

import uuid
from collections.abc import Mapping
from typing import Any

from tests.interop.differential.play import Ask, Steps, Until
from tests.interop.differential.prepare import topic
from tests.interop.differential.scenarios.groups import SUBSCRIPTION, ready
from tests.interop.differential.transactional import (
    FIRST_WITH_BUMPS,
    Prepared,
    Producer,
    coordinated,
    describe,
    ended,
    initialised,
)
from tests.support.wire import Message, served_versions

TOPIC = "to"
FIRST_THAT_ADDS = 5
FIRST_WITH_MEMBERS = 3
SESSION_MS = 30_000


def transactional_offsets() -> Steps:
    """TxnOffsetCommit at every version, and what groups tell before and after the ends of transactions."""
    yield from topic(TOPIC, 3)
    yield from coordinated()
    yield from ready()
    for version in served_versions("TxnOffsetCommit"):
        yield from _committing(version)
        if version >= FIRST_WITH_MEMBERS:
            yield from _classic_members(version)
            yield from _consumer_members(version)


class _Commit:
    """Makes commits of a group at one version."""

    def __init__(self, version: int, group: str, who: Producer) -> None:
        self.version = version
        self.group = group
        self.who = who

    def __call__(
        self, label: str, *places: Message, who: Producer | None = None, name: str = TOPIC, **changed: object
    ) -> Ask:
        topics = [{"name": name, "partitions": list(places) or [place(0)]}]
        return self.whole(label, who=who, **{"topics": topics, **changed})

    def whole(self, label: str, who: Producer | None = None, **changed: object) -> Ask:
        """Return a commit with all topics at the caller's choice."""
        who = who or self.who
        fields = {
            "transactional_id": who.transactional_id,
            "group_id": self.group,
            "producer_id": who.producer_id,
            "producer_epoch": who.epoch,
            "generation_id": -1,
            "member_id": "",
            "group_instance_id": None,
            **changed,
        }
        return Ask(f"{label}, {self.group}", "TxnOffsetCommit", self.version, fields)


def place(index: int, offset: int = 5, metadata: str | None = "x") -> Message:
    """Return what a commit says of a partition."""
    return {
        "partition_index": index,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": metadata,
    }


def _added(who: Producer, group: str) -> Steps:
    """Make the group's offsets part of the transaction, as producers before transactions version 2 do."""
    fields = {
        "transactional_id": who.transactional_id,
        "producer_id": who.producer_id,
        "producer_epoch": who.epoch,
        "group_id": group,
    }
    yield Until("AddOffsetsToTxn", 3, fields, lambda answer: not answer["error_code"])


def _begun(version: int, group: str) -> Prepared:
    yield Until("OffsetFetch", 7, {"group_id": group, "topics": None}, lambda answer: not answer["error_code"])
    yield from initialised(group)
    producer = yield from initialised(group)
    if version < FIRST_THAT_ADDS:
        yield from _added(producer, group)
    return producer


def _ended(version: int, who: Producer, is_commit: bool) -> Prepared:
    following = yield from ended(who, is_commit, FIRST_WITH_BUMPS if version >= FIRST_THAT_ADDS else 3)
    if version < FIRST_THAT_ADDS:
        yield from _added(following, who.transactional_id)
    return following


def _seen(label: str, group: str, api: str = "OffsetFetch") -> Steps:
    """What others are told of the group's offsets."""
    asked = [{"name": TOPIC, "partition_indexes": [0, 1, 2, 9]}]
    for is_stable in (False, True):
        fields = {"group_id": group, "topics": asked, "require_stable": is_stable}
        yield Ask(f"{label}, {group}, {is_stable}", api, 7, fields)
    for topics in (asked, None):
        one = {"group_id": group, "member_id": None, "member_epoch": -1, "topics": topics}
        which = "all" if topics is None else "some"
        yield Ask(f"{label}, {group}, {which}", api, 9, {"groups": [one], "require_stable": True})


def _committing(version: int) -> Steps:
    group = f"to{version}"
    yield Until("OffsetFetch", 7, {"group_id": group, "topics": None}, lambda answer: not answer["error_code"])
    yield from initialised(group)
    producer = yield from initialised(group)
    commit = _Commit(version, group, producer)
    yield commit("for nobody", who=producer._replace(transactional_id=""))
    yield commit("for a stranger", who=producer._replace(transactional_id="stranger"))
    yield commit("unknown topic alone", name="to-none")
    yield commit("not added")
    yield describe(f"not added {group}", group)
    if version < FIRST_THAT_ADDS:
        yield from _added(producer, group)
    yield commit("of another producer", who=producer.other())
    yield commit("of an older epoch", who=producer.at(producer.epoch - 1))
    yield commit("of a newer epoch", who=producer.at(producer.epoch + 1))
    yield commit("of no epoch", who=producer.at(-1))
    yield commit("of no producer", who=producer._replace(producer_id=-1, epoch=-1))
    yield commit("of no group", group_id="")
    yield commit.whole("of nothing", topics=[])
    yield commit.whole("of no partition", topics=[{"name": TOPIC, "partitions": []}])
    yield commit("unknown partitions", place(9), place(-1))
    yield commit("too large", place(1, metadata="x" * 5000))
    yield describe(f"refused {group}", group)
    yield commit("well", place(0), place(9), place(1, metadata="x" * 5000), place(2, 7, None))
    yield commit("well again", place(0, 6))
    yield commit("negative offset", place(1, -5))
    yield commit("a partition twice", place(1, 3), place(1, 4))
    yield commit("not the producer's, open", who=producer.other())
    yield commit("an older epoch, open", who=producer.at(producer.epoch - 1))
    if version >= FIRST_WITH_MEMBERS:
        yield commit("a generation", generation_id=5)
        yield commit("a member", member_id="nobody")
        yield commit("a member's generation", generation_id=5, member_id="nobody")
        yield commit("an instance", group_instance_id="nobody", member_id="nobody")
    yield describe(f"open {group}", group)
    yield from _seen("open", group)
    yield from _administration("open", group)
    following = yield from _ended(version, producer, False)
    yield from _seen("aborted", group)
    commit = _Commit(version, group, following)
    yield commit("next", place(0, 8))
    yield commit("next, old epoch", place(0, 9), who=producer.at(producer.epoch - 1))
    following = yield from _ended(version, following, True)
    yield from _seen("committed", group)
    commit = _Commit(version, group, following)
    yield commit("over a committed one", place(0, 12), place(1, 13))
    plain = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "topics": [{"name": TOPIC, "partitions": [place(0, 11), place(2, 1)]}],
    }
    yield Ask(f"without a transaction, {group}", "OffsetCommit", 8, plain)
    yield from _seen("beside a plain one", group)
    yield from _administration("both", group)
    yield from _ended(version, following, True)
    yield from _seen("after both", group)
    yield from _administration("after both", group)


def _administration(label: str, group: str) -> Steps:
    """Deleting what is pending."""
    places = [{"name": TOPIC, "partitions": [{"partition_index": index} for index in (2, 9)]}]
    yield Ask(f"{label}, offsets of {group}", "OffsetDelete", 0, {"group_id": group, "topics": places})
    yield Ask(f"{label}, {group}", "DescribeGroups", 5, {"groups": [group]})
    yield Ask(f"{label}, delete {group}", "DeleteGroups", 2, {"groups_names": [group]})


def _classic_members(version: int) -> Steps:
    group = f"to{version}-classic"
    producer = yield from _begun(version, group)
    commit = _Commit(version, group, producer)
    joining = {
        "group_id": group,
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS,
        "protocol_type": "consumer",
        "group_instance_id": "static",
        "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
    }
    joined = yield Until("JoinGroup", 5, joining, lambda answer: not answer["error_code"])
    member: dict[str, Any] = {"member_id": joined["member_id"], "group_instance_id": "static"}
    generation: dict[str, Any] = {"generation_id": joined["generation_id"]}
    yield commit("unfinished", **member, **generation)
    syncing = {"group_id": group, **member, **generation, "assignments": []}
    syncing["assignments"] = [{"member_id": joined["member_id"], "assignment": b"abc"}]
    yield Until("SyncGroup", 3, syncing, lambda answer: not answer["error_code"])
    yield from _fenced(commit, member, generation)
    yield commit("another instance", **{**member, "group_instance_id": "other"}, **generation)
    yield commit("instance of another member", **{**member, "member_id": "nobody"}, **generation)
    yield commit("instance without a member", **{**member, "member_id": ""}, **generation)
    yield from _ended(version, producer, True)
    yield from _seen("of a member", group)
    # or its session would end while another scenario asks which groups are empty
    yield Ask(f"leave {group}", "LeaveGroup", 3, {"group_id": group, "members": [member]})


def _consumer_members(version: int) -> Steps:
    group = f"to{version}-consumer"
    producer = yield from _begun(version, group)
    commit = _Commit(version, group, producer)
    beat = {
        "group_id": group,
        "member_id": str(uuid.UUID(int=900 + version)),
        "member_epoch": 0,
        "rebalance_timeout_ms": SESSION_MS,
        "subscribed_topic_names": [TOPIC],
        "topic_partitions": [],
    }
    joined = yield Until("ConsumerGroupHeartbeat", 1, beat, lambda answer: not answer["error_code"])
    member: dict[str, Any] = {"member_id": beat["member_id"]}
    yield from _fenced(commit, member, {"generation_id": joined["member_epoch"]})
    yield commit("of nobody in particular", **member)
    yield from _ended(version, producer, True)
    yield from _seen("of a member", group)
    leaving = {**beat, "member_epoch": -1, "subscribed_topic_names": None, "topic_partitions": None}
    yield Ask(f"leave {group}", "ConsumerGroupHeartbeat", 1, leaving)


def _fenced(commit: _Commit, member: Mapping[str, Any], generation: Mapping[str, Any]) -> Steps:
    """Right and wrong names of a member."""
    current = generation["generation_id"]
    yield commit("member", **member, **generation)
    yield commit("older generation", **member, generation_id=current - 1)
    yield commit("newer generation", **member, generation_id=current + 1)
    yield commit("no generation", **member, generation_id=-1)
    yield commit("another member", member_id="nobody", **generation)
    yield commit("no member, but a generation", member_id="", **generation)
    yield commit("neither")
