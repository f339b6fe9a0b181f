"""Fetch versions 0 to 3: what the log has as messages of the version that a client reads."""

import asyncio
import itertools
import threading

import pytest

from odradek.broker.handlers import old_fetch
from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.fetch import MOST_OF_OLD, FetchHandler
from odradek.broker.handlers.fetch_sessions import FetchSessions
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import PartitionData
from odradek.protocol.records.batch import Codec, iter_batches
from odradek.protocol.records.building import BatchFields
from odradek.protocol.records.legacy import check_message_crc, read_message
from odradek.protocol.records.legacy_building import build_message_set
from odradek.protocol.records.reading import iter_entry_records
from odradek.protocol.records.record import Record
from tests.support.memory_files import OpenMemoryFile
from tests.support.partitions import Node, Reply, context
from tests.unit.broker.handlers.fetch_support import (
    HEAD,
    Ask,
    Consumer,
    Place,
    at,
    request,
    result,
    results,
)
from tests.unit.broker.handlers.old_support import answered, until

VERSIONS = [0, 1, 2, 3]
PRODUCER = 7


@pytest.fixture
def node() -> Node:
    """A node with a topic `t` of two partitions; the first has two batches of two records."""
    node = Node()
    node.create("t", 2)
    node.append("t", b"a", b"b")
    node.append("t", b"c", b"d")
    return node


def begin(
    node: Node, *places: Place, version: int, max_wait_ms: int = 0, min_bytes: int = 1, most: int = 1 << 30
) -> Reply:
    """Give the handler a request."""
    loop = asyncio.get_running_loop()
    sessions = FetchSessions(10, itertools.count(1).__next__)
    handler = FetchHandler(loop, node.table, sessions, node.clock, most, Converter(loop, node.memory), node.memory)
    asked = request(places, Ask(max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=most))
    return Reply(handler(context(version), asked, HEAD))


async def fetch(node: Node, *places: Place, version: int, most: int = 1 << 30) -> list[PartitionData]:
    """Ask, and wait for the answer."""
    return results(await answered(begin(node, *places, version=version, most=most)), version)


def messages(found: PartitionData) -> list[Record]:
    """Return the records of the whole messages, whose checksums must be right."""
    data = bytes(found.records or b"")
    records: list[Record] = []
    for position, header in iter_batches(data):
        entry = data[position : position + header.size]
        check_message_crc(entry)
        records += iter_entry_records(entry)
    return records


def values(found: PartitionData) -> list[tuple[int, bytes | None]]:
    """Return offset and value of each record."""
    return [(record.offset, record.value) for record in messages(found)]


ALL = [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d")]


@pytest.mark.parametrize("version", VERSIONS)
async def test_batches_become_messages_of_the_clients_version(node: Node, version: int) -> None:
    """Versions 0 and 1 read version 0, the next two version 1; the answer has the high watermark."""
    (found,) = await fetch(node, at(), version=version)
    assert values(found) == ALL
    assert (found.error_code, found.high_watermark) == (0, 4)
    magics = {read_message(bytes(found.records or b"")).magic}
    assert magics == {0 if version < 2 else 1}
    times = {record.timestamp for record in messages(found)}
    assert times == ({-1} if version < 2 else {node.clock.now_ms()})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [1, 3, 4])
async def test_data_starts_at_the_offset(node: Node, version: int, offset: int) -> None:
    """In the middle of a batch, what comes before is left out; at the end there is nothing."""
    (found,) = await fetch(node, at(offset), version=version)
    assert values(found) == ALL[offset:]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
async def test_codecs_are_kept(node: Node, version: int, codec: Codec) -> None:
    """A compressed batch is sent as a wrapper with the same codec."""
    node.append("t", b"x", b"y", partition=1, fields=BatchFields(codec=codec))
    (found,) = await fetch(node, at(partition=1), version=version)
    assert read_message(bytes(found.records or b"")).codec == codec
    assert values(found) == [(0, b"x"), (1, b"y")]


@pytest.mark.parametrize("version", VERSIONS)
async def test_zstd_is_refused(node: Node, version: int) -> None:
    """UNSUPPORTED_COMPRESSION_TYPE, for a topic of zstd and for a batch of it."""
    node.append("t", b"x", partition=1, fields=BatchFields(codec=Codec.ZSTD))
    (found,) = await fetch(node, at(partition=1), version=version)
    assert (found.error_code, found.records) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, b"")
    node.configure("t", compression_type="zstd")
    (found,) = await fetch(node, at(), version=version)
    assert found.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_the_limit_is_hard_up_to_version_2(node: Node, version: int) -> None:
    """What is sent may end inside a message, even the first: so a client learns that its buffer is too small."""
    (whole,) = await fetch(node, at(2), version=version)
    assert whole.records is not None
    for limit in (0, 1, 12, 20, len(whole.records) - 1):
        (found,) = await fetch(node, Place(offset=2, max_bytes=limit), version=version)
        assert found.records == whole.records[:limit]


