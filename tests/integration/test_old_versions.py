"""The first versions of the APIs, which Apache Kafka 4 dropped: each answers in the form and with the meaning it had.

Produce and Fetch have tests of their own. Asked with a client that is driven by Kafka's own schemas.
"""

import struct
import time
from collections.abc import Iterator

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA
from tests.support.broker import BrokerProcess
from tests.support.wire import BatchFields, Message, Record, WireClient, build_batch, encode, error_code
from tests.support.wire.codec import decode

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="Apache Kafka 4 dropped these versions")

LATEST, EARLIEST = -1, -2
NOW_MS = int(time.time() * 1000)


@pytest.fixture
def wire(broker: BrokerProcess) -> Iterator[WireClient]:
    """A connection to the shared broker."""
    with WireClient(broker.port) as client:
        yield client


@pytest.fixture
def filled(wire: WireClient, topic: str) -> str:
    """The name of a topic of two partitions with three records in the first."""
    new = {"name": topic, "num_partitions": 2, "replication_factor": 1}
    [created] = wire.ask("CreateTopics", 0, timeout_ms=5000, topics=[new])["topics"]
    assert created == {"name": topic, "error_code": 0}
    batch = build_batch([Record(None, b"%d" % number) for number in range(3)], BatchFields(timestamp=NOW_MS))
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    answer = wire.ask("Produce", 3, acks=-1, timeout_ms=5000, topic_data=data)
    assert answer["responses"][0]["partition_responses"][0]["error_code"] == 0
    return topic


def _list_offsets(wire: WireClient, topic: str, partition: int, timestamp: int, count: int) -> Message:
    asked = {"partition_index": partition, "timestamp": timestamp, "max_num_offsets": count}
    answer = wire.ask("ListOffsets", 0, replica_id=-1, topics=[{"name": topic, "partitions": [asked]}])
    [found] = answer["topics"]
    [result] = found["partitions"]
    assert (found["name"], result.pop("partition_index")) == (topic, partition)
    return dict(result)


def _commit(wire: WireClient, version: int, group: str, topic: str, offsets: dict[int, int]) -> list[int]:
    partitions = [
        {"partition_index": index, "committed_offset": offset, "commit_timestamp": -1, "committed_metadata": "mine"}
        for index, offset in offsets.items()
    ]
    who = {"generation_id_or_member_epoch": -1, "retention_time_ms": -1}
    answer = wire.ask(
        "OffsetCommit", version, group_id=group, topics=[{"name": topic, "partitions": partitions}], **who
    )
    return [partition["error_code"] for partition in answer["topics"][0]["partitions"]]


def _committed(wire: WireClient, version: int, group: str, topic: str) -> list[tuple[int, str, int]]:
    topics = [{"name": topic, "partition_indexes": [0, 1]}]
    answer = wire.ask("OffsetFetch", version, group_id=group, topics=topics)
    partitions = answer["topics"][0]["partitions"]
    return [(each["committed_offset"], each["metadata"], each["error_code"]) for each in partitions]


def test_list_offsets_0_answers_with_lists(wire: WireClient, filled: str) -> None:
    """The end and the beginning of the log, as many as were asked for, and an error for what is not there."""
    assert _list_offsets(wire, filled, 0, LATEST, 1) == {"error_code": 0, "old_style_offsets": [3]}
    assert _list_offsets(wire, filled, 0, LATEST, 9) == {"error_code": 0, "old_style_offsets": [3, 0]}
    assert _list_offsets(wire, filled, 0, EARLIEST, 9) == {"error_code": 0, "old_style_offsets": [0]}
    assert _list_offsets(wire, filled, 1, LATEST, 9) == {"error_code": 0, "old_style_offsets": [0]}
    assert _list_offsets(wire, filled, 0, 1, 9) == {"error_code": 0, "old_style_offsets": []}
    unknown = error_code("UNKNOWN_TOPIC_OR_PARTITION")
    assert _list_offsets(wire, filled, 7, LATEST, 1) == {"error_code": unknown, "old_style_offsets": []}


@pytest.mark.parametrize("version", [0, 1])
def test_offsets_that_old_versions_commit_are_those_of_all(wire: WireClient, filled: str, version: int) -> None:
    """What v0 once kept in ZooKeeper is kept in the same place as the rest, and read by every version."""
    group = f"group-{filled}"
    unknown = error_code("UNKNOWN_TOPIC_OR_PARTITION")
    assert _committed(wire, 0, group, filled) == [(-1, "", unknown)] * 2
    assert _commit(wire, version, group, filled, {0: 2, 9: 5}) == [0, unknown]
    for reading in range(8):
        none = (-1, "", unknown if reading == 0 else 0)
        assert _committed(wire, reading, group, filled) == [(2, "mine", 0), none]


def test_the_very_first_commit_needs_no_look_for_a_coordinator(wire: WireClient, filled: str) -> None:
    """Clients of v0 know of none: any broker takes their offsets."""
    assert _commit(wire, 0, f"first-{filled}", filled, {0: 1, 1: 0}) == [0, 0]
    assert _committed(wire, 1, f"first-{filled}", filled) == [(1, "mine", 0), (0, "mine", 0)]


@pytest.mark.parametrize("version", [0, 1])
def test_topics_are_created_by_old_versions(wire: WireClient, topic: str, version: int) -> None:
    """With an error for each; from v1 on also in words, and merely a plan where asked for."""
    new = {"name": topic, "num_partitions": 3, "replication_factor": 1}
    if version:
        [planned] = wire.ask("CreateTopics", 1, timeout_ms=5000, topics=[new], validate_only=True)["topics"]
        assert planned == {"name": topic, "error_code": 0, "error_message": None}
    [created] = wire.ask("CreateTopics", version, timeout_ms=5000, topics=[new])["topics"]
    assert created["error_code"] == 0
    [again] = wire.ask("CreateTopics", version, timeout_ms=5000, topics=[new])["topics"]
    assert again.pop("error_code") == error_code("TOPIC_ALREADY_EXISTS")
    assert again == {"name": topic} | ({"error_message": f"Topic '{topic}' already exists."} if version else {})
    [described] = wire.ask("Metadata", 0, topics=[{"name": topic}])["topics"]
    assert len(described["partitions"]) == 3


