"""The small files that say what a directory is: topic id, clean shutdown, lock."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from odradek.protocol.uuids import from_text
from odradek.storage.checkpoints.partition_metadata import read_topic_id, write_topic_id
from odradek.storage.directories.clean_shutdown import (
    read_last_stop,
    remove_clean_shutdown,
    was_clean_shutdown,
    write_clean_shutdown,
)
from odradek.storage.directories.directory_lock import lock_directory
from odradek.storage.errors import CorruptFile, DirectoryLocked
from odradek.storage.files import PosixFiles
from tests.support.memory_files import MemoryFiles

TOPIC_ID = from_text("h5eLiR1PRUODZ5HBf-rkAg")

HOLD_LOCK = """
import sys
from odradek.storage.directories.directory_lock import lock_directory
from odradek.storage.files import PosixFiles
lock = lock_directory(PosixFiles(), sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_topic_id_has_kafkas_bytes() -> None:
    """Two lines, without a line end after the second."""
    fs = MemoryFiles()
    assert read_topic_id(fs, "") is None
    write_topic_id(fs, "", TOPIC_ID)
    assert fs.read_bytes("/partition.metadata") == b"version: 0\ntopic_id: h5eLiR1PRUODZ5HBf-rkAg"
    assert read_topic_id(fs.crash(kept=0.0), "") == TOPIC_ID


@pytest.mark.parametrize(
    "content",
    [
        b"version: 0\ntopic_id: h5eLiR1PRUODZ5HBf-rkAg\n",
        b"version: 1\ntopic_id: h5eLiR1PRUODZ5HBf-rkAg\nmore: 5\n",
        b"version:  0\r\ntopic_id:\th5eLiR1PRUODZ5HBf-rkAg\r\n",
    ],
)
def test_topic_id_of_other_writers_is_read(content: bytes) -> None:
    """Later versions, and white space of any kind, are taken as in Kafka."""
    fs = MemoryFiles()
    fs.write_bytes("/partition.metadata", content)
    assert read_topic_id(fs, "") == TOPIC_ID


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"version: 0",
        b"version: 0\n",
        b"version: -1\ntopic_id: h5eLiR1PRUODZ5HBf-rkAg",
        b"version: x\ntopic_id: h5eLiR1PRUODZ5HBf-rkAg",
        b"topic_id: h5eLiR1PRUODZ5HBf-rkAg\nversion: 0",
        b"version:0\ntopic_id:h5eLiR1PRUODZ5HBf-rkAg",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"version: 0\ntopic_id: h5eLiR1PRUODZ5HBf",
        b"version: 0\ntopic_id: " + b"A" * 100_000,
        b"\xff\xff",
    ],
)
def test_malformed_topic_id_is_corrupt(content: bytes) -> None:
    """Anything else is CorruptFile, with a message of bounded length."""
    fs = MemoryFiles()
    fs.write_bytes("/partition.metadata", content)
    with pytest.raises(CorruptFile, match=r"partition\.metadata") as raised:
        read_topic_id(fs, "")
    assert len(str(raised.value)) < 300


def test_topic_id_is_any_uuid_but_zero() -> None:
    """The metadata log's reserved id is one, too."""
    fs = MemoryFiles()
    write_topic_id(fs, "", UUID(int=1), sync=False)
    assert fs.read_bytes("/partition.metadata").endswith(b"AAAAAAAAAAAAAAAAAAAAAQ")
    assert read_topic_id(fs, "") == UUID(int=1)


def test_clean_shutdown_marker_has_kafkas_bytes() -> None:
    """A line of JSON with version and broker epoch."""
    fs = MemoryFiles()
    fs.mkdir("/data")
    fs.sync_dir("/")
    assert not was_clean_shutdown(fs, "/data")
    write_clean_shutdown(fs, "/data", broker_epoch=11)
    assert fs.read_bytes("/data/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":11}'
    fs = fs.crash(kept=0.0)
    assert was_clean_shutdown(fs, "/data")
    assert read_last_stop(fs, "/data").broker_epoch == 11


def test_removed_marker_does_not_come_back() -> None:
    """After a power failure the directory must not look as if it had been left in order."""
    fs = MemoryFiles()
    fs.mkdir("/data")
    fs.sync_dir("/")
    write_clean_shutdown(fs, "/data")
    remove_clean_shutdown(fs, "/data")
    remove_clean_shutdown(fs, "/data")
    assert not was_clean_shutdown(fs.crash(kept=0.0), "/data")


@pytest.mark.parametrize(
    ("content", "epoch"),
    [
        (b'{"brokerEpoch":5,"more":[1]}', 5),
        (b"", -1),
        (b"{}", -1),
        (b"[]", -1),
        (b'{"brokerEpoch":null}', -1),
        (b'{"brokerEpoch":true}', -1),
        (b'{"brokerEpoch":-7}', -1),
        (b'{"brokerEpoch":1e400}', -1),
        (b'{"brokerEpoch":99999999999999999999}', -1),
        (b'{"brokerEpoch":"5"}', -1),
        (b"\xff", -1),
        (b"[" * 100_000, -1),
        (b'{"brokerEpoch":' + b"9" * 10_000 + b"}", -1),
    ],
)
def test_broker_epoch_is_read_where_it_can_be(content: bytes, epoch: int) -> None:
    """The presence of the marker alone counts; an epoch that is not there or not one is unknown."""
    fs = MemoryFiles()
    fs.write_bytes("/.kafka_cleanshutdown", content)
    assert was_clean_shutdown(fs, "")
    assert read_last_stop(fs, "").broker_epoch == epoch


def test_broker_epoch_is_unknown_without_marker() -> None:
    """No marker, no epoch."""
    assert read_last_stop(MemoryFiles(), "").broker_epoch == -1


def test_lock_keeps_other_processes_out(tmp_path: Path) -> None:
    """A directory in use is refused with who uses it, and is free when that process ends, however it ends."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(DirectoryLocked, match=rf"in use: process {holder.pid} \(.*\) holds the lock .*/\.lock"):
            lock_directory(PosixFiles(), str(tmp_path))
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    lock_directory(PosixFiles(), str(tmp_path)).release()


def test_refused_lock_is_not_lost_by_its_holder(tmp_path: Path) -> None:
    """POSIX drops a lock when its process closes the file anywhere; asking twice must not do that."""
    ours = lock_directory(PosixFiles(), str(tmp_path))
    with pytest.raises(DirectoryLocked, match="this very process"):
        lock_directory(PosixFiles(), str(tmp_path))
    answer = subprocess.run(
        [sys.executable, "-c", HOLD_LOCK, str(tmp_path)], input=b"", capture_output=True, check=False
    )
    assert answer.returncode != 0
    assert f"process {os.getpid()} ".encode() in answer.stderr
    ours.release()


def test_lock_is_released_with_its_last_reference(tmp_path: Path) -> None:
    """A broker that failed to start leaves no lock behind in the process that tried."""
    lock = lock_directory(PosixFiles(), str(tmp_path))
    del lock
    lock_directory(PosixFiles(), str(tmp_path)).release()
    assert (tmp_path / ".lock").stat().st_size == 0


def test_lock_of_a_missing_directory_is_an_os_error(tmp_path: Path) -> None:
    """The directory has to be there."""
    with pytest.raises(FileNotFoundError):
        lock_directory(PosixFiles(), str(tmp_path / "missing"))
    assert PosixFiles().lock_owner(str(tmp_path / "missing" / ".lock")) is None
