"""Directories that cannot be carried over: the start ends with exit code 1, one sentence, and every byte as it was."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from odradek.protocol.messages.metadata_records import ConfigRecord
from odradek.storage.files import PosixFiles
from odradek.storage.names import TopicPartition
from tests.conftest import AGAINST_APACHE_KAFKA
from tests.support.broker import OdradekProcess
from tests.support.kafka_directories import (
    Kept,
    make_identity,
    make_kraft_directory,
    make_log,
    make_zookeeper_directory,
)
from tests.unit.broker.metadata.support import topic_records

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="the sentences are the project's own")

TIMEOUT_S = 60
ID = UUID(int=0xA5)
FS = PosixFiles()
SEGMENT = "__cluster_metadata-0/00000000000000000000.log"


def _everything(directory: Path) -> dict[str, tuple[int, int, str]]:
    """Mode, time of change and content of every file and directory."""
    out = {}
    for path in (directory, *sorted(directory.rglob("*"))):
        status = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        out[str(path)] = (status.st_mode, status.st_mtime_ns, hashlib.sha256(content).hexdigest())
    return out


@pytest.fixture
def odradek(tmp_path: Path) -> Iterator[OdradekProcess]:
    """A broker whose data is in the directories a and b of the test's own."""
    broker = OdradekProcess(tmp_path / "run", {"log.dirs": f"{tmp_path}/data/a,{tmp_path}/data/b", "node.id": "1"})
    yield broker
    broker.discard()


def _kraft(root: Path) -> None:
    make_kraft_directory(FS, f"{root}/a", topic_records("t", ID))
    (root / "a" / "t-0").mkdir()
    make_identity(FS, f"{root}/b", version=1, node_id=1)


def _several_voters(root: Path) -> None:
    make_kraft_directory(FS, f"{root}/a", topic_records("t", ID), voters=(1, 2, 3))


def _newer_metadata(root: Path) -> None:
    make_kraft_directory(FS, f"{root}/a", topic_records("t", ID), level=31)


def _tiered_topic(root: Path) -> None:
    config = ConfigRecord(resource_type=2, resource_name="t", name="remote.storage.enable", value="true")
    make_kraft_directory(FS, f"{root}/a", [*topic_records("t", ID), config])


def _several_brokers(root: Path) -> None:
    make_kraft_directory(FS, f"{root}/a", topic_records("t", ID, replicas=(2, 3)))


def _other_node(root: Path) -> None:
    make_kraft_directory(FS, f"{root}/a", topic_records("t", ID), node_id=4, voters=(4,))


def _other_cluster(root: Path) -> None:
    _kraft(root)
    make_identity(FS, f"{root}/b", version=1, node_id=1, cluster_id="AAAAAAAAAAAAAAAAAAAAAA")


def _other_node_in_the_second(root: Path) -> None:
    _kraft(root)
    make_identity(FS, f"{root}/b", version=1, node_id=2)


def _zookeeper_beside(root: Path) -> None:
    make_kraft_directory(FS, f"{root}/a", topic_records("t", ID))
    make_zookeeper_directory(FS, f"{root}/b", {TopicPartition("other", 0): Kept(make_log(b"x"))}, broker_id=1)


def _lost_metadata(root: Path) -> None:
    _kraft(root)
    shutil.rmtree(root / "a" / "__cluster_metadata-0")


def _damaged_metadata(root: Path) -> None:
    _kraft(root)
    log = root / "a" / SEGMENT
    content = bytearray(log.read_bytes())
    content[120] ^= 0xFF  # in the second batch, which a third one follows
    log.write_bytes(content + content[:91])


def _tiered_zookeeper(root: Path) -> None:
    make_zookeeper_directory(FS, f"{root}/a", {TopicPartition("t", 0): Kept(make_log(b"x"))}, broker_id=1)
    (root / "a" / "remote-log-index-cache").mkdir()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_several_voters, ("node(s) 1, 2, 3", "remove-controller")),
        (_newer_metadata, ("metadata.version at level 31", "kafka-features.sh")),
        (_tiered_topic, ("topic t has remote.storage.enable=true", "set it to false")),
        (_several_brokers, ("partition t-0 is on broker(s) 2, 3",)),
        (_other_node, ("belongs to node 4", "set node.id=4")),
        (_other_cluster, ("belongs to cluster AAAAAAAAAAAAAAAAAAAAAA", "only directories of one cluster")),
        (_other_node_in_the_second, ("/data/b belongs to node 2",)),
        (_zookeeper_beside, ("/data/b is of a Kafka with ZooKeeper", "other-0", "one origin only")),
        (_lost_metadata, ("metadata that describes them is missing", "/data/a/__cluster_metadata-0", "Restore it")),
        (_damaged_metadata, (SEGMENT, "damaged at byte 91", "offset 1", "Restore the file")),
        (_tiered_zookeeper, ("tiered storage", "remote-log-index-cache")),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_what_cannot_be_carried_over_is_refused_and_left_alone(
    odradek: OdradekProcess, tmp_path: Path, make: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    """Exit code 1, one sentence that says why and what to do; content, modes and times are as before."""
    root = tmp_path / "data"
    root.mkdir()
    make(root)
    before = _everything(root)
    odradek.launch()
    assert odradek.wait(TIMEOUT_S) == 1, odradek.log
    (said,) = [line for line in odradek.log.splitlines() if "cannot start" in line]
    assert "Traceback" not in odradek.log
    for word in words:
        assert word in said
    assert _everything(root) == before


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("remote.log.storage.system.enable", "true", "no tiered storage"),
        ("controller.quorum.voters", "1@a:1,2@b:1,3@c:1", "names 3 controllers"),
        ("controller.quorum.voters", "2@a:1", "the one voter is node 2"),
    ],
)
def test_settings_that_cannot_be_served_are_refused_and_the_data_left_alone(
    odradek: OdradekProcess, tmp_path: Path, key: str, value: str, word: str
) -> None:
    """The properties are judged before the directories are looked at."""
    root = tmp_path / "data"
    root.mkdir()
    _kraft(root)
    before = _everything(root)
    odradek.overrides[key] = value
    odradek.launch()
    assert odradek.wait(TIMEOUT_S) == 1, odradek.log
    assert f"{key}={value}: " in odradek.log
    assert word in odradek.log
    assert _everything(root) == before
