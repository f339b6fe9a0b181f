"""Consumer groups of real clients: members come, leave, crash and come back, and every partition has one owner."""

import random

import pytest

from tests.conftest import MemberFactory
from tests.integration.clients import Confluent, ProduceSettings, Sent
from tests.integration.groups import NOW_MS, Member, MemberSettings, python_command, settled
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually

PARTITIONS = 6
SHORT_MS = 3000
"""A session for members that are killed: the others wait for its end."""
CONFLUENT, KAFKA_PYTHON, AIOKAFKA = (python_command(name) for name in ("confluent", "kafka_python", "aio"))
PROGRAMS = {"confluent-kafka": CONFLUENT, "kafka-python": KAFKA_PYTHON, "aiokafka": AIOKAFKA}
EVERY_ASSIGNOR = [
    *(("confluent-kafka", assignor) for assignor in ("range", "roundrobin", "cooperative-sticky")),
    *(("kafka-python", assignor) for assignor in ("range", "roundrobin", "sticky", "cooperative-sticky")),
    *(("aiokafka", assignor) for assignor in ("range", "roundrobin", "sticky")),
]


def _settings(broker: BrokerProcess, topic: str, **changes: object) -> MemberSettings:
    return MemberSettings(broker.bootstrap, topic, f"group-{topic}", **changes)  # type: ignore[arg-type]  # its fields


def _fill(broker: BrokerProcess, topic: str, first: int, count: int) -> None:
    """Put records `first` to `first + count - 1` into each partition."""
    for partition in range(PARTITIONS):
        records = [Sent(None, b"%d" % number, (), NOW_MS) for number in range(first, first + count)]
        Confluent(broker.bootstrap).produce(topic, partition, records, ProduceSettings())


def _all_read(members: list[Member], end: int, what: str) -> None:
    """Wait until each partition was read to its end by somebody."""

    def read() -> bool:
        ends = {
            partition: max(ranges[-1][1] for each in members if (ranges := each.reports.consumed.get(partition)))
            for partition in range(PARTITIONS)
            if any(partition in each.reports.consumed for each in members)
        }
        return len(ends) == PARTITIONS and all(last == end - 1 for last in ends.values())

    try:
        eventually(read, what, 60)
    except AssertionError as error:
        found = [(sorted(member.owned), member.reports.consumed, member.output()) for member in members]
        raise AssertionError(f"{error}: {found}") from None


def _shared_evenly(broker: BrokerProcess, members: list[Member]) -> None:
    """Wait until the group has settled with an equal share for each: cooperative members get there by several steps."""
    settled(broker, members, PARTITIONS)
    share = PARTITIONS // len(members)
    eventually(lambda: all(len(each.owned) == share for each in members), "the partitions are shared evenly", 60)
    settled(broker, members, PARTITIONS)


@pytest.mark.parametrize(("client", "assignor"), EVERY_ASSIGNOR)
def test_members_come_leave_crash_and_come_back(
    groups_broker: BrokerProcess, topic: str, new_member: MemberFactory, client: str, assignor: str
) -> None:
    """After each change every partition has exactly one owner, and nothing is left unread."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    settings = _settings(groups_broker, topic, assignor=assignor, session_timeout=SHORT_MS)
    program = PROGRAMS[client]
    members = [new_member(program, settings)]
    settled(groups_broker, members, PARTITIONS)
    members += [new_member(program, settings), new_member(program, settings)]
    _shared_evenly(groups_broker, members)
    _fill(groups_broker, topic, 0, 20)
    _all_read(members, 20, "three members read everything")
    members[0].leave()
    settled(groups_broker, members[1:], PARTITIONS)
    members[1].kill()
    if assignor == "range":  # otherwise the newcomer is there before the crash is noticed
        settled(groups_broker, members[2:], PARTITIONS)
    members[0].start()
    settled(groups_broker, [members[0], members[2]], PARTITIONS)
    _fill(groups_broker, topic, 20, 20)
    _all_read([members[0], members[2]], 40, "the two that are left read the rest")
    for member in (members[0], members[2]):
        for partition, offsets in member.reports.offsets().items():
            assert sorted(set(offsets)) == offsets, f"partition {partition} was read twice by one member"


def test_different_clients_share_one_group(groups_broker: BrokerProcess, topic: str, new_member: MemberFactory) -> None:
    """Members of all three clients with a common assignor share the partitions, whoever leads the group."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    _fill(groups_broker, topic, 0, 10)
    settings = _settings(groups_broker, topic)
    members = [new_member(program, settings) for program in PROGRAMS.values()]
    _shared_evenly(groups_broker, members)
    _all_read(members, 10, "the clients read everything")
    for _ in range(len(members)):  # each has led the group at the end
        members[0].leave()
        settled(groups_broker, members[1:], PARTITIONS)
        members = [*members[1:], members[0]]
        members[-1].start()
        settled(groups_broker, members, PARTITIONS)


