"""Committed offsets: kept over stops and kills of the broker, listed, reset and deleted by administrators."""

import itertools
import threading
from collections.abc import Iterator

import confluent_kafka
import kafka
import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka.admin import AdminClient
from kafka.admin import KafkaAdminClient

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory, MemberFactory
from tests.integration.clients import Confluent, ProduceSettings, Sent
from tests.integration.groups import BROKER_SETTINGS, NOW_MS, MemberSettings, python_command, settled
from tests.integration.groups.raw import RawMember, await_coordinator, committed
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import WireClient, error_code

TIMEOUT_S = 60
PARTITIONS = 4
GROUPS = 5


@pytest.fixture
def group(groups_broker: BrokerProcess, topic: str) -> str:
    """The name of a group that no other test uses, with ten records in each partition of its topic."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    _fill(groups_broker, topic, 10)
    await_coordinator(groups_broker, f"group-{topic}")
    return f"group-{topic}"


@pytest.fixture
def admin(groups_broker: BrokerProcess) -> AdminClient:
    """librdkafka's admin client."""
    return AdminClient({"bootstrap.servers": groups_broker.bootstrap})


@pytest.fixture
def python_admin(groups_broker: BrokerProcess) -> Iterator[KafkaAdminClient]:
    """kafka-python's admin client."""
    client = KafkaAdminClient(bootstrap_servers=groups_broker.bootstrap)
    yield client
    client.close()


def _fill(broker: BrokerProcess, topic: str, count: int) -> None:
    for partition in range(PARTITIONS):
        records = [Sent(None, b"%d" % number, (), NOW_MS) for number in range(count)]
        Confluent(broker.bootstrap).produce(topic, partition, records, ProduceSettings())


def _commit(broker: BrokerProcess, group: str, topic: str, offsets: dict[int, int]) -> None:
    with WireClient(broker.port) as wire:
        partitions = [
            {"partition_index": each, "committed_offset": offset, "committed_leader_epoch": -1}
            for each, offset in offsets.items()
        ]
        topics = [{"name": topic, "partitions": partitions}]
        answer = wire.ask(
            "OffsetCommit", 8, group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics
        )
    assert [each["error_code"] for each in answer["topics"][0]["partitions"]] == [0] * len(offsets)


def _committed(admin: AdminClient, group: str) -> dict[int, int]:
    asked = ConsumerGroupTopicPartitions(group)
    found = admin.list_consumer_group_offsets([asked])[group].result(TIMEOUT_S)
    return {each.partition: each.offset for each in found.topic_partitions or ()}


def test_offsets_are_listed_and_reset(groups_broker: BrokerProcess, admin: AdminClient, topic: str, group: str) -> None:
    """An administrator reads what a group has committed and sets it anew while the group is empty; a consumer starts
    there."""
    _commit(groups_broker, group, topic, {0: 3, 1: 10})
    assert _committed(admin, group) == {0: 3, 1: 10}
    wanted = [confluent_kafka.TopicPartition(topic, 0, 7), confluent_kafka.TopicPartition(topic, 2, 9)]
    reset = ConsumerGroupTopicPartitions(group, wanted)
    admin.alter_consumer_group_offsets([reset])[group].result(TIMEOUT_S)
    assert _committed(admin, group) == {0: 7, 1: 10, 2: 9}
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": groups_broker.bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        got: dict[int, int] = {}

        def all_read() -> bool:
            for message in consumer.consume(100, 0.2):
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                got.setdefault(partition, offset)
            return set(got) == {0, 2, 3}

        eventually(all_read, "the partitions that have records left are read", 60)
        assert got == {0: 7, 2: 9, 3: 0}
    finally:
        consumer.close()


