"""Groups of the consumer protocol (KIP-848), where the broker assigns: real clients, and every error over the wire."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import MemberFactory
from tests.integration.clients import Confluent, ProduceSettings, Sent
from tests.integration.groups import NOW_MS, MemberSettings, python_command, settled
from tests.integration.groups.raw import await_coordinator, committed, subscription
from tests.integration.groups.raw_consumer import RawConsumer
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import ERROR_NAMES, WireClient

PARTITIONS = 6
CONFLUENT, KAFKA_PYTHON = python_command("confluent"), python_command("kafka_python")


NewRaw = Callable[..., RawConsumer]


@pytest.fixture
def group(groups_broker: BrokerProcess, topic: str) -> str:
    """The name of a group that no other test uses; its topic exists and its coordinator is ready."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    await_coordinator(groups_broker, f"group-{topic}")
    return f"group-{topic}"


@pytest.fixture
def new_raw(groups_broker: BrokerProcess, group: str, topic: str) -> Iterator[NewRaw]:
    """Make members of the group that have not joined yet."""
    members: list[RawConsumer] = []

    def make(instance_id: str | None = None) -> RawConsumer:
        members.append(RawConsumer(groups_broker, group, topic, instance_id))
        return members[-1]

    yield make
    for member in members:
        member.beat(member_epoch=-1)
        member.wire.close()


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"group_id": ""}, "INVALID_REQUEST"),
        ({"instance_id": ""}, "INVALID_REQUEST"),
        ({"rack_id": ""}, "INVALID_REQUEST"),
        ({"member_id": ""}, "INVALID_REQUEST"),
        ({"member_epoch": -3}, "INVALID_REQUEST"),
        ({"member_epoch": -2}, "INVALID_REQUEST"),
        ({"subscribed_topic_names": None}, "INVALID_REQUEST"),
        ({"topic_partitions": None}, "INVALID_REQUEST"),
        ({"rebalance_timeout_ms": -1}, "INVALID_REQUEST"),
        ({"server_assignor": "nope"}, "UNSUPPORTED_ASSIGNOR"),
        ({"subscribed_topic_names": None, "subscribed_topic_regex": "("}, "INVALID_REGULAR_EXPRESSION"),
        ({"member_epoch": 3}, "GROUP_ID_NOT_FOUND"),
        ({"member_epoch": -1}, "GROUP_ID_NOT_FOUND"),
    ],
)
def test_joins_that_are_refused(new_raw: NewRaw, changed: dict[str, Any], error: str) -> None:
    """What is wrong with a first heartbeat is told before anything becomes of it."""
    assert new_raw().join_error(**changed) == error


def test_strangers_and_old_epochs(new_raw: NewRaw) -> None:
    """Members that are not there, epochs that were never given and epochs that are past are told apart."""
    member = new_raw()
    member.enter(PARTITIONS)
    epoch = member.epoch
    assert member.error(member_id="nobody") == "UNKNOWN_MEMBER_ID"
    assert member.error(member_id="nobody", member_epoch=-1) == "UNKNOWN_MEMBER_ID"
    assert member.error(member_epoch=epoch + 1) == "FENCED_MEMBER_EPOCH"
    assert member.error(member_epoch=epoch - 1 or epoch + 9) == "FENCED_MEMBER_EPOCH"
    assert member.commit(3) == "NONE"
    assert member.commit(4, generation_id_or_member_epoch=epoch + 1) == "STALE_MEMBER_EPOCH"
    assert member.commit(4, version=8, generation_id_or_member_epoch=epoch + 1) == "UNSUPPORTED_VERSION"
    assert member.commit(4, member_id="nobody") == "UNKNOWN_MEMBER_ID"
    assert member.fetch() == "NONE"
    assert member.fetch(member_epoch=epoch + 1) == "STALE_MEMBER_EPOCH"
    assert member.fetch(member_id="nobody") == "UNKNOWN_MEMBER_ID"
    assert committed(member.wire, member.group, member.topic) == 3


def test_a_full_group(new_raw: NewRaw) -> None:
    """Over group.consumer.max.size a member is refused."""
    for _ in range(8):
        assert new_raw().join_error() == "NONE"
    assert new_raw().join_error() == "GROUP_MAX_SIZE_REACHED"


def test_static_members(new_raw: NewRaw) -> None:
    """An instance id is held by one live member; who leaves for a while gives it free, and keeps the partitions."""
    first, second = new_raw("i"), new_raw("i")
    first.enter(PARTITIONS)
    assert second.join_error() == "UNRELEASED_INSTANCE_ID"
    assert second.error(member_epoch=first.epoch) == "FENCED_INSTANCE_ID"
    first.beat(member_epoch=-2)
    assert second.join()["error_code"] == 0
    eventually(lambda: second.beat()["error_code"] == 0 and len(second.assigned) == PARTITIONS, "the same partitions")
    assert first.error(member_epoch=second.epoch) == "FENCED_INSTANCE_ID"


