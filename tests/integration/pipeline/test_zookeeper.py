"""Offsets in a real ZooKeeper: kept over its restarts and lost sessions, and brought into groups of a broker."""

import json
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from odradek.cli.app import run
from odradek.pipeline.batches import Batch
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.offset_addresses import opened_offsets, progress
from odradek.zookeeper.address import parse_address
from odradek.zookeeper.session import ZooKeeperSession, zookeeper_session
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from tests.integration.pipeline.records import produce
from tests.support.broker import BrokerProcess
from tests.support.documents import check_documents
from tests.support.waiting import eventually
from tests.support.zookeeper_server import ZooKeeperServer

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("zookeeper")]

NOW_MS = 1_700_000_000_000
A0 = TopicPartition("a", 0)


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """A running ZooKeeper; each test has nodes of its own."""
    server = ZooKeeperServer(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server
    server.kill()


def _expire(session: ZooKeeperSession) -> None:
    """End a session as its server does where nobody was heard for too long."""
    ours = session._client
    other = KazooClient(",".join(session._address.servers), client_id=ours.client_id)
    before = ours.client_id[0]
    other.start()
    other.stop()
    other.close()
    eventually(lambda: (ours.client_id or (before,))[0] != before, "the client has a new session")


def test_offsets_outlive_sessions_and_restarts(zookeeper: ZooKeeperServer) -> None:
    """Batches are stored one after the other, whatever becomes of the session or of the server between them."""
    url = zookeeper.url("/jobs/kept")
    with opened_offsets(url, "app", "archive", lambda: NOW_MS) as offsets:
        assert offsets.begin() == {}
        offsets.commit(Batch(0, {}, {A0: 9}))
        _expire(offsets._nodes)  # type: ignore[attr-defined]
        offsets.commit(Batch(1, {A0: 9}, {A0: 12}))
        zookeeper.kill()
        zookeeper.start()
        offsets.commit(Batch(2, {A0: 12}, {A0: 15}))
    [shown] = progress(url)
    assert (shown.application, shown.number, shown.run, shown.ranges) == ("app", 2, 1, [OffsetRange(A0, 12, 15)])
    with opened_offsets(url, "app", "archive", lambda: NOW_MS) as offsets:
        assert offsets.begin() == {A0: 15}


def test_an_account_keeps_others_out(zookeeper: ZooKeeperServer) -> None:
    """What a job with an account stores nobody else reads or changes, and that is said in a sentence."""
    with opened_offsets(zookeeper.url("/own", "me:secret@"), "app", "archive", lambda: NOW_MS) as offsets:
        offsets.begin()
        offsets.commit(Batch(0, {}, {A0: 9}))
    with (
        pytest.raises(PipelineError, match="this account may not do that"),
        opened_offsets(zookeeper.url("/own"), "app", "archive", lambda: NOW_MS) as stranger,
    ):
        stranger.begin()


def test_old_offsets_come_into_groups(
    zookeeper: ZooKeeperServer, broker: BrokerProcess, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dry run says what would change, the run does it, and the same run again changes nothing more."""
    produce(broker.bootstrap, topic, 30)
    group = f"old-{topic}"
    with zookeeper_session(parse_address(zookeeper.url("/old"))) as session:
        for partition, offset in enumerate((4, 99)):
            path = f"/consumers/{group}/offsets/{topic}/{partition}"
            session.make(path)
            session._client.set(f"/old{path}", b"%d" % offset)

    place = ["--bootstrap-server", broker.bootstrap]

    def imported(*options: str) -> tuple[bool, list[tuple[int, int, int | None, int | None]]]:
        command = [
            "groups",
            "import-zookeeper",
            zookeeper.url("/old"),
            "--json",
            "--bootstrap-server",
            broker.bootstrap,
        ]
        assert run([*command, *options]) == 0
        printed = capsys.readouterr().out
        check_documents(command[:2], printed)
        found = json.loads(printed)
        rows = [(each["partition"], each["stored"], each["before"], each["after"]) for each in found["offsets"]]
        return found["dry_run"], rows

    wanted = [(0, 4, None, 4), (1, 99, None, 10)]
    assert imported("--dry-run") == (True, wanted)
    assert imported() == (False, wanted)
    assert imported(group) == (False, [(0, 4, 4, 4), (1, 99, 10, 10)])
    assert run(["groups", "import-zookeeper", zookeeper.url("/old"), "other", *place]) == 1
    assert "group other has no offsets in ZooKeeper" in capsys.readouterr().err