def test_topics_are_deleted_by_the_first_version(wire: WireClient, filled: str) -> None:
    """By name, each with an error."""
    answer = wire.ask("DeleteTopics", 0, topic_names=[filled, "no-such-topic"], timeout_ms=5000)
    codes = {each["name"]: each["error_code"] for each in answer["responses"]}
    assert answer.keys() == {"responses"}
    assert codes == {filled: 0, "no-such-topic": error_code("UNKNOWN_TOPIC_OR_PARTITION")}


@pytest.mark.parametrize("version", [0, 1])
def test_epochs_end_in_old_versions_too(wire: WireClient, filled: str, version: int) -> None:
    """The first answers with the end alone, the second with the epoch it is of."""
    asked = {"partition": 0, "leader_epoch": 0}
    answer = wire.ask("OffsetForLeaderEpoch", version, topics=[{"topic": filled, "partitions": [asked]}])
    [found] = answer["topics"][0]["partitions"]
    assert found == {"error_code": 0, "partition": 0, "end_offset": 3} | ({"leader_epoch": 0} if version else {})


def test_configs_are_described_by_the_first_version(wire: WireClient, topic: str) -> None:
    """With no more than whether a value is the default."""
    configs = [{"name": "retention.ms", "value": "5000"}]
    new = {"name": topic, "num_partitions": 1, "replication_factor": 1, "configs": configs}
    wire.ask("CreateTopics", 0, timeout_ms=5000, topics=[new])
    keys = ["retention.ms", "cleanup.policy"]
    resource = {"resource_type": 2, "resource_name": topic, "configuration_keys": keys}
    [described] = wire.ask("DescribeConfigs", 0, resources=[resource])["results"]
    rest = {"read_only": False, "is_sensitive": False}
    assert sorted(described["configs"], key=lambda config: str(config["name"])) == [
        {"name": "cleanup.policy", "value": "delete", "is_default": True, **rest},
        {"name": "retention.ms", "value": "5000", "is_default": False, **rest},
    ]


def test_log_directories_are_described_by_the_first_version(wire: WireClient, filled: str) -> None:
    """The sizes of the partitions asked for."""
    answer = wire.ask("DescribeLogDirs", 0, topics=[{"topic": filled, "partitions": [0]}])
    [directory] = answer["results"]
    assert directory.keys() == {"error_code", "log_dir", "topics"}
    [partition] = directory["topics"][0]["partitions"]
    assert (partition["partition_index"], partition["offset_lag"]) == (0, 0)
    assert partition["partition_size"] > 0


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_topic_that_metadata_creates_is_there_at_once(wire: WireClient, topic: str, version: int) -> None:
    """Clients of this age do not look again for one that is unknown."""
    [created] = wire.ask("Metadata", version, topics=[{"name": topic}])["topics"]
    assert (created["name"], created["error_code"], len(created["partitions"])) == (topic, 0, 1)


def test_metadata_0_asks_for_all_topics_with_none(wire: WireClient, filled: str) -> None:
    """As it could not be null then."""
    answer = wire.ask("Metadata", 0, topics=[])
    assert answer.keys() == {"brokers", "topics"}
    assert filled in [topic["name"] for topic in answer["topics"]]
    assert [broker.keys() for broker in answer["brokers"]] == [{"node_id", "host", "port"}]


def test_a_client_need_not_say_its_name(wire: WireClient, filled: str) -> None:
    """A header with a null client id, as the first clients send it."""
    body = encode("MetadataRequest", 0, {"topics": [{"name": filled}]})
    wire.send_frame(struct.pack(">hhih", 3, 0, 77, -1) + body)
    frame = wire.receive_frame()
    assert frame[:4] == struct.pack(">i", 77)
    assert decode("MetadataResponse", 0, frame[4:])["topics"][0]["name"] == filled


def test_a_member_joins_with_the_first_versions(wire: WireClient, filled: str) -> None:
    """Without the second round trip in which later ones get their id, and with the session's time to come back."""
    protocols = [{"name": "range", "metadata": b"m"}]
    found = wire.ask("FindCoordinator", 0, key=f"group-{filled}")
    assert (found["error_code"], found["port"]) == (0, wire.port)
    joined = wire.ask(
        "JoinGroup",
        0,
        group_id=f"group-{filled}",
        session_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=protocols,
    )
    assert (joined["error_code"], joined["protocol_name"]) == (0, "range")
    assert joined["leader"] == joined["member_id"] != ""
    member = {
        "group_id": f"group-{filled}",
        "generation_id": joined["generation_id"],
        "member_id": joined["member_id"],
    }
    assignment = {"member_id": joined["member_id"], "assignment": b"all"}
    assert wire.ask("SyncGroup", 0, **member, assignments=[assignment]) == {"error_code": 0, "assignment": b"all"}
    assert wire.ask("Heartbeat", 0, **member) == {"error_code": 0}
    refused = _commit(wire, 0, f"group-{filled}", filled, {0: 1})
    assert refused == [error_code("UNKNOWN_MEMBER_ID")]
    leaving = {"group_id": f"group-{filled}", "member_id": joined["member_id"]}
    assert wire.ask("LeaveGroup", 0, **leaving) == {"error_code": 0}
