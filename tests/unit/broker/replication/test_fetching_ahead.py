"""A replica that is far behind asks for more before it writes what came; one that may be in sync does not."""

from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

import pytest

from odradek.broker.partitions.partition import Partition
from odradek.broker.partitions.roles import Role
from odradek.broker.replication.fetcher import Fetcher, FetchSettings
from odradek.broker.replication.followed_partition import STORAGE_RETRY_S
from odradek.broker.replication.following import Following
from odradek.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from odradek.storage.log.log import Log
from odradek.storage.names import TopicPartition
from tests.support.clock import ManualClock
from tests.support.logs import NOW_MS, a_batch, open_at, small_config
from tests.support.memory_files import MemoryFiles
from tests.support.partitions import HandFlusher

TOPIC_ID = UUID(int=7)
EPOCH, SESSION = 4, 99
FAR = 100


class UncutLogs:
    """Logs of which nothing is cut."""

    high_watermarks: Mapping[TopicPartition, int] = MappingProxyType({})

    def truncate_to(self, partition: TopicPartition, offset: int) -> None:
        raise AssertionError(f"{partition} is cut to {offset}")

    def truncate_fully(self, partition: TopicPartition, offset: int) -> None:
        raise AssertionError(f"{partition} begins anew at {offset}")


def an_answer(records: memoryview, high_watermark: int) -> FetchResponse:
    data = PartitionData(high_watermark=high_watermark, log_start_offset=0, records=records)
    topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])
    return FetchResponse(session_id=SESSION, responses=[topic])


def a_log(files: MemoryFiles) -> Log:
    log = open_at(files, small_config(segment_bytes=1 << 20))
    log.topic_id = TOPIC_ID
    return log


def leaders_batches(count: int) -> list[memoryview]:
    """Return the batches of a leader, one record each."""
    log = a_log(MemoryFiles())
    for number in range(count):
        log.append(a_batch([b"%d" % number]), EPOCH, NOW_MS)
    file, size = log.segments.active.file, log.size // count
    return [memoryview(file.pread(size, number * size)) for number in range(count)]


class Follower:
    """A fetcher of one partition, and what it asked for while it took an answer."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.log = a_log(self.files)
        partition = Partition(self.log, 1, EPOCH, HandFlusher(), Role.FOLLOWER)
        self.fetcher = Fetcher(FetchSettings(2), lambda: 5)
        self.fetcher.add(Following(partition, EPOCH, UncutLogs(), ManualClock()))
        self.asked: list[tuple[int, int]] = []
        """The offset that each request names, and the end of the log when it went out."""
        self.ask()

    def ask(self, now: float = 0.0) -> None:
        request = self.fetcher.next_request(now)
        assert isinstance(request, FetchRequest)
        offsets = [one.fetch_offset for topic in request.topics for one in topic.partitions]
        self.asked += [(offset, self.log.log_end_offset) for offset in offsets]

    def take(self, records: memoryview, high_watermark: int, now: float = 0.0) -> None:
        """Take an answer; asks within it, if that is to be, and else after it."""
        before = len(self.asked)
        self.fetcher.answered(an_answer(records, high_watermark), now, lambda: self.ask(now))
        if len(self.asked) == before:
            self.ask(now)


def test_what_the_leader_has_committed_without_it_is_asked_for_ahead() -> None:
    """The next request names the offset behind what is yet to be written, which is written all the same."""
    follower = Follower()
    first, second, third = leaders_batches(3)
    follower.take(first, FAR)
    follower.take(second, FAR)
    assert follower.asked == [(0, 0), (1, 0), (2, 1)]
    assert follower.log.log_end_offset == 2
    follower.take(third, 3)
    assert follower.log.log_end_offset == 3
    assert follower.log.leader_epochs.latest == EPOCH


@pytest.mark.parametrize("high_watermark", [0, 1])
def test_what_may_be_committed_because_of_it_is_written_first(high_watermark: int) -> None:
    """Up to the leader's high watermark and beyond, what a replica asks for says what it has."""
    follower = Follower()
    follower.take(leaders_batches(1)[0], high_watermark)
    assert follower.asked == [(0, 0), (1, 1)]


def test_damaged_records_are_not_asked_past() -> None:
    """They are checked before the next request goes out."""
    follower = Follower()
    good = leaders_batches(1)[0]
    damaged = memoryview(bytes(good[:-1]) + b"?")
    follower.fetcher.answered(an_answer(damaged, FAR), 0.0, follower.ask)
    assert follower.asked == [(0, 0)]
    assert follower.log.log_end_offset == 0


def test_disk_that_refuses_what_was_asked_past() -> None:
    """What comes next does not fit and is dropped; later all of it is fetched again, from where the log ends."""
    follower = Follower()
    first, second = leaders_batches(2)
    follower.files.fail("write", path_part=".log")
    follower.take(first, FAR)
    assert follower.asked == [(0, 0), (1, 0)]
    follower.fetcher.answered(an_answer(second, FAR), 0.0, follower.ask)
    assert follower.log.log_end_offset == 0
    assert follower.fetcher.next_request(0.0) is None
    follower.ask(STORAGE_RETRY_S)
    assert follower.asked == [(0, 0), (1, 0), (0, 0)]
    follower.take(first, FAR, STORAGE_RETRY_S)
    assert follower.log.log_end_offset == 1
