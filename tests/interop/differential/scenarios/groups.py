"""Classic groups and their offsets: every request of a member, an administrator and a stranger, at every version."""

from collections.abc import Mapping

from tests.interop.differential.play import Ask, Step, Steps, Until
from tests.interop.differential.prepare import topic
from tests.support.wire import Message, served_versions

TOPIC = "gr"
SUBSCRIPTION = b"\0\1\0\0\0\1\0\2gr\0\0\0\0\0\0\0\0"
SESSION_MS = 10_000


def groups() -> Steps:
    """A group per version of JoinGroup, led through its life by one member; then what stays of it."""
    yield from topic(TOPIC, 2)
    yield from ready()
    for version in served_versions("FindCoordinator"):
        yield from _find(version)
    for version in served_versions("JoinGroup"):
        yield from _life(version)
    for version in served_versions("OffsetFetch", 1):
        yield from _fetch(version)
    for version in served_versions("ListGroups"):
        yield from _list(version)
    places = [{"name": TOPIC, "partitions": [{"partition_index": 0}, {"partition_index": 9}]}]
    yield Ask("of an empty group", "OffsetDelete", 0, {"group_id": "jg5", "topics": places})
    for version in served_versions("DeleteGroups"):
        names = {"groups_names": [f"jg{version}", f"jg{version}", "nobody-here"]}
        yield Ask("empty, gone and unknown", "DeleteGroups", version, names)


def ready() -> Steps:
    """Wait until the broker coordinates groups."""

    def is_found(answer: Message) -> bool:
        return not answer["coordinators"][0]["error_code"]

    yield Until("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": ["warm"]}, is_found)
    for name in (*(f"jg{version}" for version in served_versions("JoinGroup")), "nobody-here", "g"):
        yield Until("OffsetFetch", 7, {"group_id": name, "topics": None}, lambda answer: not answer["error_code"])


def _find(version: int) -> Steps:
    if version < 4:
        yield Ask("coordinator", "FindCoordinator", version, {"key": "g", "key_type": 0})
        if version:
            yield Ask("bad type", "FindCoordinator", version, {"key": "g", "key_type": 7})
        return
    yield Ask("coordinator", "FindCoordinator", version, {"key_type": 0, "coordinator_keys": ["g", ""]})
    yield Ask("bad type", "FindCoordinator", version, {"key_type": 7, "coordinator_keys": ["g"]})


def _life(version: int) -> Steps:
    group = f"jg{version}"
    base = {
        "group_id": group,
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
    }

    def join(label: str, **changed: object) -> Step:
        return Ask(label, "JoinGroup", version, {**base, **changed})

    yield join("no group", group_id="")
    yield join("short session", session_timeout_ms=1)
    yield join("long session", session_timeout_ms=99_999_999)
    yield join("unknown member", member_id="nobody")
    yield join("no protocols", protocols=[])
    yield join("no type", protocol_type="")
    joined = yield join("join")
    if joined.get("error_code") == 79:
        joined = yield join("join with id", member_id=joined["member_id"])
    if joined.get("error_code") != 0:
        return
    member = _Member(version, group, joined["member_id"], joined["generation_id"])
    yield from _sync(member)
    yield join("join again", member_id=member.member_id)
    yield from _sync(member, "again, ")
    yield from _beat(member)
    yield from _commits(member)
    yield from _administration(member)
    yield from _leave(member)


class _Member:
    """The only member of the group of one version; makes its requests."""

    def __init__(self, version: int, group: str, member_id: str, generation: int) -> None:
        self.version = version
        self.group = group
        self.member_id = member_id
        self.generation = generation

    def ask(self, label: str, api: str, fields: Mapping[str, object], first: int = 0) -> Ask:
        """Return a request at the version of that API which is nearest to the one of the group."""
        version = min(max(self.version, first), served_versions(api)[-1])
        return Ask(f"{label}, {self.group}", api, version, fields)

    def identity(self, **changed: object) -> dict[str, object]:
        """Return who the member is."""
        return {"group_id": self.group, "generation_id": self.generation, "member_id": self.member_id, **changed}

    def commit(self, label: str, offset: int = 5, partition: int = 0, name: str = TOPIC, **changed: object) -> Ask:
        """Return a commit of one partition."""
        place = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": changed.pop("metadata", "x"),
        }
        identity = self.identity()
        identity["generation_id_or_member_epoch"] = identity.pop("generation_id")
        topics = [{"name": name, "partitions": [place]}]
        fields = {**identity, "retention_time_ms": -1, "topics": topics, **changed}
        return Ask(f"commit {label}, {self.group}", "OffsetCommit", max(2, min(self.version, 9)), fields)