async def test_a_limit_of_nothing_passes_nothing_over(node: Node) -> None:
    """Where the limit leaves nothing, a request waits like any other, and what lies behind is not looked at."""
    node.append("t", b"x", fields=BatchFields(codec=Codec.ZSTD))
    (found,) = await fetch(node, Place(max_bytes=0), version=2)
    assert (found.error_code, found.records) == (0, b"")


async def test_version_3_has_at_least_one_message(node: Node) -> None:
    """The first partition with data gives one message whole, over any limit; others keep to it, and all are whole."""
    node.append("t", b"x", partition=1)
    for limit in (0, 1):
        first, second = await fetch(node, Place(max_bytes=limit), Place(partition=1, max_bytes=limit), version=3)
        assert values(first) == ALL[:1]
        assert values(second) == []
    (whole,) = await fetch(node, at(2), version=3)
    assert whole.records is not None
    (found,) = await fetch(node, Place(offset=2, max_bytes=len(whole.records) - 1), version=3)
    assert values(found) == ALL[2:3]
    assert found.records is not None
    assert sum(header.size for _, header in iter_batches(found.records)) == len(found.records)


async def test_a_message_larger_than_the_limit_of_a_later_partition_waits(node: Node) -> None:
    """In version 3 a partition that is not the first gives nothing that does not fit whole."""
    node.append("t", bytes(1000), partition=1)
    first, second = await fetch(node, at(), Place(partition=1, max_bytes=500), version=3)
    assert values(first) == ALL
    assert not second.records


@pytest.mark.parametrize("version", VERSIONS)
async def test_errors_are_told(node: Node, version: int) -> None:
    """What cannot be read has its error, and is answered at once; the others have their data."""
    found = await fetch(node, at(9, partition=1), Place("none"), at(partition=5), at(), version=version)
    assert [ErrorCode(each.error_code) for each in found] == [
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    ]
    assert values(found[3]) == ALL


async def test_a_request_waits_for_data(node: Node) -> None:
    """A long poll is answered when something is appended, or when its time is up."""
    reply = begin(node, at(4), version=2, max_wait_ms=60_000)
    await asyncio.sleep(0.01)
    assert reply.is_waiting
    node.append("t", b"e")
    (found,) = results(await answered(reply), 2)
    assert values(found) == [(4, b"e")]
    reply = begin(node, at(5), version=2, max_wait_ms=20)
    (found,) = results(await answered(reply), 2)
    assert (found.records, found.high_watermark) == (b"", 5)
    assert not node.table.get("t", 0).delayed_fetches


async def test_a_client_that_leaves_is_forgotten(node: Node) -> None:
    """A request that nobody waits for any more stands in no partition's way."""
    reply = begin(node, at(4), version=1, max_wait_ms=60_000)
    await until(lambda: bool(node.table.get("t", 0).delayed_fetches))
    reply.cancel()
    await until(lambda: not node.table.get("t", 0).delayed_fetches)
    assert reply.is_waiting


@pytest.mark.parametrize("version", VERSIONS)
async def test_transactions_have_no_markers_in_old_messages(node: Node, version: int) -> None:
    """Control batches are left out; what an aborted transaction wrote is there, as for every uncommitted reader."""
    node.begin_transaction("t", PRODUCER, b"t")
    node.end_transaction("t", PRODUCER, committed=False)
    node.append("t", b"after")
    (found,) = await fetch(node, at(4), version=version)
    assert values(found) == [(4, b"t"), (6, b"after")]
    (found,) = await fetch(node, at(5), version=version)
    assert values(found) == [(6, b"after")]


async def test_where_only_a_marker_is_left_the_request_waits(node: Node) -> None:
    """An answer without records would be asked for again at once, and for ever."""
    node.begin_transaction("t", PRODUCER, b"t")
    node.end_transaction("t", PRODUCER, committed=True)
    reply = begin(node, at(5), version=1, max_wait_ms=60_000)
    await asyncio.sleep(0.05)
    assert reply.is_waiting
    node.append("t", b"after")
    (found,) = results(await answered(reply), 1)
    assert values(found) == [(6, b"after")]
    reply = begin(node, Place(offset=5, max_bytes=10), version=1)
    (found,) = results(await answered(reply), 1)
    assert len(found.records or b"") == 10


