"""Offsets by the time of records: what takes long, or only the disk has, is done on threads."""

import asyncio

import pytest

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.offsets import MAX_TIMESTAMP, OffsetHandlers
from odradek.broker.handlers.offsets_by_time import OffsetsByTime
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields, build_batch, make_records
from odradek.storage.log.timestamps import TimestampCandidate
from tests.support.deferred import now
from tests.support.logs import NOW_MS
from tests.support.manual_loop import HandExecutor
from tests.support.memory_files import MemoryFiles
from tests.support.partitions import DATA, Node, context
from tests.unit.broker.handlers.old_support import until

DIRECTORY = f"{DATA}/t-0"
SUFFIXES = (".log", ".index", ".timeindex")


class Asking:
    """A handler whose threads do their work when they are told."""

    def __init__(self, node: Node) -> None:
        self.threads = HandExecutor()
        loop = asyncio.get_running_loop()
        by_time = OffsetsByTime(loop, self.threads, Converter(loop, node.memory))
        self._handlers = OffsetHandlers(node.table, node.clock, by_time)

    def ask(self, timestamp: int) -> ListOffsetsResponse | Deferred[ListOffsetsResponse]:
        """Ask for an offset of the first partition, and for the end of the second."""
        wanted = [
            ListOffsetsPartition(partition_index=0, timestamp=timestamp),
            ListOffsetsPartition(partition_index=1, timestamp=-1),
        ]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=wanted)])
        return self._handlers.list_offsets(context(11), request)

    async def found(self, waiting: Deferred[ListOffsetsResponse]) -> list[tuple[int, int]]:
        """Let the threads work until there is an answer, and return code and offset of both partitions."""
        answers: list[ListOffsetsResponse] = []
        waiting.on_done(answers.append)

        def has_worked() -> bool:
            self.threads.run()
            return bool(answers)

        await until(has_worked)
        return [(one.error_code, one.offset) for one in answers[0].topics[0].partitions]


@pytest.fixture
def node() -> Node:
    """A node that was started anew; the log of `t` has sealed segments, of which nothing is in memory."""
    files = MemoryFiles()
    before = Node(files)
    before.create("t", 2)
    for value in (b"a", b"b", b"c", b"d"):
        before.append("t", value)
        before.clock.advance(1)
        before.table.get("t", 0).log.roll(before.clock.now_ms())
    assert before.logs.close() == []
    again = Node(files, image=before.image)
    for base_offset in range(4):
        for suffix in SUFFIXES:
            files.make_cold(f"{DIRECTORY}/{base_offset:020d}{suffix}")
    return again


@pytest.mark.parametrize(("timestamp", "offset"), [(NOW_MS + 1500, 2), (MAX_TIMESTAMP, 3), (NOW_MS + 9000, -1)])
async def test_cold_segments_are_searched_with_the_help_of_threads(node: Node, timestamp: int, offset: int) -> None:
    """The loop reads nothing that only the disk has; what is in memory then is answered at once."""
    asking = Asking(node)
    waiting = asking.ask(timestamp)
    assert isinstance(waiting, Deferred)
    await asyncio.sleep(0)
    assert len(asking.threads) == 1
    assert await asking.found(waiting) == [(0, offset), (0, 0)]
    assert [one.offset for one in now(asking.ask(timestamp)).topics[0].partitions] == [offset, 0]


async def test_disk_that_fails_is_the_error_of_its_partition(node: Node) -> None:
    """The other one is answered."""
    node.files.unlink(f"{DIRECTORY}/{2:020d}.log")
    asking = Asking(node)
    waiting = asking.ask(NOW_MS + 1500)
    assert isinstance(waiting, Deferred)
    (code, _), other = await asking.found(waiting)
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert other == (0, 0)


async def test_batch_that_holds_more_than_its_size_says_is_decoded_on_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A few kilobytes may be a million records."""
    node = Node()
    node.create("t", 2)
    records = make_records([(None, b"")] * 20_000, node.clock.now_ms())
    node.table.get("t", 0).append(build_batch(records, BatchFields(codec=Codec.GZIP)), node.clock.now_ms())
    limits: list[int] = []
    record_in = TimestampCandidate.record_in

    def counting(candidate: TimestampCandidate, data: bytes, limit: int) -> object:
        limits.append(limit)
        return record_in(candidate, data, limit)

    monkeypatch.setattr(TimestampCandidate, "record_in", counting)
    asking = Asking(node)
    assert isinstance(asking.ask(NOW_MS), Deferred)
    assert limits == [] or max(limits) < 64 * 1024
