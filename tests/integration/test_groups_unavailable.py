"""What each API of groups answers while the coordinator cannot work: it loads, cannot load, cannot write, is not there.

The kernel's limit on the size of files stands in for a full disk; it can be set and lifted while the broker runs.
"""

import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.integration.clients import Confluent
from tests.integration.groups import BROKER_SETTINGS
from tests.integration.groups.offsets_log import (
    ABORT,
    COMMIT,
    ONE_PARTITION,
    append_to_offsets,
    marker,
    offset_record,
    transaction,
)
from tests.integration.groups.raw import RawMember, await_coordinator, committed
from tests.integration.groups.raw_consumer import RawConsumer
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import ERROR_NAMES, BatchFields, Message, WireClient

needs_odradek = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka halts or is done too soon")

SETTINGS = {**BROKER_SETTINGS, **ONE_PARTITION}
TOPIC = "t"
SLOWLY = {"offsets.load.buffer.size": "1"}
"""One batch is read at a time."""
BATCHES_TO_LOAD = 8000
"""Some seconds' worth of that."""


class Ask(NamedTuple):
    """A request of an API of groups, and where its error is found."""

    version: int
    fields: Mapping[str, object]
    error: Callable[[Message], int]


def _of_request(answer: Message) -> int:
    return int(answer["error_code"])


def _of(*path: str) -> Callable[[Message], int]:
    def find(answer: Message) -> int:
        for name in path:
            [answer] = answer[name]
        return int(answer["error_code"])

    return find


