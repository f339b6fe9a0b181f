"""Committed offsets and groups lie in Kafka's own records: each broker goes on with the groups of the other."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MemberFactory
from tests.integration.clients import Confluent, ProduceSettings, Sent
from tests.integration.groups import BROKER_SETTINGS, NOW_MS, MemberSettings, python_command, settled
from tests.integration.groups.raw import RawMember, await_coordinator, committed
from tests.integration.groups.raw_consumer import RawConsumer
from tests.support.broker import ApacheKafkaProcess, BrokerProcess, OdradekProcess
from tests.support.waiting import eventually
from tests.support.wire import WireClient, error_code

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("apache-kafka"), pytest.mark.timeout(300)]

PARTITIONS = 3
SIMPLE = [f"simple-{number}" for number in range(5)]
SETTINGS = {**BROKER_SETTINGS, "group.consumer.session.timeout.ms": "40000", "group.consumer.max.size": "100"}
LOADING = {
    error_code(name) for name in ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
}


def _offsets(wire: WireClient, group: str) -> dict[tuple[str, int], tuple[int, int, str]]:
    """Return everything that a group has committed."""

    def ask() -> dict[str, Any] | None:
        answer = wire.ask("OffsetFetch", 7, group_id=group, topics=None)
        return None if answer["error_code"] in LOADING else answer

    answer = eventually(ask, f"{group} is loaded", 60)
    assert answer is not None
    assert answer["error_code"] == 0
    return {
        (each["name"], place["partition_index"]): (
            place["committed_offset"],
            place["committed_leader_epoch"],
            place["metadata"],
        )
        for each in answer["topics"]
        for place in each["partitions"]
    }


def _commit(wire: WireClient, group: str, topic: str, offset: int) -> None:
    partitions = [
        {
            "partition_index": each,
            "committed_offset": offset + each,
            "committed_leader_epoch": each - 1,
            "committed_metadata": f"m{each}é",
        }
        for each in range(PARTITIONS)
    ]
    topics = [{"name": topic, "partitions": partitions}]
    answer = wire.ask("OffsetCommit", 8, group_id=group, generation_id_or_member_epoch=-1, topics=topics)
    assert [each["error_code"] for each in answer["topics"][0]["partitions"]] == [0] * PARTITIONS


def _populate(broker: BrokerProcess, topic: str) -> None:
    """Make groups of every kind: simple ones, deleted ones, a classic one and one of the consumer protocol."""
    Confluent(broker.bootstrap).create_topic(topic, PARTITIONS)
    for group in (*SIMPLE, "deleted", "classic", "consumer", "real"):
        await_coordinator(broker, group)
    with WireClient(broker.port) as wire:
        for number, group in enumerate(SIMPLE):
            for offset in (1, 100 * number + 5):
                _commit(wire, group, topic, offset)
        _commit(wire, "deleted", topic, 7)
        places = [{"name": topic, "partitions": [{"partition_index": 1}]}]
        assert wire.ask("OffsetDelete", 0, group_id=SIMPLE[0], topics=places)["error_code"] == 0
        [deleted] = wire.ask("DeleteGroups", 2, groups_names=["deleted"])["results"]
        assert deleted["error_code"] == 0


def _seen(broker: BrokerProcess, groups: tuple[str, ...] = (*SIMPLE, "deleted", "classic", "consumer", "real")) -> Any:
    """Return what a broker tells of all groups, where it does not depend on the moment."""
    with WireClient(broker.port) as wire:
        offsets = {group: _offsets(wire, group) for group in groups}
        listed = wire.ask("ListGroups", 5)
        assert listed["error_code"] == 0
        kinds = sorted((each["group_id"], each["protocol_type"], each["group_type"]) for each in listed["groups"])
        [classic] = wire.ask("DescribeGroups", 5, groups=["classic"])["groups"]
        [consumer] = wire.ask("ConsumerGroupDescribe", 1, group_ids=["consumer"])["groups"]
        return offsets, kinds, classic, consumer


def _fill(broker: BrokerProcess, topic: str) -> None:
    for partition in range(PARTITIONS):
        records = [Sent(None, b"%d" % number, (), NOW_MS) for number in range(10)]
        Confluent(broker.bootstrap).produce(topic, partition, records, ProduceSettings())


def _consume(broker: BrokerProcess, new_member: MemberFactory, topic: str, first: int) -> None:
    """Put ten records into each partition and let a real member of a group read them: those, and no others."""
    _fill(broker, topic)
    member = new_member(python_command("confluent"), MemberSettings(broker.bootstrap, topic, "real"))
    settled(broker, [member], PARTITIONS)
    with WireClient(broker.port) as wire:
        eventually(
            lambda: all(committed(wire, "real", topic, each) == first + 10 for each in range(PARTITIONS)),
            "everything is committed",
            60,
        )
    member.leave()
    expected = {partition: list(range(first, first + 10)) for partition in range(PARTITIONS)}
    assert member.reports.offsets() == expected


@pytest.mark.parametrize("first", ["odradek", "apache-kafka"])
def test_each_broker_goes_on_with_the_groups_of_the_other(
    tmp_path: Path, topic: str, new_member: MemberFactory, first: str
) -> None:
    """Offsets, members, generations, epochs and assignments are the same after the other broker has started on a copy
    of the directory; consumers go on at the right record, there and back."""
    one: BrokerProcess = OdradekProcess(tmp_path / "one", SETTINGS)
    other: BrokerProcess = ApacheKafkaProcess(tmp_path / "other", SETTINGS)
    if first == "apache-kafka":
        one, other = ApacheKafkaProcess(tmp_path / "one", SETTINGS), OdradekProcess(tmp_path / "other", SETTINGS)
    try:
        one.start()
        _populate(one, topic)
        _consume(one, new_member, topic, 0)
        classic, consumer = RawMember(one, "classic", topic), RawConsumer(one, "consumer", topic)
        assert classic.join(session_timeout_ms=60_000)["error_code"] == 0
        assert classic.sync({classic.member_id: b"\0\0\0\0\0\0\0\0\0\0"})["error_code"] == 0
        assert classic.commit(3) == 0
        consumer.enter(PARTITIONS)
        assert consumer.commit(4) == "NONE"
        before = _seen(one)
        for member in (classic, consumer):
            member.wire.close()
        one.kill()
        shutil.copytree(one.data, other.data)
        other.start()
        assert _seen(other) == before
        classic.wire.port = consumer.wire.port = other.port
        assert classic.heartbeat() == 0
        assert classic.commit(6) == 0
        assert consumer.error() == "NONE"
        assert consumer.commit(7) == "NONE"
        _consume(other, new_member, topic, 10)
        after = _seen(other)
        for member in (classic, consumer):
            member.wire.close()
        if first == "apache-kafka":
            return  # the way back is what the other order begins with
        other.stop()
        shutil.rmtree(one.data)
        shutil.copytree(other.data, one.data)
        one.start()
        assert _seen(one) == after
        _consume(one, new_member, topic, 20)
    finally:
        for broker in (one, other):
            broker.discard()