async def test_many_markers_are_passed_over(node: Node) -> None:
    """However many control batches lie between two records, and however small the limit, the next record comes."""
    for i in range(20):
        node.begin_transaction("t", PRODUCER, b"x", sequence=i)
        node.end_transaction("t", PRODUCER, committed=True)
    log = node.table.get("t", 0).log
    assert log.log_end_offset == 44
    (found,) = await fetch(node, Place(offset=43, max_bytes=1), version=3)
    assert values(found) == []
    node.append("t", b"after")
    (found,) = await fetch(node, Place(offset=43, max_bytes=1), version=3)
    assert values(found) == [(44, b"after")]


async def test_old_messages_are_sent_as_they_lie_there(node: Node) -> None:
    """Clients of version 4 and later read every format; older ones are given theirs."""
    data = build_message_set([Record(4, 50, b"k", b"old"), Record(5, 60, b"k", b"older")], 1, Codec.GZIP)
    node.table.get("t", 0).log.append_as_follower(memoryview(data), node.clock.now_ms())
    node.table.get("t", 0).flushed()
    assert result(Consumer(node)(at(4))).records == data
    for version in (2, 3):
        (found,) = await fetch(node, at(4), version=version)
        assert found.records == data
    (found,) = await fetch(node, at(5), version=0)
    assert values(found) == [(5, b"older")]


async def test_damage_is_an_error_of_its_partition(node: Node) -> None:
    """A batch whose checksum is wrong is not made into messages with right ones."""
    file = node.table.get("t", 0).log.segments.active.file
    file.pwrite(b"\xff", 70)
    node.append("t", b"x", partition=1)
    first, second = await fetch(node, at(), at(partition=1), version=2)
    assert (first.error_code, first.records) == (ErrorCode.CORRUPT_MESSAGE, b"")
    assert values(second) == [(0, b"x")]
    (found,) = await fetch(node, at(2), version=2)
    assert values(found) == ALL[2:]


async def test_an_answer_converts_a_bounded_part_of_the_log(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is more than that is for the next request; nothing is left out."""
    monkeypatch.setattr(old_fetch, "CONVERTED_BYTES", 100)
    node.append("t", b"x", partition=1)
    first, second = await fetch(node, at(), at(partition=1), version=2)
    assert 0 < len(values(first)) < 4
    assert (second.error_code, second.records, second.high_watermark) == (0, b"", 1)


async def test_no_more_is_read_than_is_converted(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may ask for all of a log: what is beyond the limit is not even read, but for the rest of one entry."""
    monkeypatch.setattr(old_fetch, "CONVERTED_BYTES", 200)
    read: list[int] = []
    pread = OpenMemoryFile.pread
    node.append("t", b"e" * 300)
    node.append("t", *[b"f"] * 100)

    def noted(self: OpenMemoryFile, size: int, position: int) -> bytes:
        if threading.current_thread().name.startswith("odradek-conversion"):  # not who looks for the place
            read.append(size)
        return pread(self, size, position)

    monkeypatch.setattr(OpenMemoryFile, "pread", noted)
    (found,) = await fetch(node, at(), version=2)
    assert values(found) == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d")]
    assert max(read) <= 200
    (found,) = await fetch(node, at(4), version=2)
    assert values(found) == [(4, b"e" * 300)]
    assert max(read) < 400


@pytest.mark.parametrize("offset", [0, 1])
async def test_a_failing_disk_is_told_in_words_that_old_clients_know(
    node: Node, monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    """KAFKA_STORAGE_ERROR came later: NOT_LEADER_OR_FOLLOWER makes them try again."""

    def fail(*_: object) -> bytes:
        raise OSError(5, "broken")

    monkeypatch.setattr(OpenMemoryFile, "pread", fail)
    (found,) = await fetch(node, at(offset), version=2)
    assert (found.error_code, found.records) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"")


@pytest.mark.parametrize("version", VERSIONS)
async def test_more_partitions_than_fit_in_a_turn_end_the_connection(node: Node, version: int) -> None:
    """They are all looked at in one turn of the loop, for clients that never had so many."""
    places = [Place(partition=index) for index in range(MOST_OF_OLD + 1)]
    with pytest.raises(CloseConnectionError):
        begin(node, *places, version=version)
    assert len(await fetch(node, *places[1:], version=version)) == MOST_OF_OLD