def test_revoke_before_assign(new_raw: NewRaw) -> None:
    """A partition goes to its next owner only when the owner before has given it up."""
    first, second = new_raw(), new_raw()
    first.enter(PARTITIONS)
    topic_id = first.join(member_epoch=first.epoch)["assignment"]["topic_partitions"][0]["topic_id"]
    assert second.join()["error_code"] == 0
    before = set(first.assigned)
    eventually(lambda: first.beat() and len(first.assigned) == PARTITIONS // 2, "the first is told to give up half")
    for _ in range(5):
        assert second.beat()["error_code"] == 0
        assert not second.assigned
    owned = [{"topic_id": topic_id, "partitions": sorted(first.assigned)}]
    assert first.error(topic_partitions=owned) == "NONE"
    eventually(lambda: second.beat() and len(second.assigned) == PARTITIONS // 2, "the second gets the other half")
    assert first.assigned | second.assigned == before


def test_a_silent_member_is_put_out(new_raw: NewRaw) -> None:
    """A member that does not heartbeat within the session loses its partitions to the others."""
    first, second = new_raw(), new_raw()
    first.enter(PARTITIONS)
    assert second.join()["error_code"] == 0
    eventually(lambda: second.beat() and len(second.assigned) == PARTITIONS, "the other gets everything", 60)
    assert first.error() == "UNKNOWN_MEMBER_ID"


def test_subscription_by_expression(new_raw: NewRaw) -> None:
    """A member that subscribes by a regular expression gets the partitions of the topics that match."""
    member = new_raw()
    expression = f"^{member.topic[:-1]}.$"
    assert member.join_error(subscribed_topic_names=None, subscribed_topic_regex=expression) == "NONE"
    eventually(lambda: member.beat() and len(member.assigned) == PARTITIONS, "the topic is found", 60)


def test_the_two_protocols_do_not_mix_where_they_cannot(new_raw: NewRaw) -> None:
    """A classic member of another protocol type is refused by a consumer group."""
    member = new_raw()
    member.enter(PARTITIONS)
    joining = {
        "group_id": member.group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "connect",
        "protocols": [{"name": "range", "metadata": subscription(member.topic)}],
    }
    answer = member.wire.ask("JoinGroup", 9, **joining)
    assert ERROR_NAMES[answer["error_code"]] == "INCONSISTENT_GROUP_PROTOCOL"
    [described] = member.wire.ask("DescribeGroups", 6, groups=[member.group])["groups"]
    assert ERROR_NAMES[described["error_code"]] == "GROUP_ID_NOT_FOUND"


def test_description(new_raw: NewRaw) -> None:
    """ConsumerGroupDescribe tells state, epochs, assignor and what each member owns and is to own."""
    member = new_raw()
    member.enter(PARTITIONS)
    answer = member.wire.ask("ConsumerGroupDescribe", 1, group_ids=[member.group, "group-nowhere"])
    by_group = {each["group_id"]: each for each in answer["groups"]}
    assert ERROR_NAMES[by_group["group-nowhere"]["error_code"]] == "GROUP_ID_NOT_FOUND"
    found = by_group[member.group]
    assert (found["group_state"], found["assignor_name"]) == ("Stable", "uniform")
    assert found["group_epoch"] == found["assignment_epoch"] == member.epoch
    [described] = found["members"]
    assert (described["member_id"], described["member_epoch"]) == (member.member_id, member.epoch)
    assert described["subscribed_topic_names"] == [member.topic]
    assert described["client_host"] == "/127.0.0.1"
    for which in ("assignment", "target_assignment"):
        [owned] = described[which]["topic_partitions"]
        assert (owned["topic_name"], sorted(owned["partitions"])) == (member.topic, list(range(PARTITIONS)))


def _fill(broker: BrokerProcess, topic: str) -> None:
    for partition in range(PARTITIONS):
        records = [Sent(None, b"%d" % number, (), NOW_MS) for number in range(20)]
        Confluent(broker.bootstrap).produce(topic, partition, records, ProduceSettings())


def _await_commits(broker: BrokerProcess, group: str, topic: str, end: int) -> None:
    with WireClient(broker.port) as wire:
        eventually(
            lambda: all(committed(wire, group, topic, each) == end for each in range(PARTITIONS)),
            f"everything up to {end} is committed",
            60,
        )


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_of_librdkafka(
    groups_broker: BrokerProcess, topic: str, group: str, new_member: MemberFactory, assignor: str
) -> None:
    """Members come, leave, crash and come back; the broker shares the partitions out, nothing is left unread."""
    settings = MemberSettings(groups_broker.bootstrap, topic, group, assignor, group_protocol="consumer")
    members = [new_member(CONFLUENT, settings) for _ in range(3)]
    settled(groups_broker, members, PARTITIONS)
    _fill(groups_broker, topic)
    _await_commits(groups_broker, group, topic, 20)
    members[0].leave()
    settled(groups_broker, members[1:], PARTITIONS)
    members[1].kill()
    settled(groups_broker, members[2:], PARTITIONS)
    members[0].start()
    settled(groups_broker, [members[0], members[2]], PARTITIONS)
    _fill(groups_broker, topic)
    _await_commits(groups_broker, group, topic, 40)
    for member in (members[0], members[2]):
        offsets = list(itertools.chain(*member.reports.offsets().values()))
        assert offsets


def test_a_group_moves_from_one_protocol_to_the_other(
    groups_broker: BrokerProcess, topic: str, group: str, new_member: MemberFactory
) -> None:
    """Classic members and members of the consumer protocol share one group while it is migrated, there and back."""
    classic = MemberSettings(groups_broker.bootstrap, topic, group)
    consumer = MemberSettings(groups_broker.bootstrap, topic, group, "", group_protocol="consumer")
    members = [new_member(KAFKA_PYTHON, classic), new_member(CONFLUENT, classic)]
    settled(groups_broker, members, PARTITIONS)
    members.append(new_member(CONFLUENT, consumer))
    settled(groups_broker, members, PARTITIONS)
    _fill(groups_broker, topic)
    _await_commits(groups_broker, group, topic, 20)
    for member in members[:2]:
        member.leave()
    settled(groups_broker, members[2:], PARTITIONS)
    members[0].start()
    settled(groups_broker, [members[0], members[2]], PARTITIONS)
    members[2].leave()
    settled(groups_broker, members[:1], PARTITIONS)
    _fill(groups_broker, topic)
    _await_commits(groups_broker, group, topic, 40)