@pytest.mark.parametrize("auto_commit", [False, True], ids=["manual", "auto"])
@pytest.mark.parametrize("client", PROGRAMS)
def test_the_next_member_goes_on_exactly_where_the_last_one_stopped(
    groups_broker: BrokerProcess, topic: str, new_member: MemberFactory, client: str, auto_commit: bool
) -> None:
    """Whoever comes after members that left in order reads the next record of each partition first, no record twice."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    settings = _settings(groups_broker, topic, auto_commit=auto_commit)
    seen = dict.fromkeys(range(PARTITIONS), 0)
    for turn in range(2):
        _fill(groups_broker, topic, turn * 30, 30)
        member = new_member(PROGRAMS[client], settings)
        _all_read([member], (turn + 1) * 30, f"turn {turn}")
        member.leave()
        for partition, offsets in member.reports.offsets().items():
            assert offsets == list(range(seen[partition], (turn + 1) * 30))
            seen[partition] = (turn + 1) * 30


def test_another_client_goes_on_where_the_last_one_stopped(
    groups_broker: BrokerProcess, topic: str, new_member: MemberFactory
) -> None:
    """What one client committed is where each of the others starts."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    for turn, program in enumerate(PROGRAMS.values()):
        _fill(groups_broker, topic, turn * 10, 10)
        member = new_member(program, _settings(groups_broker, topic))
        _all_read([member], (turn + 1) * 10, f"turn {turn}")
        member.leave()
        for offsets in member.reports.offsets().values():
            assert offsets == list(range(turn * 10, (turn + 1) * 10))


@pytest.mark.parametrize("client", PROGRAMS)
def test_a_static_member_comes_back_to_its_partitions(
    groups_broker: BrokerProcess, topic: str, new_member: MemberFactory, client: str
) -> None:
    """A member with an instance id that is restarted within its session gets the same partitions, and nobody else
    sees a rebalance; when it stays away for longer (which is the broker's affair alone), the others take over."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    members = [
        new_member(PROGRAMS[client], _settings(groups_broker, topic, session_timeout=10_000, instance_id=f"i{each}"))
        for each in range(2)
    ]
    first = settled(groups_broker, members, PARTITIONS)
    before = members[0].reports.assignments
    members[1].kill()
    members[1].start()
    assert settled(groups_broker, members, PARTITIONS) == first
    assert members[0].reports.assignments == before
    if client == "confluent-kafka":
        members[1].kill()
        settled(groups_broker, members[:1], PARTITIONS)


def test_a_member_that_is_silent_for_too_long_is_put_out_and_comes_back(
    groups_broker: BrokerProcess, topic: str, new_member: MemberFactory
) -> None:
    """A member whose process stands still loses its partitions; when it goes on it joins again."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    settings = _settings(groups_broker, topic, session_timeout=SHORT_MS)
    members = [new_member(CONFLUENT, settings) for _ in range(2)]
    settled(groups_broker, members, PARTITIONS)
    members[1].pause()
    settled(groups_broker, members[:1], PARTITIONS)
    members[1].resume()
    settled(groups_broker, members, PARTITIONS)


def test_many_changes_in_any_order(groups_broker: BrokerProcess, topic: str, new_member: MemberFactory) -> None:
    """Members that start, leave and are killed without waiting for one another end in a settled group."""
    Confluent(groups_broker.bootstrap).create_topic(topic, PARTITIONS)
    settings = _settings(groups_broker, topic, session_timeout=SHORT_MS)
    choose = random.Random(4)
    members = [new_member(CONFLUENT, settings) for _ in range(4)]
    for _ in range(2):
        settled(groups_broker, members, PARTITIONS)
        for member in choose.sample(members, 3):
            choose.choice([member.kill, member.leave])()
        for member in members:
            if not member.running:
                member.start()
    settled(groups_broker, members, PARTITIONS)
