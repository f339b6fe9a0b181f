"""A controller that is a process of its own, asked over its socket as brokers ask it."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.cluster_nodes import CONTROLLER_ID, OdradekController
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, Message, WireClient

METADATA_TOPIC_ID = UUID(int=1)


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[OdradekController]:
    """A controller with a new directory."""
    process = OdradekController(tmp_path)
    process.start()
    yield process
    process.discard()


def fetch(client: WireClient, epoch: int, offset: int = 0, last_epoch: int = 0, **more: object) -> Message:
    """Ask for the metadata log; return what is said of its partition."""
    partition = {
        "partition": 0,
        "current_leader_epoch": epoch,
        "fetch_offset": offset,
        "last_fetched_epoch": last_epoch,
        "log_start_offset": -1,
        "partition_max_bytes": 0,
    }
    request = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1} | more
    answer = client.ask("Fetch", 18, topics=[{"topic_id": METADATA_TOPIC_ID, "partitions": [partition]}], **request)
    assert answer["error_code"] == 0
    found: Message = answer["responses"][0]["partitions"][0]
    return found


def test_a_controller_makes_the_cluster_and_begins_an_epoch_at_each_start(controller: OdradekController) -> None:
    """Its id and what it wrote stay; after a crash, too."""
    cluster_id = controller.cluster_id
    for epoch in (1, 2, 3):
        state = json.loads((controller.data / "__cluster_metadata-0" / "quorum-state").read_text())
        assert (state["leaderId"], state["leaderEpoch"], state["votedId"]) == (CONTROLLER_ID, epoch, -1)
        assert state["currentVoters"] == [{"voterId": CONTROLLER_ID}]
        with WireClient(controller.port) as client:
            found = fetch(client, epoch)
            assert (found["error_code"], found["current_leader"]["leader_epoch"]) == (0, epoch)
            assert fetch(client, epoch - 1)["error_code"] == 74
        if epoch == 1:
            assert controller.stop() == 0
        else:
            controller.kill()
        controller.start()
    assert controller.cluster_id == cluster_id


def test_the_log_grows_while_nothing_happens(controller: OdradekController) -> None:
    """Those who follow see that the controller lives."""
    with WireClient(controller.port) as client:
        end = fetch(client, 1)["high_watermark"]
        eventually(lambda: fetch(client, 1)["high_watermark"] >= end + 2, "two empty records were written")


def test_admin_clients_learn_of_the_controller(controller: OdradekController) -> None:
    """Itself at the address that they came to; who looks for brokers is at the wrong listener."""
    with WireClient(controller.port) as client:
        found = client.ask("DescribeCluster", 2, endpoint_type=2)
        assert (found["cluster_id"], found["controller_id"]) == (controller.cluster_id, CONTROLLER_ID)
        assert [(one["broker_id"], one["host"], one["port"]) for one in found["brokers"]] == [
            (CONTROLLER_ID, "127.0.0.1", controller.port)
        ]
        assert client.ask("DescribeCluster", 2, endpoint_type=1)["error_code"] == 114


def test_the_quorum_is_its_only_voter_and_who_follows(controller: OdradekController) -> None:
    """An observer is known by its id once it has fetched."""
    with WireClient(controller.port) as client:
        fetch(client, 1, replica_state={"replica_id": 7, "replica_epoch": -1})
        found = client.ask(
            "DescribeQuorum",
            2,
            topics=[{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}],
        )
        partition = found["topics"][0]["partitions"][0]
        assert [one["replica_id"] for one in partition["current_voters"]] == [CONTROLLER_ID]
        assert [one["replica_id"] for one in partition["observers"]] == [7]


def test_what_brokers_serve_is_not_served(controller: OdradekController) -> None:
    """Metadata ends the connection, as at Apache Kafka's controllers."""
    with WireClient(controller.port) as client, pytest.raises(ConnectionClosedError):
        client.ask("Metadata", 12, topics=None)


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"controller.quorum.voters": "1@h:1,2@h:2"}, "controller.quorum.voters=1@h:1,2@h:2: names 2 controllers"),
        ({"controller.quorum.voters": "1@h:1"}, "the one voter is node 1, but this is node 3000"),
        ({"listeners": "PLAINTEXT://127.0.0.1:0"}, "expected CONTROLLER alone"),
    ],
)
def test_a_quorum_of_others_is_refused_in_one_sentence(
    tmp_path: Path, overrides: dict[str, str], sentence: str
) -> None:
    """The process ends before it touches its directory."""
    process = OdradekController(tmp_path, overrides)
    process.launch()
    assert process.wait() == 1
    assert sentence in process.log
    assert not process.data.exists()