def test_offsets_of_a_group_with_members_are_not_reset(
    groups_broker: BrokerProcess, admin: AdminClient, topic: str, group: str
) -> None:
    """A group that is at work keeps its offsets: the administrator is no member of it."""
    member = RawMember(groups_broker, group, topic)
    member.enter()
    assert member.commit(4) == 0
    reset = ConsumerGroupTopicPartitions(group, [confluent_kafka.TopicPartition(topic, 0, 7)])
    answer = admin.alter_consumer_group_offsets([reset])[group].result(TIMEOUT_S)
    [refused] = answer.topic_partitions
    assert refused.error.code() == confluent_kafka.KafkaError.UNKNOWN_MEMBER_ID
    assert committed(member.wire, group, topic) == 4
    member.leave()
    member.close()


def test_groups_are_listed_described_and_deleted(
    groups_broker: BrokerProcess, admin: AdminClient, topic: str, group: str, new_member: MemberFactory
) -> None:
    """A group with a member of a real client, as the administrator sees it, until it is deleted."""
    settings = MemberSettings(groups_broker.bootstrap, topic, group)
    member = new_member(python_command("confluent"), settings)
    settled(groups_broker, [member], PARTITIONS)
    eventually(lambda: member.reports.committed.get(PARTITIONS - 1) == 10, "everything is read and committed", 60)
    listed = admin.list_consumer_groups(states={ConsumerGroupState.STABLE}).result(TIMEOUT_S)
    assert not listed.errors
    assert group in [each.group_id for each in listed.valid]
    described = admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
    assert (described.state, described.partition_assignor) == (ConsumerGroupState.STABLE, "range")
    [one] = described.members
    assert one.client_id == "rdkafka"
    assert sorted(each.partition for each in one.assignment.topic_partitions) == list(range(PARTITIONS))
    with pytest.raises(KafkaException) as caught:
        admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
    assert caught.value.args[0].code() == confluent_kafka.KafkaError.NON_EMPTY_GROUP
    member.leave()
    described = admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
    assert described.state == ConsumerGroupState.EMPTY
    admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
    listed = admin.list_consumer_groups().result(TIMEOUT_S)
    assert group not in [each.group_id for each in listed.valid]
    with pytest.raises(KafkaException) as caught:
        admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
    assert caught.value.args[0].code() == confluent_kafka.KafkaError.GROUP_ID_NOT_FOUND


def test_python_admin_works_on_offsets(
    groups_broker: BrokerProcess, python_admin: KafkaAdminClient, topic: str, group: str
) -> None:
    """kafka-python's administrator lists, alters and deletes offsets of an empty group."""
    _commit(groups_broker, group, topic, {0: 3, 1: 10})
    places = [kafka.TopicPartition(topic, each) for each in range(2)]

    def offsets() -> dict[int, int]:
        listed = python_admin.list_group_offsets([group])[group]
        return {place.partition: found.offset for place, found in listed.items()}

    assert offsets() == {0: 3, 1: 10}
    python_admin.alter_group_offsets(group, {places[0]: kafka.OffsetAndMetadata(8, "", -1)})
    assert offsets() == {0: 8, 1: 10}
    python_admin.delete_group_offsets(group, places[:1])
    assert offsets() == {1: 10}
    assert group in [each["group_id"] for each in python_admin.list_groups()]
    python_admin.delete_groups([group])
    assert group not in [each["group_id"] for each in python_admin.list_groups()]


def test_offsets_of_a_deleted_topic_are_gone(
    groups_broker: BrokerProcess, admin: AdminClient, topic: str, group: str
) -> None:
    """With a topic go the offsets committed for it; a new topic of that name starts without."""
    _commit(groups_broker, group, topic, {0: 3})
    admin.delete_topics([topic])[topic].result(TIMEOUT_S)
    eventually(lambda: _committed(admin, group) == {}, "the offsets are gone")
    Confluent(groups_broker.bootstrap).create_topic(topic, 1)
    assert _committed(admin, group) == {}


def _commit_until_killed(broker: BrokerProcess, group: str, topic: str, acknowledged: list[int]) -> None:
    with WireClient(broker.port) as wire:
        for offset in itertools.count(1):
            partition = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1}
            try:
                answer = wire.ask(
                    "OffsetCommit",
                    8,
                    group_id=group,
                    generation_id_or_member_epoch=-1,
                    topics=[{"name": topic, "partitions": [partition]}],
                )
            except Exception:  # noqa: BLE001 -- whatever happens to a request when the broker dies
                return
            assert answer["topics"][0]["partitions"][0]["error_code"] == 0
            acknowledged[0] = offset


