"""A data directory that is not ours to use: the broker refuses to start, says what to do, and changes nothing."""

import hashlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import AGAINST_APACHE_KAFKA, BrokerFactory
from tests.integration.clients import Confluent
from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(AGAINST_APACHE_KAFKA, reason="the sentences are the project's own")

TIMEOUT_S = 60


def _fingerprint(directory: Path) -> dict[str, tuple[int, str]]:
    """Every file with its mode and content, but for the lock, which must be taken before anything can be looked at."""
    out: dict[str, tuple[int, str]] = {}
    for path in sorted(directory.rglob("*")):
        if path.name == ".lock":
            continue
        content = path.read_bytes() if path.is_file() else b""
        out[str(path.relative_to(directory))] = (path.stat().st_mode, hashlib.sha256(content).hexdigest())
    return out


def _assert_refuses(broker: BrokerProcess, *words: str) -> None:
    """The broker must end soon with a failure, in one sentence that holds the words, without a traceback."""
    before = _fingerprint(broker.data)
    broker.launch()
    code = broker.wait(TIMEOUT_S)
    said = [line for line in broker.log.splitlines() if "cannot start" in line]
    assert code == 1, broker.log
    assert len(said) == 1, broker.log
    assert "Traceback" not in broker.log
    for word in words:
        assert word in said[0]
    assert _fingerprint(broker.data) == before


@pytest.fixture
def used(new_broker: BrokerFactory, topic: str) -> BrokerProcess:
    """A stopped broker whose directory has been used."""
    broker = new_broker()
    broker.start()
    Confluent(broker.bootstrap).create_topic(topic)
    broker.stop()
    return broker


def _edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


def test_a_directory_in_use_by_another_broker(new_broker: BrokerFactory) -> None:
    """The second broker on a directory is refused; the first one goes on."""
    first = new_broker()
    first.start()
    second = new_broker(directory=first.directory)
    _assert_refuses(second, str(first.data), "in use")
    Confluent(first.bootstrap).create_topic("still-served")


def test_a_directory_of_another_node(used: BrokerProcess) -> None:
    """A directory that belongs to node 7 is not used by node 1."""
    _edit(used.data / "meta.properties", lambda text: text.replace("node.id=1", "node.id=7"))
    _assert_refuses(used, str(used.data), "node.id", "7")


def test_directories_of_two_clusters(new_broker: BrokerFactory, used: BrokerProcess, tmp_path: Path) -> None:
    """Two log directories that name different clusters cannot be served together."""
    other = new_broker(directory=tmp_path / "other")
    other.start()
    other.stop()
    both = new_broker({"log.dirs": f"{used.data},{other.data}"}, directory=used.directory)
    _assert_refuses(both, "cluster")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable to root")
def test_an_unwritable_directory(used: BrokerProcess) -> None:
    """A directory that may not be written to is named."""
    mode = used.data.stat().st_mode
    used.data.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        _assert_refuses(used, str(used.data))
    finally:
        used.data.chmod(mode)


def test_a_directory_that_cannot_be_made(new_broker: BrokerFactory) -> None:
    """A path where nothing can be created, not even by root, is named."""
    broker = new_broker({"log.dirs": "/proc/odradek-data"})
    _assert_refuses(broker, "/proc/odradek-data")


def test_a_file_in_place_of_the_directory(new_broker: BrokerFactory) -> None:
    """A plain file where the directory should be is named."""
    broker = new_broker()
    broker.directory.mkdir(parents=True)
    broker.data.write_text("not a directory")
    _assert_refuses(broker, str(broker.data))
    assert broker.data.read_text() == "not a directory"


def test_a_directory_with_other_things_in_it(new_broker: BrokerFactory) -> None:
    """A directory that holds directories which are no partitions is somebody else's."""
    broker = new_broker()
    (broker.data / "holiday pictures").mkdir(parents=True)
    (broker.data / "holiday pictures" / "beach.jpg").write_bytes(b"jpg")
    _assert_refuses(broker, str(broker.data), "holiday pictures")


def test_a_partition_that_the_metadata_does_not_know(used: BrokerProcess, topic: str) -> None:
    """A partition directory whose topic the metadata does not have is named, set aside as `-stray`, and kept."""
    stray = used.data / "stranger-0"
    shutil.copytree(used.data / f"{topic}-0", stray)
    before = _fingerprint(stray)
    used.start()
    eventually(lambda: "stranger-0" in used.log, "a line names the stray partition")
    used.stop()
    [kept] = used.data.glob("stranger-0.*-stray")
    assert _fingerprint(kept) == before


def test_meta_properties_that_cannot_be_read(used: BrokerProcess) -> None:
    """A damaged identity file is named instead of being replaced by a new identity."""
    (used.data / "meta.properties").write_text("version=1\n")
    _assert_refuses(used, "meta.properties")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"num.partitions": "many"}, ("num.partitions", "many")),
        ({"listeners": "TLS://127.0.0.1:0"}, ("TLS",)),
        ({"listeners": "127.0.0.1:9092"}, ("listeners",)),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, ("advertised.listeners", "0.0.0.0")),
        ({"log.segment.bytes": "-1"}, ("log.segment.bytes", "-1")),
    ],
    ids=str,
)
def test_a_bad_setting_stops_the_start(
    new_broker: BrokerFactory, overrides: dict[str, str], words: tuple[str, ...]
) -> None:
    """A value that cannot be used stops the start with key and value, before anything is created."""
    broker = new_broker(overrides)
    _assert_refuses(broker, *words)
    assert not broker.data.exists()


def test_a_port_that_is_taken(new_broker: BrokerFactory) -> None:
    """A port in use is named."""
    first = new_broker()
    first.start()
    second = new_broker({"listeners": f"PLAINTEXT://127.0.0.1:{first.port}"})
    second.launch()
    assert second.wait(TIMEOUT_S) == 1, second.log
    assert str(first.port) in second.log
    assert "Traceback" not in second.log
