"""Every error that a group answers, provoked over the wire."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.clients import Confluent
from tests.integration.groups.raw import SESSION_MS, RawMember, await_coordinator, subscription
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import ERROR_NAMES, Message, WireClient

Enter = Callable[..., RawMember]
GROUP_MAX_SIZE = 8


@pytest.fixture
def group(groups_broker: BrokerProcess, topic: str) -> str:
    """The name of a group that no other test uses; its topic exists and its coordinator is ready."""
    Confluent(groups_broker.bootstrap).create_topic(topic)
    await_coordinator(groups_broker, f"group-{topic}")
    return f"group-{topic}"


@pytest.fixture
def new_raw(groups_broker: BrokerProcess, group: str, topic: str) -> Iterator[Enter]:
    """Make members of the group that have not joined yet."""
    members: list[RawMember] = []

    def make(instance_id: str | None = None) -> RawMember:
        members.append(RawMember(groups_broker, group, topic, instance_id))
        return members[-1]

    yield make
    for member in members:
        if member.member_id:
            member.wire.close()
            member.leave()
        member.close()


@pytest.fixture
def member(new_raw: Enter) -> RawMember:
    """The only member of a stable group."""
    entered = new_raw()
    entered.enter()
    return entered


@pytest.fixture
def wire(groups_broker: BrokerProcess) -> Iterator[WireClient]:
    """A connection."""
    with WireClient(groups_broker.port) as client:
        yield client


def _name(code: int) -> str:
    return ERROR_NAMES[code]


def _rebalancing(member: RawMember, newcomer: RawMember) -> None:
    """Bring the group into PreparingRebalance: a new member waits for the other to join again."""
    newcomer.send_join()
    answer = newcomer.joined()
    assert _name(answer["error_code"]) == "MEMBER_ID_REQUIRED"
    newcomer.send_join()
    while member.heartbeat() == 0:  # until the broker has taken in the join
        pass


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"group_id": ""}, "INVALID_GROUP_ID"),
        ({"session_timeout_ms": 499}, "INVALID_SESSION_TIMEOUT"),
        ({"session_timeout_ms": 1_800_001}, "INVALID_SESSION_TIMEOUT"),
        ({"member_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
        ({"group_instance_id": "i", "member_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
        ({"protocols": []}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocol_type": ""}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({}, "MEMBER_ID_REQUIRED"),
    ],
)
def test_join_of_an_empty_group(new_raw: Enter, changed: dict[str, Any], error: str) -> None:
    """What is wrong with a JoinGroup is told before anything becomes of it."""
    joining = new_raw()
    joining.send_join(**changed)
    answer = joining.joined()
    assert _name(answer["error_code"]) == error
    assert bool(answer["member_id"]) == ("member_id" in changed or error == "MEMBER_ID_REQUIRED")


@pytest.mark.parametrize(
    "changed",
    [
        {"protocol_type": "connect"},
        {"protocols": [{"name": "other", "metadata": b""}]},
        {"protocols": []},
    ],
)
def test_join_with_nothing_in_common(member: RawMember, new_raw: Enter, changed: dict[str, Any]) -> None:
    """A member that shares no protocol with the others cannot join them."""
    newcomer = new_raw()
    newcomer.send_join(**changed)
    assert _name(newcomer.joined()["error_code"]) == "INCONSISTENT_GROUP_PROTOCOL"
    assert member.heartbeat() == 0


def test_a_full_group(new_raw: Enter, wire: WireClient) -> None:
    """Over group.max.size a member is refused, and the group goes on without it."""
    members = [new_raw() for _ in range(GROUP_MAX_SIZE)]
    for each in members:
        each.send_join(version=3)  # adds the member at once, whether others are ready or not
        if each is members[0]:
            each.joined(3)

    def is_full() -> bool:
        [described] = wire.ask("DescribeGroups", 5, groups=[members[0].group])["groups"]
        return len(described["members"]) == GROUP_MAX_SIZE

    eventually(is_full, "all members are there")
    members[0].send_join(version=3)
    assert [each.joined(3)["error_code"] for each in members] == [0] * GROUP_MAX_SIZE
    extra = new_raw()
    extra.send_join(version=3)
    assert _name(extra.joined(3)["error_code"]) == "GROUP_MAX_SIZE_REACHED"
    assert members[0].heartbeat() == 0


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"group_id": ""}, "INVALID_GROUP_ID"),
        ({"group_id": "group-nowhere"}, "UNKNOWN_MEMBER_ID"),
        ({"member_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
        ({"generation_id": 77}, "ILLEGAL_GENERATION"),
        ({"group_instance_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
    ],
)
def test_sync_and_heartbeat_of_a_stranger(member: RawMember, changed: dict[str, Any], error: str) -> None:
    """Who is not a member of this generation is told so by SyncGroup and by Heartbeat."""
    assert _name(member.sync(**changed)["error_code"]) == error
    assert _name(member.heartbeat(**changed)) == error
    assert member.heartbeat() == 0


@pytest.mark.parametrize("changed", [{"protocol_type": "connect"}, {"protocol_name": "roundrobin"}])
def test_sync_with_another_protocol(member: RawMember, changed: dict[str, Any]) -> None:
    """SyncGroup 5 names the protocol that was agreed on; any other is refused."""
    assert _name(member.sync(**changed)["error_code"]) == "INCONSISTENT_GROUP_PROTOCOL"
    assert member.sync()["assignment"] == b"mine"


def test_a_rebalance_is_told_to_who_heartbeats_and_syncs(member: RawMember, new_raw: Enter) -> None:
    """While members gather, Heartbeat and SyncGroup answer REBALANCE_IN_PROGRESS, and commits are still taken."""
    newcomer = new_raw()
    _rebalancing(member, newcomer)
    assert _name(member.heartbeat()) == "REBALANCE_IN_PROGRESS"
    assert _name(member.sync()["error_code"]) == "REBALANCE_IN_PROGRESS"
    assert member.commit(5) == 0
    member.send_join()
    assert newcomer.joined()["error_code"] == member.joined()["error_code"] == 0
    assert newcomer.generation == member.generation


def test_between_join_and_sync(member: RawMember, new_raw: Enter) -> None:
    """While the leader has not handed in the assignment, commits are refused, heartbeats are not, and followers wait;
    a rebalance sends the waiting away."""
    follower, newcomer = new_raw(), new_raw()
    _rebalancing(member, follower)
    answer = member.join()
    assert answer["leader"] == member.member_id
    assert len(answer["members"]) == 2
    assert follower.joined()["error_code"] == 0
    assert _name(member.commit(5)) == "REBALANCE_IN_PROGRESS"
    assert member.heartbeat() == 0
    follower.send_sync()
    _rebalancing(member, newcomer)
    assert _name(follower.wire.answer("SyncGroup", 5)["error_code"]) == "REBALANCE_IN_PROGRESS"


def test_a_member_that_never_syncs_is_put_out(new_raw: Enter) -> None:
    """Who joined and then does not sync within the rebalance timeout is removed."""
    joining = new_raw()
    assert joining.join(rebalance_timeout_ms=300, session_timeout_ms=SESSION_MS)["error_code"] == 0
    while (code := joining.heartbeat()) == 0:
        pass
    assert _name(code) in ("UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS")


def test_a_fenced_instance(new_raw: Enter) -> None:
    """A static member whose instance id another process has taken over is FENCED_INSTANCE_ID everywhere."""
    old, new = new_raw("i"), new_raw("i")
    old.enter()
    assert new.join()["error_code"] == 0
    assert new.member_id != old.member_id
    old.send_join()
    assert _name(old.joined()["error_code"]) == "FENCED_INSTANCE_ID"
    assert _name(old.sync()["error_code"]) == "FENCED_INSTANCE_ID"
    assert _name(old.heartbeat()) == "FENCED_INSTANCE_ID"
    assert _name(old.commit(1)) == "FENCED_INSTANCE_ID"
    assert _name(old.leave()["members"][0]["error_code"]) == "FENCED_INSTANCE_ID"
    old.member_id = ""
    assert new.heartbeat() == 0
    assert new.sync()["assignment"] == b"mine"


def test_a_static_member_taken_over_while_it_waits(new_raw: Enter) -> None:
    """The parked JoinGroup of a static member is answered FENCED_INSTANCE_ID when its instance id joins anew."""
    leader, old, new = new_raw(), new_raw("i"), new_raw("i")
    leader.enter()
    old.send_join()
    while leader.heartbeat() == 0:
        pass
    new.send_join()
    assert _name(old.joined()["error_code"]) == "FENCED_INSTANCE_ID"
    old.member_id = ""
    assert leader.join()["error_code"] == new.joined()["error_code"] == 0


def test_leaving(member: RawMember, new_raw: Enter) -> None:
    """Each member that is to leave is answered for itself; before version 3 there is one answer."""
    leaving = [
        {"member_id": "nobody"},
        {"member_id": "", "group_instance_id": "nobody"},
        {"member_id": member.member_id},
    ]
    answer = member.wire.ask("LeaveGroup", 4, group_id=member.group, members=leaving)
    assert answer["error_code"] == 0
    codes = [_name(each["error_code"]) for each in answer["members"]]
    assert codes == ["UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID", "NONE"]
    for version in (0, 2):
        answer = member.wire.ask("LeaveGroup", version, group_id=member.group, member_id=member.member_id)
        assert _name(answer["error_code"]) == "UNKNOWN_MEMBER_ID"
        answer = member.wire.ask("LeaveGroup", version, group_id="", member_id=member.member_id)
        assert _name(answer["error_code"]) == "INVALID_GROUP_ID"
    assert _name(member.heartbeat()) == "UNKNOWN_MEMBER_ID"


def test_an_administrator_puts_out_a_static_member(new_raw: Enter, wire: WireClient) -> None:
    """LeaveGroup with an instance id and no member id removes the static member."""
    static = new_raw("i")
    static.enter()
    leaving = [{"member_id": "", "group_instance_id": "i"}]
    [answer] = wire.ask("LeaveGroup", 4, group_id=static.group, members=leaving)["members"]
    assert answer["error_code"] == 0
    assert _name(static.heartbeat()) == "UNKNOWN_MEMBER_ID"
    static.member_id = ""


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({}, "NONE"),
        ({"member_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
        ({"generation_id_or_member_epoch": 77}, "ILLEGAL_GENERATION"),
        ({"generation_id_or_member_epoch": -1, "member_id": ""}, "UNKNOWN_MEMBER_ID"),
        ({"group_id": "group-nowhere"}, "ILLEGAL_GENERATION"),
        ({"group_instance_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
        ({"metadata": "x" * 4097}, "OFFSET_METADATA_TOO_LARGE"),
        ({"metadata": "x" * 4096}, "NONE"),
        ({"name": "no-such-topic"}, "UNKNOWN_TOPIC_OR_PARTITION"),
        ({"partition": 1}, "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_commits(member: RawMember, changed: dict[str, Any], error: str) -> None:
    """A commit is taken from a member of this generation for a partition that exists, and refused otherwise."""
    assert _name(member.commit(5, **changed)) == error


def test_a_commit_without_members_makes_a_simple_group(new_raw: Enter, wire: WireClient) -> None:
    """Without a generation a commit goes to a group that has no members; a generation needs a group."""
    nobody = new_raw()
    assert _name(nobody.commit(5, version=8, generation_id_or_member_epoch=3)) == "ILLEGAL_GENERATION"
    assert _name(nobody.commit(5, version=9, generation_id_or_member_epoch=3)) == "GROUP_ID_NOT_FOUND"
    assert nobody.commit(5) == 0
    [listed] = [each for each in wire.ask("ListGroups", 5)["groups"] if each["group_id"] == nobody.group]
    assert (listed["group_state"], listed["protocol_type"]) == ("Empty", "")


def test_fetching_offsets_that_are_not_there(wire: WireClient, group: str, topic: str) -> None:
    """What was never committed is offset -1, without an error; so is a group that was never seen."""
    for name in (group, "group-nowhere"):
        asked = [{"name": topic, "partition_indexes": [0, 9]}, {"name": "no-such-topic", "partition_indexes": [0]}]
        answer = wire.ask("OffsetFetch", 7, group_id=name, topics=asked, require_stable=True)
        assert answer["error_code"] == 0
        for each in (one for found in answer["topics"] for one in found["partitions"]):
            values = (each["committed_offset"], each["committed_leader_epoch"], each["metadata"], each["error_code"])
            assert values == (-1, -1, "", 0)
        assert wire.ask("OffsetFetch", 7, group_id=name, topics=None)["topics"] == []


def test_fetching_offsets_with_a_member(wire: WireClient, member: RawMember) -> None:
    """OffsetFetch 9 checks the member that asks, where it names one."""

    def fetch(member_id: str | None, epoch: int) -> str:
        group = {"group_id": member.group, "member_id": member_id, "member_epoch": epoch, "topics": None}
        return _name(wire.ask("OffsetFetch", 9, groups=[group])["groups"][0]["error_code"])

    assert fetch(None, -1) == "NONE"
    assert fetch(member.member_id, member.generation) == "NONE"


def test_finding_a_coordinator(wire: WireClient) -> None:
    """A kind of coordinator that does not exist is INVALID_REQUEST."""
    [found] = wire.ask("FindCoordinator", 4, key_type=7, coordinator_keys=["g"])["coordinators"]
    assert _name(found["error_code"]) == "INVALID_REQUEST"


def test_describing(wire: WireClient, member: RawMember) -> None:
    """A group that nobody knows is described as Dead, from version 6 on with GROUP_ID_NOT_FOUND."""

    def describe(version: int, group: str) -> Message:
        described: Message = wire.ask("DescribeGroups", version, groups=[group])["groups"][0]
        return described

    found = describe(5, member.group)
    assert (found["group_state"], found["protocol_type"], found["protocol_data"]) == ("Stable", "consumer", "range")
    [described] = found["members"]
    assert described["member_id"] == member.member_id
    assert described["client_id"] == "test"
    assert described["client_host"] == "/127.0.0.1"
    assert described["member_metadata"] == subscription(member.topic)
    assert described["member_assignment"] == b"mine"
    unknown = describe(5, "group-nowhere")
    assert (unknown["error_code"], unknown["group_state"]) == (0, "Dead")
    unknown = describe(6, "group-nowhere")
    assert (_name(unknown["error_code"]), unknown["group_state"]) == ("GROUP_ID_NOT_FOUND", "Dead")


def test_listing_with_filters(wire: WireClient, member: RawMember) -> None:
    """Groups are listed by their state and their type, and only those asked for."""

    def listed(**filters: list[str]) -> bool:
        answer = wire.ask("ListGroups", 5, **filters)
        assert answer["error_code"] == 0
        return member.group in [each["group_id"] for each in answer["groups"]]

    assert listed()
    assert listed(states_filter=["Stable"])
    assert listed(states_filter=["stable", "Empty"])
    assert not listed(states_filter=["Empty"])
    assert not listed(states_filter=["Nonsense"])
    assert listed(types_filter=["classic"])
    assert listed(types_filter=["Classic"], states_filter=["Stable"])
    assert not listed(types_filter=["consumer"])


def test_deleting_groups(wire: WireClient, member: RawMember) -> None:
    """A group with members stays, one that is not there is not found, an empty one goes with its offsets."""

    def delete() -> list[str]:
        answer = wire.ask("DeleteGroups", 2, groups_names=[member.group, "group-nowhere"])
        codes = {each["group_id"]: _name(each["error_code"]) for each in answer["results"]}
        return [codes[member.group], codes["group-nowhere"]]

    assert member.commit(5) == 0
    assert delete() == ["NON_EMPTY_GROUP", "GROUP_ID_NOT_FOUND"]
    member.leave()
    assert delete() == ["NONE", "GROUP_ID_NOT_FOUND"]
    assert delete() == ["GROUP_ID_NOT_FOUND", "GROUP_ID_NOT_FOUND"]
    assert wire.ask("OffsetFetch", 7, group_id=member.group, topics=None)["topics"] == []


def _delete_offset(wire: WireClient, group: str, topic: str) -> tuple[str, str]:
    asked = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    answer = wire.ask("OffsetDelete", 0, group_id=group, topics=asked)
    codes = [each["error_code"] for found in answer["topics"] for each in found["partitions"]]
    return _name(answer["error_code"]), _name(codes[0]) if codes else ""


def test_deleting_offsets(wire: WireClient, member: RawMember, new_raw: Enter) -> None:
    """Offsets of a topic that a member is subscribed to stay; a group that is not there is not found."""
    assert member.commit(5) == 0
    assert _delete_offset(wire, "group-nowhere", member.topic) == ("GROUP_ID_NOT_FOUND", "")
    assert _delete_offset(wire, member.group, member.topic) == ("NONE", "GROUP_SUBSCRIBED_TO_TOPIC")
    assert _delete_offset(wire, member.group, "no-such-topic") == ("NONE", "UNKNOWN_TOPIC_OR_PARTITION")
    member.leave()
    assert _delete_offset(wire, member.group, member.topic) == ("NONE", "NONE")
    assert wire.ask("OffsetFetch", 7, group_id=member.group, topics=None)["topics"] == []


def test_deleting_offsets_of_a_group_that_does_not_consume(wire: WireClient, new_raw: Enter) -> None:
    """A group of another protocol type keeps its offsets as long as it has members."""
    connect = new_raw()
    assert connect.join(protocol_type="connect")["error_code"] == 0
    assert connect.sync({connect.member_id: b""}, protocol_type="connect")["error_code"] == 0
    assert _delete_offset(wire, connect.group, connect.topic) == ("NON_EMPTY_GROUP", "")


def test_a_member_whose_connection_is_cut_is_put_out(member: RawMember, new_raw: Enter) -> None:
    """A member that is gone without a word leaves the group when its session ends, and the group goes on."""
    member.leave()
    gone, stays = new_raw(), new_raw()
    assert gone.join(session_timeout_ms=600)["error_code"] == 0
    gone.close()
    gone_id, gone.member_id = gone.member_id, ""
    assert stays.join()["error_code"] == 0
    assert stays.sync({stays.member_id: b"all"})["assignment"] == b"all"
    [described] = stays.wire.ask("DescribeGroups", 5, groups=[stays.group])["groups"]
    assert [each["member_id"] for each in described["members"]] == [stays.member_id]
    assert gone_id != stays.member_id
