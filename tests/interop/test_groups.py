"""Groups whose members are clients of every language, and Apache Kafka's own tools for groups."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import IN_CI, MemberFactory
from tests.integration.clients import Confluent, ProduceSettings, Sent
from tests.integration.groups import NOW_MS, Command, Member, MemberSettings, python_command, settled
from tests.integration.groups.raw import await_coordinator, committed
from tests.interop.clients import go_member, java_member, missing, node_member
from tests.support.broker import BrokerProcess, run_java
from tests.support.waiting import eventually
from tests.support.wire import WireClient

pytestmark = pytest.mark.interop

PARTITIONS = 10
SESSION_MS = 5000
CONFLUENT, KAFKA_PYTHON, AIOKAFKA = (python_command(name) for name in ("confluent", "kafka_python", "aio"))

needs_go = pytest.mark.skipif(bool(missing("go")) and not IN_CI, reason="Go is not installed")
needs_node = pytest.mark.skipif(bool(missing("node", "npm")) and not IN_CI, reason="Node and npm are not installed")


@pytest.fixture
def java(tmp_path: Path) -> Command:
    """Apache Kafka's VerifiableConsumer as a member."""
    return java_member(tmp_path)


def _prepare(broker: BrokerProcess, topic: str, **changed: object) -> MemberSettings:
    Confluent(broker.bootstrap).create_topic(topic, PARTITIONS)
    await_coordinator(broker, f"group-{topic}")
    settings = MemberSettings(broker.bootstrap, topic, f"group-{topic}", session_timeout=SESSION_MS)
    return MemberSettings(**{**{name: getattr(settings, name) for name in settings.__slots__}, **changed})


def _fill(broker: BrokerProcess, topic: str, count: int) -> None:
    for partition in range(PARTITIONS):
        records = [Sent(None, b"%d" % number, (), NOW_MS) for number in range(count)]
        Confluent(broker.bootstrap).produce(topic, partition, records, ProduceSettings())


def _await_commits(broker: BrokerProcess, members: Sequence[Member], end: int) -> None:
    """Wait until the group has committed the end of every partition."""
    settings = members[0].settings

    def all_committed() -> bool:
        with WireClient(broker.port) as wire:
            return all(committed(wire, settings.group, settings.topic, each) == end for each in range(PARTITIONS))

    try:
        eventually(all_committed, f"everything up to {end} is committed", 60)
    except AssertionError as error:
        raise AssertionError(f"{error}: {[(each.reports.committed, each.output()) for each in members]}") from None


def _share_crash_and_resume(
    broker: BrokerProcess, new_member: MemberFactory, programs: Sequence[Command], settings: MemberSettings
) -> None:
    """A group of these programs shares the partitions and commits; one crashes, one leaves, the rest goes on; when all
    have left, a member of each kind starts exactly where the group stopped."""
    members = [new_member(program, settings) for program in programs]
    settled(broker, members, PARTITIONS)
    _fill(broker, settings.topic, 20)
    _await_commits(broker, members, 20)
    members[0].kill()
    rest = members[1:]
    settled(broker, rest, PARTITIONS)
    _fill(broker, settings.topic, 20)
    _await_commits(broker, rest, 40)
    members[0].start()
    settled(broker, members, PARTITIONS)
    for member in members:
        member.ask_to_leave()
    for member in members:
        member.wait()
        assert member.reports.closed, member.output()
    _fill(broker, settings.topic, 5)
    for member in members:
        member.start()
    settled(broker, members, PARTITIONS)
    _await_commits(broker, members, 45)
    read: dict[int, list[int]] = {}
    for member in members:
        for partition, offsets in member.reports.offsets().items():
            read.setdefault(partition, []).extend(offsets)
    assert {partition: sorted(set(offsets)) for partition, offsets in read.items()} == {
        partition: list(range(40, 45)) for partition in range(PARTITIONS)
    }


@needs_go
@needs_node
def test_clients_of_every_language_in_one_group(
    groups_broker: BrokerProcess, topic: str, new_member: MemberFactory, java: Command
) -> None:
    """Java, Go, Node and the three Python clients share one group by Kafka's range assignor, whoever leads it."""
    programs = [java, go_member, node_member, CONFLUENT, KAFKA_PYTHON, AIOKAFKA]
    _share_crash_and_resume(groups_broker, new_member, programs, _prepare(groups_broker, topic))


