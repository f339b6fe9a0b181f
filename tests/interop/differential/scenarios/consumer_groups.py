"""Groups of the consumer protocol (KIP-848): one member's life, at every version, and what strangers are told."""

import uuid

from tests.interop.differential.play import Ask, Step, Steps
from tests.interop.differential.prepare import topic
from tests.interop.differential.scenarios.groups import SUBSCRIPTION, ready
from tests.support.wire import Message, served_versions

TOPIC = "gr"
IDLE = {"rebalance_timeout_ms": -1, "subscribed_topic_names": None, "topic_partitions": None}


def consumer_groups() -> Steps:
    """A group per version of ConsumerGroupHeartbeat, led through its life by one member."""
    yield from topic(TOPIC, 2)
    yield from ready()
    for version in served_versions("ConsumerGroupHeartbeat"):
        yield from _life(version)


def _life(version: int) -> Steps:
    group, member_id = f"cg{version}", str(uuid.UUID(int=42 + version))
    base = {
        "group_id": group,
        "member_id": member_id if version else "",
        "member_epoch": 0,
        "rebalance_timeout_ms": 30_000,
        "subscribed_topic_names": [TOPIC],
        "topic_partitions": [],
    }

    def beat(label: str, **changed: object) -> Step:
        return Ask(label, "ConsumerGroupHeartbeat", version, {**base, **changed})

    yield beat("no group", group_id="")
    yield beat("no topics", subscribed_topic_names=None)
    yield beat("no timeout", rebalance_timeout_ms=-1)
    yield beat("unknown assignor", server_assignor="nope")
    yield beat("owned partitions unknown", topic_partitions=None)
    yield beat("unknown member", member_id="nobody", member_epoch=3)
    yield beat("epoch below all", member_epoch=-3)
    yield beat("empty instance", instance_id="")
    yield beat("empty rack", rack_id="")
    if version:
        yield beat("no member id", member_id="")
        yield beat("bad expression", subscribed_topic_names=None, subscribed_topic_regex="(")
    joined = yield beat("join")
    if joined.get("error_code") != 0:
        return
    mine = {"member_id": joined["member_id"] or member_id}
    beaten = yield beat("idle", member_epoch=joined["member_epoch"], **mine, **IDLE)
    epoch = beaten.get("member_epoch", 0)
    owned = _assigned(joined) or _assigned(beaten)
    yield beat("owning", member_epoch=epoch, **mine, **{**IDLE, "topic_partitions": owned})
    yield beat("everything again", member_epoch=epoch, **mine, topic_partitions=owned)
    yield beat("epoch ahead", member_epoch=epoch + 7, **mine, **IDLE)
    yield from _others(version, group, {**mine, "member_epoch": epoch})
    yield beat("leave", member_epoch=-1, **mine, **IDLE)
    yield beat("after leaving", member_epoch=epoch, **mine, **IDLE)
    described = {"group_ids": [group]}
    yield Ask(f"empty {group}", "ConsumerGroupDescribe", min(version, 1), described)


def _assigned(answer: Message) -> list[Message]:
    given = answer.get("assignment")
    return given["topic_partitions"] if given else []


def _others(version: int, group: str, member: dict[str, object]) -> Steps:
    describe = {"group_ids": [group, group + "x", ""]}
    yield Ask(f"all {group}", "ConsumerGroupDescribe", min(version, 1), describe)
    joining = {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "connect",
        "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
    }
    yield Ask(f"classic join of {group}", "JoinGroup", 9, joining)
    place = {"partition_index": 0, "committed_offset": 3, "committed_leader_epoch": -1, "committed_metadata": ""}
    epoch = member["member_epoch"]
    assert isinstance(epoch, int)
    for label, changed in (("right", epoch), ("stale", epoch + 3), ("older", epoch - 1)):
        fields = {
            "group_id": group,
            "generation_id_or_member_epoch": changed,
            "member_id": member["member_id"],
            "topics": [{"name": TOPIC, "partitions": [place]}],
        }
        yield Ask(f"{label} commit in {group}", "OffsetCommit", 9, fields)
        asked = {"group_id": group, "member_id": member["member_id"], "member_epoch": changed, "topics": None}
        yield Ask(f"{label} fetch in {group}", "OffsetFetch", 9, {"groups": [asked]})
    stranger = {"group_id": group, "member_id": "nobody", "member_epoch": epoch, "topics": None}
    yield Ask(f"fetch of a stranger in {group}", "OffsetFetch", 9, {"groups": [stranger]})
    yield Ask(f"classic description of {group}", "DescribeGroups", 6, {"groups": [group]})
    yield Ask(f"busy {group}", "DeleteGroups", 2, {"groups_names": [group]})
    places = [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]
    yield Ask(f"subscribed in {group}", "OffsetDelete", 0, {"group_id": group, "topics": places})
    yield Ask(f"{group} by type", "ListGroups", 5, {"types_filter": ["consumer"], "states_filter": ["stable"]})
