"""Whose the records of a directory are: the id of the topic is on the disk before any record can be."""

import errno
from uuid import UUID

import pytest

from odradek.storage.checkpoints.partition_metadata import read_topic_id
from odradek.storage.errors import IncompatibleDirectory, StorageError
from odradek.storage.log.log import Log
from odradek.storage.opening.loader import Opening, load_log
from tests.support.logs import DIRECTORY, NOW_MS, PARTITION, TOPIC_ID, a_batch, append_values, open_at, small_config
from tests.support.memory_files import MemoryFiles

METADATA = "partition.metadata"


def power_fails_once_records_are_on_disk(fs: MemoryFiles) -> MemoryFiles:
    """Return what is left where the system has written the records by itself, and of the rest only what was synced."""
    fs.open(f"{DIRECTORY}/{0:020d}.log").sync()
    for directory in (DIRECTORY, "/data", "/"):
        fs.sync_dir(directory)
    survivor = fs.crash(kept=0.0)
    assert survivor.size(f"{DIRECTORY}/{0:020d}.log")
    return survivor


@pytest.mark.parametrize("as_follower", [False, True])
def test_records_that_survive_a_power_cut_are_not_those_of_the_next_topic(
    fs: MemoryFiles, log: Log, as_follower: bool
) -> None:
    """Nothing was flushed, and the topic was deleted and made again while the broker was away."""
    if as_follower:
        log.append_as_follower(a_batch([b"old"]), NOW_MS)
    else:
        append_values(log, [b"old"])
    survivor = power_fails_once_records_are_on_disk(fs)
    assert read_topic_id(survivor, DIRECTORY) == TOPIC_ID
    with pytest.raises(IncompatibleDirectory):
        load_log(survivor, Opening(PARTITION, DIRECTORY, small_config(), NOW_MS, topic_id=UUID(int=9 << 64)))


def test_id_that_an_earlier_process_left_in_the_page_cache_is_synced(fs: MemoryFiles) -> None:
    """It can be read after a kill, which does not say that it is on the disk."""
    open_at(fs)
    fs = fs.handed_on()
    append_values(open_at(fs), [b"a"])
    assert read_topic_id(power_fails_once_records_are_on_disk(fs), DIRECTORY) == TOPIC_ID


def test_nothing_is_appended_while_the_disk_refuses_the_id(fs: MemoryFiles, log: Log) -> None:
    """The next append tries again, and writes it again: a sync that failed may have dropped it."""
    fs.fail("sync", errno.EIO, METADATA)
    with pytest.raises(StorageError, match="Cannot append to spool-0"):
        append_values(log, [b"a"])
    assert (log.log_end_offset, log.size) == (0, 0)
    append_values(log, [b"a"])
    assert read_topic_id(power_fails_once_records_are_on_disk(fs), DIRECTORY) == TOPIC_ID


@pytest.mark.parametrize("flushed", [False, True])
def test_id_is_synced_once(fs: MemoryFiles, log: Log, flushed: bool) -> None:
    """By a flush, or by the first append."""
    if flushed:
        log.flush()
    else:
        append_values(log, [b"a"])
    fs.fail("sync", errno.EIO, METADATA)
    append_values(log, [b"b"])
    log.flush()