@needs_go
@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_franz_go_and_java_with_sticky_assignors(
    groups_broker: BrokerProcess, topic: str, new_member: MemberFactory, java: Command, assignor: str
) -> None:
    """franz-go, Java and a Python client share a group, eager and cooperative, with what the assignors tell each other
    in their metadata."""
    third = CONFLUENT if assignor != "sticky" else KAFKA_PYTHON
    settings = _prepare(groups_broker, topic, assignor=assignor)
    _share_crash_and_resume(groups_broker, new_member, [go_member, java, third], settings)


@needs_node
def test_kafkajs_leads_and_follows(groups_broker: BrokerProcess, topic: str, new_member: MemberFactory) -> None:
    """kafkajs comes first, and so leads the group that a librdkafka client joins; then the other way round."""
    settings = _prepare(groups_broker, topic)
    node = new_member(node_member, settings)
    settled(groups_broker, [node], PARTITIONS)
    other = new_member(CONFLUENT, settings)
    settled(groups_broker, [node, other], PARTITIONS)
    node.leave()
    settled(groups_broker, [other], PARTITIONS)
    node.start()
    settled(groups_broker, [node, other], PARTITIONS)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_console_consumer_goes_on_where_it_stopped(groups_broker: BrokerProcess, topic: str, protocol: str) -> None:
    """Two runs of the console consumer in one group read everything, each record once."""
    settings = _prepare(groups_broker, topic)
    _fill(groups_broker, topic, 10)
    given = ["--bootstrap-server", settings.bootstrap, "--topic", topic, "--group", settings.group]
    properties = [f"group.protocol={protocol}", "auto.offset.reset=earliest"]
    given += [item for each in properties for item in ("--command-property", each)]
    given += ["--formatter-property", "print.partition=true", "--max-messages", str(PARTITIONS * 5)]
    lines: list[str] = []
    for _ in range(2):
        done = run_java("org.apache.kafka.tools.consumer.ConsoleConsumer", *given, "--timeout-ms", "30000")
        lines += done.stdout.decode().splitlines()
    expected = [f"Partition:{partition}\t{number}" for partition in range(PARTITIONS) for number in range(10)]
    assert sorted(lines) == sorted(expected)


def test_kafka_consumer_groups(groups_broker: BrokerProcess, topic: str, new_member: MemberFactory) -> None:
    """kafka-consumer-groups lists, describes, resets, deletes offsets and deletes a group."""
    settings = _prepare(groups_broker, topic)
    _fill(groups_broker, topic, 10)
    member = new_member(CONFLUENT, settings)
    settled(groups_broker, [member], PARTITIONS)
    _await_commits(groups_broker, [member], 10)
    given = ["--bootstrap-server", settings.bootstrap]
    name = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

    def tool(*arguments: str) -> str:
        return run_java(name, *given, *arguments).stdout.decode()

    group = ["--group", settings.group]
    assert re.search(rf"{settings.group} +Classic +.*Stable|{settings.group} +Stable", tool("--list", "--state"))
    described = tool("--describe", *group)
    assert len(re.findall(rf"^{settings.group} +{topic} +\d+ +10 +10 +0 +rdkafka-", described, re.MULTILINE)) == 10
    assert re.search(rf"{settings.group} .*range +Stable +1", tool("--describe", "--state", *group))
    member.leave()
    everything = ["--topic", topic, "--to-offset", "4", "--execute"]
    tool("--reset-offsets", *group, *everything)
    described = tool("--describe", *group)
    assert len(re.findall(rf"^{settings.group} +{topic} +\d+ +4 +10 +6 +- ", described, re.MULTILINE)) == 10
    tool("--delete-offsets", *group, "--topic", f"{topic}:0,1")
    with WireClient(groups_broker.port) as wire:
        assert [committed(wire, settings.group, topic, each) for each in range(3)] == [-1, -1, 4]
        tool("--delete", *group)
        assert committed(wire, settings.group, topic, 2) == -1


def test_members_of_the_consumer_protocol(
    groups_broker: BrokerProcess, topic: str, new_member: MemberFactory, java: Command
) -> None:
    """Java and librdkafka members share a group whose partitions the broker assigns."""
    settings = _prepare(groups_broker, topic, group_protocol="consumer", assignor="uniform")
    _share_crash_and_resume(groups_broker, new_member, [java, CONFLUENT, CONFLUENT], settings)
