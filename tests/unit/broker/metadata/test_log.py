"""Proposing: durable before it counts, all or nothing, in order, whatever the disk does."""

import errno
from uuid import UUID

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError, StaleMetadataError
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.loading import load_metadata
from odradek.broker.metadata.records import Message
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import RemoveTopicRecord
from odradek.storage.names import SYNC_FAILED_FILE
from tests.support.memory_files import MemoryFiles, SimulatedCrash
from tests.unit.broker.metadata.support import DIRECTORY, record_of, topic_records
from tests.unit.broker.metadata.test_opening import new_directory, open_log, propose

A, B = UUID(int=0xA), UUID(int=0xB)


def topics_on_disk(files: MemoryFiles) -> list[str]:
    """Return the topics that a restart would find."""
    return list(load_metadata(files, DIRECTORY).image.topics_by_name)


def test_proposal_is_durable_when_it_is_answered() -> None:
    """A power cut right after it loses nothing."""
    files = new_directory()
    log = open_log(files)
    propose(log, *topic_records("t", A))
    assert topics_on_disk(files.crash(kept=0.0)) == ["t"]


def test_watchers_are_told_of_every_change_in_order() -> None:
    """With the image before, the image after, and the difference."""
    log = open_log(new_directory())
    seen: list[tuple[MetadataImage, MetadataImage, ImageDelta]] = []
    log.watch(lambda old, new, delta: seen.append((old, new, delta)))
    start = log.image
    propose(log, *topic_records("t", A))
    propose(log, RemoveTopicRecord(topic_id=A))
    (first, middle, created), (same, last, deleted) = seen
    assert (first, same, last) == (start, middle, log.image)
    assert [topic.name for topic in created.created_topics] == ["t"]
    assert [topic.name for topic in deleted.deleted_topics] == ["t"]


def test_metadata_log_that_was_in_doubt_takes_changes_after_a_restart() -> None:
    """What the disk refused before is written again first, and if it refuses that, too, there is something to read."""
    files = new_directory()
    propose(open_log(files), *topic_records("t", A))
    files.write_bytes(f"{DIRECTORY}/{SYNC_FAILED_FILE}", b"")
    files.fail("sync", times=2)
    log = open_log(files)
    assert list(log.image.topics_by_name) == ["t"]
    with pytest.raises(KafkaError):
        propose(log, *topic_records("u", B))
    propose(open_log(files), *topic_records("u", B))
    assert topics_on_disk(files.crash(kept=0.0)) == ["t", "u"]


def test_empty_proposal_writes_nothing() -> None:
    """And tells nobody."""
    files = new_directory()
    log = open_log(files)
    log.watch(lambda old, new, delta: pytest.fail("nothing has changed"))
    operations = files.operations
    assert log.propose([], log.image) is log.image
    assert files.operations == operations


def test_stale_proposal_is_refused() -> None:
    """It was planned on an image that somebody has changed since."""
    log = open_log(new_directory())
    old = log.image
    propose(log, *topic_records("t", A))
    with pytest.raises(StaleMetadataError):
        log.propose([record_of(m) for m in topic_records("u", B)], old)


def test_proposal_that_cannot_be_applied_is_never_written() -> None:
    """A log that cannot be read back would stop the next start."""
    files = new_directory()
    log = open_log(files)
    image = log.image
    with pytest.raises(CorruptMetadataError):
        propose(log, RemoveTopicRecord(topic_id=B))
    assert log.image is image
    assert load_metadata(files, DIRECTORY).image == image


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_failed_proposal_has_not_happened_and_the_next_one_goes_on(operation: str) -> None:
    """Answered KAFKA_STORAGE_ERROR; neither the image nor a restart knows of it."""
    files = new_directory()
    log = open_log(files)
    propose(log, *topic_records("t", A))
    image = log.image
    files.fail(operation, errno.EIO, path_part=".log")
    with pytest.raises(KafkaError) as caught:
        propose(log, *topic_records("u", B))
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.image is image
    assert topics_on_disk(files) == ["t"]
    propose(log, *topic_records("v", UUID(int=0xC)))
    assert topics_on_disk(files) == ["t", "v"]


def test_disk_that_fails_for_long_leaves_the_last_answered_state() -> None:
    """Also where the failed batch could not be cut off at once."""
    files = new_directory()
    log = open_log(files)
    propose(log, *topic_records("t", A))
    files.fail("sync", times=50)
    files.fail("truncate", times=3)
    for index in range(4):
        with pytest.raises(KafkaError):
            propose(log, *topic_records(f"lost-{index}", UUID(int=100 + index)))
    files.fail("sync", times=0)
    for fault in files._faults:
        fault.times = 0
    propose(log, *topic_records("v", UUID(int=0xC)))
    assert topics_on_disk(files) == ["t", "v"] == list(log.image.topics_by_name)


CHANGES: list[list[Message]] = [
    topic_records("t", A, 3),
    topic_records("u", B),
    [RemoveTopicRecord(topic_id=A)],
    topic_records("w", UUID(int=0xC), 20),
]
EXPECTED = [[], ["t"], ["t", "u"], ["u"], ["u", "w"]]
"""The topics before the changes, and after each."""


def test_crash_at_every_operation_loses_nothing_that_was_answered() -> None:
    """For k = 0, 1, 2 … until none is left, a restart finds what was answered last, or what was under way."""
    crashes = 0
    while True:
        files = MemoryFiles(seed=crashes, crash_at=crashes)
        answered = run_until_crash(files)
        if answered == len(EXPECTED) - 1:
            break
        survivor = files.crash()
        survivor.mkdir("/data")
        found = list(open_log(survivor).image.topics_by_name)
        assert found in EXPECTED[answered : answered + 2], f"crash_at={crashes}"
        assert list(open_log(survivor).image.topics_by_name) == found, "a recovered log is read the same again"
        crashes += 1
    assert crashes > 10


def run_until_crash(files: MemoryFiles) -> int:
    """Open a log and make the four changes; return how many were answered before the machine stopped."""
    answered = 0
    try:
        files.mkdir("/data")
        files.sync_dir("/")
        log = open_log(files)
        for change in CHANGES:
            propose(log, *change)
            answered += 1
    except SimulatedCrash:
        pass
    return answered
