"""The disk refuses the k-th sync, for every k, and takes it for done; later the power fails: no promise is broken."""

import errno
from contextlib import suppress

import pytest

from odradek.storage.errors import StorageError
from odradek.storage.log.log import Log
from odradek.storage.names import SYNC_FAILED_FILE
from tests.support.logs import NOW_MS, append_values, check_log, open_at, read_all, small_config
from tests.support.memory_files import MemoryFiles

CONFIG = small_config(segment_bytes=700, index_interval_bytes=100)
ROUNDS = 16
SYNCS = ROUNDS
"""At least one in each round; the first one is at the start."""


class CountingFiles(MemoryFiles):
    """A disk whose k-th sync of a file fails."""

    def __init__(self, failing: int, error: int) -> None:
        super().__init__(seed=failing)
        self._left = failing
        self._error = error
        self.has_failed = False

    def _fail_if_told(self, operation: str, path: str) -> None:
        if operation == "sync":
            if self._left == 0:
                self.has_failed = True
                self.fail("sync", self._error)
            self._left -= 1
        super()._fail_if_told(operation, path)


def _begin(fs: MemoryFiles) -> Log:
    log = open_at(fs, CONFIG)
    fs.sync_dir("/data")
    fs.sync_dir("/")
    return log


def _write(log: Log, promised: list[bytes], written: list[bytes]) -> None:
    """Append and flush round after round, as a broker does: what a flush covers is promised, errors are told."""
    for number in range(ROUNDS):
        values = [b"%d: %d" % (number, each) for each in range(3)]
        with suppress(StorageError):
            append_values(log, values, timestamp=NOW_MS + number, epoch=number // 5)
            written += values
        with suppress(StorageError):
            log.flush()
            promised[:] = written
            assert log.recovery_point == log.log_end_offset


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_what_is_promised_after_a_failed_sync_survives_a_power_cut(error: int) -> None:
    """Whatever the sync was about: data, an index, a snapshot of the producers, the leader epochs."""
    for failing in range(SYNCS):
        fs = CountingFiles(failing, error)
        promised: list[bytes] = []
        written: list[bytes] = []
        log = _begin(fs)
        _write(log, promised, written)
        assert fs.has_failed
        again = open_at(fs.crash(kept=0.0), CONFIG, recovery_point=log.local.checkpointed_recovery_point)
        check_log(again)
        found = [value for _, value in read_all(again)]
        assert found == written[: max(len(promised), len(found))]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_what_is_promised_after_a_failed_sync_and_a_kill_survives_a_power_cut(error: int) -> None:
    """A new process finds the data in memory that the disk has not, and writes it again before it counts on it."""
    for failing in range(1, SYNCS):  # the first one is the topic id's, without which nothing is appended
        fs = CountingFiles(failing, error)
        written: list[bytes] = []
        log = _begin(fs)
        for number in range(ROUNDS):
            values = [b"%d: %d" % (number, each) for each in range(3)]
            append_values(log, values, timestamp=NOW_MS + number, epoch=number // 5)
            written += values
            try:
                log.flush()
            except StorageError:
                break
        assert fs.has_failed
        killed = open_at(fs, CONFIG, recovery_point=log.local.checkpointed_recovery_point)
        with pytest.raises(StorageError, match="before the disk has taken what it refused"):
            append_values(killed, [b"too early"])
        killed.flush()
        append_values(killed, [b"after"])
        assert SYNC_FAILED_FILE not in fs.listdir(killed.directory)
        killed.flush()
        after = open_at(fs.crash(kept=0.0), CONFIG, recovery_point=killed.local.checkpointed_recovery_point)
        check_log(after)
        assert [value for _, value in read_all(after)] == [*written, b"after"]


def test_without_writing_again_the_promise_would_be_broken() -> None:
    """The disk of these tests is as unkind as a real one: a sync after a failed one brings nothing old to it."""
    fs = MemoryFiles()
    file = fs.open("/f", create=True)
    fs.sync_dir("/")
    file.write(b"lost")
    fs.fail("sync")
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    file.write(b"kept")
    file.sync()
    assert file.pread(8, 0) == b"lostkept"
    assert fs.crash(kept=0.0).read_bytes("/f") == bytes(4) + b"kept"