_PLACE = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1}
_JOINING = {"session_timeout_ms": 6000, "rebalance_timeout_ms": 6000, "protocol_type": "consumer"}
ASKS = {
    "FindCoordinator": Ask(4, {"key_type": 0, "coordinator_keys": ["g"]}, _of("coordinators")),
    "JoinGroup": Ask(
        7,
        {"group_id": "g", "member_id": "", "protocols": [{"name": "range", "metadata": b""}], **_JOINING},
        _of_request,
    ),
    "SyncGroup": Ask(
        5,
        {"group_id": "g", "member_id": "m", "protocol_type": "consumer", "protocol_name": "range"},
        _of_request,
    ),
    "Heartbeat": Ask(4, {"group_id": "g", "generation_id": 1, "member_id": "m"}, _of_request),
    "LeaveGroup": Ask(4, {"group_id": "g", "members": [{"member_id": "m"}]}, _of_request),
    "OffsetCommit": Ask(
        8,
        {"group_id": "g", "generation_id_or_member_epoch": -1, "topics": [{"name": TOPIC, "partitions": [_PLACE]}]},
        _of("topics", "partitions"),
    ),
    "OffsetFetch": Ask(8, {"groups": [{"group_id": "g", "topics": None}]}, _of("groups")),
    "OffsetDelete": Ask(
        0, {"group_id": "g", "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]}, _of_request
    ),
    "DescribeGroups": Ask(5, {"groups": ["g"]}, _of("groups")),
    "ListGroups": Ask(5, {}, _of_request),
    "DeleteGroups": Ask(2, {"groups_names": ["g"]}, _of("results")),
    "ConsumerGroupHeartbeat": Ask(
        1,
        {
            "group_id": "g",
            "member_id": "m",
            "rebalance_timeout_ms": 6000,
            "subscribed_topic_names": [TOPIC],
            "topic_partitions": [],
        },
        _of_request,
    ),
    "ConsumerGroupDescribe": Ask(1, {"group_ids": ["g"]}, _of("groups")),
}


def _answer(wire: WireClient, api: str) -> str:
    """Ask one thing, and return the name of the error."""
    ask = ASKS[api]
    return ERROR_NAMES[ask.error(wire.ask(api, ask.version, **ask.fields))]


def _answers(broker: BrokerProcess) -> dict[str, str]:
    """Ask everything, and return the name of each error."""
    with WireClient(broker.port) as wire:
        return {api: _answer(wire, api) for api in ASKS}


def _all(error: str, **others: str) -> dict[str, str]:
    return {**dict.fromkeys(ASKS, error), **others}


@contextmanager
def _full_disk(broker: BrokerProcess, size: int) -> Iterator[None]:
    """Let no file grow beyond a size."""
    _, hard = resource.prlimit(broker.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (hard, hard))


@pytest.fixture
def broker(new_broker: BrokerFactory) -> BrokerProcess:
    """A broker with one partition of committed offsets, started, with a topic."""
    made = new_broker({**SETTINGS, **SLOWLY})
    made.start()
    Confluent(made.bootstrap).create_topic(TOPIC, 40)
    return made


@pytest.fixture
def killed(broker: BrokerProcess) -> BrokerProcess:
    """The broker after it was killed; its group has committed offset 1."""
    await_coordinator(broker, "g")
    with WireClient(broker.port) as wire:
        assert _answer(wire, "OffsetCommit") == "NONE"
    broker.kill()
    return broker


@needs_odradek
def test_while_groups_are_loaded(killed: BrokerProcess) -> None:
    """COORDINATOR_LOAD_IN_PROGRESS for all that has to know the group, no error for a heartbeat, of which there is
    nothing to know; then the last offset."""
    append_to_offsets(killed, *(([offset_record("g", TOPIC, 0, n)], BatchFields()) for n in range(BATCHES_TO_LOAD)))
    killed.start()
    assert _answers(killed) == _all("COORDINATOR_LOAD_IN_PROGRESS", FindCoordinator="NONE", Heartbeat="NONE")
    with WireClient(killed.port) as wire:
        assert committed(wire, "g", TOPIC) == BATCHES_TO_LOAD - 1
    assert killed.stop() == 0


@needs_odradek
def test_groups_that_cannot_be_loaded(killed: BrokerProcess) -> None:
    """NOT_COORDINATOR; the log says once which file it is, and a stop is a stop."""
    append_to_offsets(killed, transaction(7, [offset_record("g", TOPIC, 0, 2)]))
    killed.start()
    eventually(lambda: _answers(killed)["OffsetFetch"] == "NONE", "the group is loaded")
    assert killed.stop() == 0
    path = killed.data / "__consumer_offsets-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[70] ^= 1  # in the first batch: after a stop in order only the end of the log is looked at
    path.write_bytes(data)
    killed.start()
    eventually(lambda: _answers(killed)["OffsetFetch"] == "NOT_COORDINATOR", "the file was found to be damaged")
    assert _answers(killed) == _all("NOT_COORDINATOR", FindCoordinator="NONE", ListGroups="NONE")
    [said] = [line for line in killed.log.splitlines() if "cannot be loaded" in line]
    assert str(path) in said
    assert killed.stop() == 0


@needs_odradek
def test_groups_whose_topic_cannot_be_made(broker: BrokerProcess) -> None:
    """As before anybody has asked who coordinates, as long as there is no room for it; and then it is made."""
    unavailable = _all("NOT_COORDINATOR", ListGroups="NONE", FindCoordinator="COORDINATOR_NOT_AVAILABLE")
    with _full_disk(broker, 1000):
        assert _answers(broker) == unavailable
    assert _answers(broker)["OffsetCommit"] == "NONE"


@needs_odradek
def test_groups_on_a_full_disk(broker: BrokerProcess) -> None:
    """NOT_COORDINATOR for whatever has to be written, nothing of it has happened, reading goes on; later it works."""
    await_coordinator(broker, "g")
    consumer, newcomer = RawConsumer(broker, "consumer", TOPIC), RawConsumer(broker, "consumer", TOPIC)
    member = RawMember(broker, "classic", TOPIC)
    consumer.enter(40)
    assert member.join()["error_code"] == 0
    with WireClient(broker.port) as wire:
        assert _answer(wire, "OffsetCommit") == "NONE"
        size = (broker.data / "__consumer_offsets-0" / f"{0:020d}.log").stat().st_size
        with _full_disk(broker, size):
            for api in ("OffsetCommit", "OffsetDelete", "DeleteGroups"):
                assert _answer(wire, api) == "NOT_COORDINATOR", api
            assert newcomer.join_error() == "NOT_COORDINATOR"
            assert ERROR_NAMES[member.sync({member.member_id: b"mine"})["error_code"]] == "NOT_COORDINATOR"
            assert _answer(wire, "OffsetFetch") == "NONE"
            assert committed(wire, "g", TOPIC) == 1
            assert consumer.error() == "NONE"
        assert _answer(wire, "OffsetCommit") == "NONE"
    assert member.join()["error_code"] == 0
    assert member.sync({member.member_id: b"mine"})["assignment"] == b"mine"
    for each in (consumer, newcomer, member):
        each.wire.close()


@pytest.mark.parametrize(
    ("config", "text"),
    [({"max.message.bytes": "1000"}, 2000), ({"max.message.bytes": "10000000", "segment.bytes": "1048576"}, 30_000)],
    ids=["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"],
)
def test_commits_that_are_too_large_for_the_log(
    new_broker: BrokerFactory, config: Mapping[str, str], text: int
) -> None:
    """More than a batch, or a segment, of the topic may hold is UNKNOWN_SERVER_ERROR, and changes nothing."""
    broker = new_broker({**SETTINGS, "offset.metadata.max.bytes": "32000"})
    broker.start()
    Confluent(broker.bootstrap).create_topic(TOPIC, 40)
    await_coordinator(broker, "g")
    configs = [{"name": name, "config_operation": 0, "value": value} for name, value in config.items()]
    resource_ = {"resource_type": 2, "resource_name": "__consumer_offsets", "configs": configs}
    places = [{**_PLACE, "partition_index": index, "committed_metadata": "m" * text} for index in range(40)]
    with WireClient(broker.port) as wire:
        [changed] = wire.ask("IncrementalAlterConfigs", 1, resources=[resource_])["responses"]
        assert changed["error_code"] == 0

        def commit(count: int) -> set[str]:
            topics = [{"name": TOPIC, "partitions": places[:count]}]
            answer = wire.ask("OffsetCommit", 8, group_id="g", generation_id_or_member_epoch=-1, topics=topics)
            return {ERROR_NAMES[each["error_code"]] for each in answer["topics"][0]["partitions"]}

        eventually(lambda: commit(40) == {"UNKNOWN_SERVER_ERROR"}, "the limit is in force")
        assert committed(wire, "g", TOPIC, 39) == -1
        places[0]["committed_metadata"] = ""
        assert commit(1) == {"NONE"}


@needs_odradek
def test_commits_that_take_too_long_to_be_safe(new_broker: BrokerFactory) -> None:
    """COORDINATOR_NOT_AVAILABLE after offsets.commit.timeout.ms; NOT_COORDINATOR to who asks for stable offsets."""
    broker = new_broker({**SETTINGS, "offsets.commit.timeout.ms": "1"})  # seldom enough for an fsync
    broker.start()
    Confluent(broker.bootstrap).create_topic(TOPIC)
    await_coordinator(broker, "g")
    configs = [{"name": "flush.messages", "config_operation": 0, "value": "1"}]
    resource_ = {"resource_type": 2, "resource_name": "__consumer_offsets", "configs": configs}
    with WireClient(broker.port) as wire, WireClient(broker.port) as other:
        [changed] = wire.ask("IncrementalAlterConfigs", 1, resources=[resource_])["responses"]
        assert changed["error_code"] == 0
        for api in ("OffsetCommit", "DeleteGroups", "OffsetDelete"):

            def is_late(api: str = api) -> bool:
                if api != "OffsetCommit":
                    _answer(wire, "OffsetCommit")
                return _answer(wire, api) == "COORDINATOR_NOT_AVAILABLE"

            eventually(is_late, f"{api} is late", 60)

        def fetch_is_late() -> bool:
            commit = ASKS["OffsetCommit"]
            other.send("OffsetCommit", commit.version, **commit.fields)
            asked = [{"group_id": "g", "topics": None}]
            [found] = wire.ask("OffsetFetch", 8, groups=asked, require_stable=True)["groups"]
            other.answer("OffsetCommit", commit.version)
            return ERROR_NAMES[found["error_code"]] == "NOT_COORDINATOR"

        eventually(fetch_is_late, "OffsetFetch is late", 60)
        eventually(lambda: committed(wire, "g", TOPIC) == 1, "what came too late for an answer is there")


def _seen(wire: WireClient, partition: int, require_stable: bool) -> tuple[int, str]:
    """Return the committed offset and the error of a partition."""
    asked = [{"name": TOPIC, "partition_indexes": [partition]}]
    answer = wire.ask("OffsetFetch", 7, group_id="g", topics=asked, require_stable=require_stable)
    assert answer["error_code"] == 0
    [[found]] = [topic["partitions"] for topic in answer["topics"]]
    return found["committed_offset"], ERROR_NAMES[found["error_code"]]


@pytest.mark.parametrize("how", ["committed", "aborted"])
def test_offsets_of_an_open_transaction(killed: BrokerProcess, how: str) -> None:
    """Who asks for stable offsets is told UNSTABLE_OFFSET_COMMIT, all others the ones before, over any number of
    starts, until the transaction ends; committed they count, aborted they never were."""
    append_to_offsets(
        killed, transaction(7, [offset_record("g", TOPIC, 0, 20), offset_record("only-pending", TOPIC, 1, 30)])
    )
    for _ in range(2):
        killed.start()
        with WireClient(killed.port) as wire:
            assert committed(wire, "g", TOPIC) == 1
            assert _seen(wire, 0, require_stable=False) == (1, "NONE")
            assert _seen(wire, 0, require_stable=True) == (-1, "UNSTABLE_OFFSET_COMMIT")
            assert _seen(wire, 1, require_stable=True) == (-1, "NONE")
            assert committed(wire, "only-pending", TOPIC, 1) == -1
        killed.kill()
    append_to_offsets(killed, marker(7, COMMIT if how == "committed" else ABORT))
    killed.start()
    with WireClient(killed.port) as wire:
        assert committed(wire, "g", TOPIC) == (20 if how == "committed" else 1)
        assert _seen(wire, 0, require_stable=True) == (20 if how == "committed" else 1, "NONE")
        assert committed(wire, "only-pending", TOPIC, 1) == (30 if how == "committed" else -1)