def test_no_acknowledged_commit_is_lost_when_killed(new_broker: BrokerFactory, topic: str) -> None:
    """Killed in the middle of commits of several groups, the broker comes back with the last one it acknowledged to
    each, or with the one after it; while it loads it says so and tells no wrong offset."""
    broker = new_broker(BROKER_SETTINGS)
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    groups = [f"g{number}" for number in range(GROUPS)]
    for group in groups:
        await_coordinator(broker, group)
    for _ in range(2):
        acknowledged = _kill_in_the_middle_of_commits(broker, groups, topic)
        broker.start()
        with WireClient(broker.port) as wire:
            for group, [last] in acknowledged.items():
                assert committed(wire, group, topic) in (last, last + 1)


def _kill_in_the_middle_of_commits(broker: BrokerProcess, groups: list[str], topic: str) -> dict[str, list[int]]:
    """Commit for every group at once until the broker is killed; return the last acknowledged offset of each."""
    acknowledged = {group: [0] for group in groups}
    threads = [
        threading.Thread(target=_commit_until_killed, args=(broker, group, topic, acknowledged[group]))
        for group in groups
    ]
    for thread in threads:
        thread.start()
    eventually(lambda: min(last for [last] in acknowledged.values()) > 100, "commits flow", 60)
    broker.kill()
    for thread in threads:
        thread.join(60)
    return acknowledged


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_groups_go_on_after_the_broker_ended(
    new_broker: BrokerFactory, new_member: MemberFactory, topic: str, how: str
) -> None:
    """Members that run while the broker is ended and started again go on by themselves: each record is read, the
    committed offsets reach the end."""
    broker = new_broker(BROKER_SETTINGS)
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic, PARTITIONS)
    await_coordinator(broker, f"group-{topic}")
    _fill(broker, topic, 50)
    settings = MemberSettings(broker.bootstrap, topic, f"group-{topic}", session_timeout=6000)
    members = [new_member(python_command(name), settings) for name in ("confluent", "kafka_python", "aio")]
    settled(broker, members, PARTITIONS)

    def all_committed(end: int) -> bool:
        with WireClient(broker.port) as wire:
            return all(committed(wire, settings.group, topic, each) == end for each in range(PARTITIONS))

    eventually(lambda: all_committed(50), "everything is committed", 60)
    if how == "stop":
        assert broker.stop() == (143 if AGAINST_APACHE_KAFKA else 0), broker.log
    else:
        broker.kill()
    broker.start()
    assert all_committed(50)
    _fill(broker, topic, 50)
    eventually(lambda: all_committed(100), "what came after the restart is committed as well", 60)
    settled(broker, members, PARTITIONS)
    for member in members:
        member.leave()


def test_a_member_keeps_its_place_over_a_restart(new_broker: BrokerFactory, topic: str) -> None:
    """Members, generation and assignments are in the log: after kill -9 a heartbeat is answered as if nothing had
    happened, and the assignment is still known."""
    broker = new_broker(BROKER_SETTINGS)
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    await_coordinator(broker, "g")
    member = RawMember(broker, "g", topic)
    member.enter()
    assert member.commit(5) == 0
    broker.kill()
    member.close()
    broker.start()

    loading = {error_code(name) for name in ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR")}
    answer = eventually(lambda: None if (got := member.sync())["error_code"] in loading else got, "the group is loaded")
    assert answer is not None
    assert (answer["error_code"], answer["assignment"]) == (0, b"mine")
    assert member.heartbeat() == 0
    assert member.heartbeat(generation_id=member.generation + 1) == error_code("ILLEGAL_GENERATION")
    assert member.commit(6) == 0
    [described] = member.wire.ask("DescribeGroups", 5, groups=["g"])["groups"]
    assert described["group_state"] == "Stable"
    assert [each["member_id"] for each in described["members"]] == [member.member_id]
    member.close()