def _sync(member: _Member, prefix: str = "") -> Steps:
    def sync(label: str, **changed: object) -> Step:
        agreed = {"protocol_type": "consumer", "protocol_name": "range"}
        return member.ask(f"{prefix}sync {label}", "SyncGroup", {**agreed, **member.identity(), **changed})

    mine = [{"member_id": member.member_id, "assignment": b"abc"}]
    if not prefix:
        yield sync("of a stranger", member_id="nobody")
        yield sync("of another generation", generation_id=member.generation + 5)
        yield sync("of another protocol", protocol_name="roundrobin")
        yield sync("of another type", protocol_type="connect")
        yield sync("of no group", group_id="")
        yield sync("of an unknown group", group_id=member.group + "x")
        yield sync("first", assignments=mine)
        yield sync("second")
        return
    # The leader that joins again makes a new generation.
    member.generation += 1
    yield sync("first", assignments=mine)


def _beat(member: _Member) -> Steps:
    for label, changed in (
        ("right", {}),
        ("old generation", {"generation_id": member.generation - 1}),
        ("stranger", {"member_id": "nobody"}),
        ("nobody", {"member_id": ""}),
        ("unknown group", {"group_id": member.group + "x"}),
        ("no group", {"group_id": ""}),
    ):
        yield member.ask(f"heartbeat {label}", "Heartbeat", member.identity(**changed))


def _commits(member: _Member) -> Steps:
    yield member.commit("right")
    yield member.commit("old generation", generation_id_or_member_epoch=member.generation - 1)
    yield member.commit("stranger", member_id="nobody")
    yield member.commit("without a member", generation_id_or_member_epoch=-1, member_id="")
    yield member.commit("unknown topic", name="gr-none")
    yield member.commit("unknown partition", partition=77)
    yield member.commit("negative offset", -5)
    yield member.commit("metadata that is too large", metadata="x" * 5000)
    yield member.commit("largest metadata", metadata="x" * 4096)
    yield member.commit("no metadata", metadata=None)
    yield member.commit("right again")


def _administration(member: _Member) -> Steps:
    group = member.group
    yield member.ask("describe", "DescribeGroups", {"groups": [group, group + "x", ""]})
    yield Ask(f"busy {group}", "DeleteGroups", min(member.version, 2), {"groups_names": [group, group + "x", ""]})
    places = [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]
    yield Ask(f"subscribed, {group}", "OffsetDelete", 0, {"group_id": group, "topics": places})
    yield Ask(f"unknown group, {group}", "OffsetDelete", 0, {"group_id": group + "x", "topics": places})


def _leave(member: _Member) -> Steps:
    one = {"group_id": member.group, "member_id": member.member_id}
    if member.version < 3:
        yield member.ask("leave", "LeaveGroup", one)
        yield member.ask("leave again", "LeaveGroup", one)
    else:
        leaving = [{"member_id": member.member_id}, {"member_id": "nobody"}]
        yield member.ask("leave", "LeaveGroup", {"group_id": member.group, "members": leaving})
        yield member.ask("leave again", "LeaveGroup", {"group_id": member.group, "members": leaving[:1]})
    yield member.commit("after leaving")
    yield member.commit("without a member, after leaving", generation_id_or_member_epoch=-1, member_id="")
    yield member.ask("describe empty", "DescribeGroups", {"groups": [member.group]})


def _fetch(version: int) -> Steps:
    places = [{"name": TOPIC, "partition_indexes": [0, 1, 9]}, {"name": "gr-none", "partition_indexes": [0]}]
    if version < 8:
        yield Ask("some", "OffsetFetch", version, {"group_id": "jg5", "topics": places})
        yield Ask("of an unknown group", "OffsetFetch", version, {"group_id": "nobody-here", "topics": places[:1]})
        yield Ask("of no group", "OffsetFetch", version, {"group_id": "", "topics": places[:1]})
        if version >= 2:
            yield Ask("all", "OffsetFetch", version, {"group_id": "jg5", "topics": None})
        if version >= 7:
            stable = {"group_id": "jg5", "topics": places, "require_stable": True}
            yield Ask("stable", "OffsetFetch", version, stable)
    elif version < 10:
        nobody = {"member_id": None, "member_epoch": -1}
        several = [
            {"group_id": "jg5", **nobody, "topics": places},
            {"group_id": "jg6", **nobody, "topics": None},
            {"group_id": "nobody-here", **nobody, "topics": None},
            {"group_id": "", **nobody, "topics": None},
        ]
        yield Ask("several", "OffsetFetch", version, {"groups": several})
        if version >= 9:
            stranger = {"group_id": "jg5", "member_id": "nobody", "member_epoch": 5, "topics": None}
            yield Ask("of a stranger", "OffsetFetch", version, {"groups": [stranger]})


def _list(version: int) -> Steps:
    yield Ask("empty", "ListGroups", version, {"states_filter": ["Empty"], "types_filter": ["classic"]})
    if version >= 4:
        yield Ask("dead", "ListGroups", version, {"states_filter": ["Dead"]})
        yield Ask("in lower case", "ListGroups", version, {"states_filter": ["empty"]})
        yield Ask("no such state", "ListGroups", version, {"states_filter": ["Nonsense"]})
    if version >= 5:
        yield Ask("no such type", "ListGroups", version, {"types_filter": ["nonsense"]})
