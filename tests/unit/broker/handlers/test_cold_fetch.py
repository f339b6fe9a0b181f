"""Fetching what only the disk has: others are served while a thread looks for it."""

import asyncio
import errno
import itertools

import pytest

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.fetch import FetchHandler
from odradek.broker.handlers.fetch_sessions import FetchSessions
from odradek.broker.handlers.fetch_steps import READS_FROM_DISK
from odradek.protocol.errors import ErrorCode
from tests.support.manual_loop import HandExecutor
from tests.support.memory_files import MemoryFiles
from tests.support.partitions import DATA, Node, Reply, context
from tests.unit.broker.handlers.fetch_support import HEAD, VERSION, Ask, Place, at, request, results, values
from tests.unit.broker.handlers.old_support import until

DIRECTORY = f"{DATA}/t-0"
SUFFIXES = (".log", ".index", ".timeindex")


@pytest.fixture
def node() -> Node:
    """A node that was started anew; the log of `t` has a sealed segment, of which nothing is in memory."""
    files = MemoryFiles()
    before = Node(files)
    before.create("t", 2)
    before.append("t", b"other", partition=1)
    for value in (b"a", b"b", b"c"):
        before.append("t", value)
    before.table.get("t", 0).log.roll(before.clock.now_ms())
    before.append("t", b"d")
    assert before.logs.close() == []
    again = Node(files, image=before.image)
    for suffix in SUFFIXES:
        files.make_cold(f"{DIRECTORY}/{0:020d}{suffix}")
    return again


class Fetching:
    """A handler whose threads do their work when they are told."""

    def __init__(self, node: Node) -> None:
        self.threads = HandExecutor()
        loop = asyncio.get_running_loop()
        sessions = FetchSessions(10, itertools.count(1).__next__)
        self._handler = FetchHandler(
            loop, node.table, sessions, node.clock, 1 << 30, Converter(loop, node.memory), node.memory, self.threads
        )

    def ask(self, *places: Place, version: int = VERSION, max_wait_ms: int = 0) -> Reply:
        """Give the handler a request."""
        asked = request(places, Ask(max_wait_ms=max_wait_ms, version=version))
        return Reply(self._handler(context(version), asked, HEAD))

    def has_worked(self, reply: Reply) -> bool:
        """Let the threads work, and return whether there is an answer."""
        self.threads.run()
        return not reply.is_waiting

    async def work(self, reply: Reply) -> int:
        """Let the threads work until there is an answer; return how often they were needed."""
        for times in range(READS_FROM_DISK + 2):
            for _ in range(5):
                await asyncio.sleep(0)
            if not reply.is_waiting:
                return times
            self.threads.run()
        raise AssertionError("there is no answer")


async def test_cold_places_are_found_on_a_thread(node: Node) -> None:
    """The loop touches nothing of the segment before, and answers others meanwhile."""
    fetch = Fetching(node)
    cold = fetch.ask(at(1))
    assert cold.is_waiting
    await asyncio.sleep(0)
    assert len(fetch.threads) == 1
    warm = fetch.ask(at(0, partition=1))
    assert values(results(warm)[0]) == [(0, b"other")]
    assert await fetch.work(cold) > 0
    assert values(results(cold)[0]) == [(1, b"b"), (2, b"c")]
    again = fetch.ask(at(1))
    assert not again.is_waiting


async def test_warm_and_cold_partitions_of_one_request_come_in_its_order(node: Node) -> None:
    """Nothing is left out, nothing comes twice."""
    fetch = Fetching(node)
    reply = fetch.ask(at(0), at(0, partition=1))
    await fetch.work(reply)
    found = [(partition.partition_index, values(partition)[0]) for partition in results(reply)]
    assert found == [(0, (0, b"a")), (1, (0, b"other"))]


@pytest.mark.parametrize("version", [3, VERSION])
async def test_damaged_index_is_made_anew_on_a_thread(node: Node, version: int) -> None:
    """Not on the loop, which would stand still for as long as a whole segment takes to read."""
    path = f"{DIRECTORY}/{0:020d}.timeindex"
    node.files.write_bytes(path, b"x" * 24)
    fetch = Fetching(node)
    reply = fetch.ask(at(1), version=version)
    assert reply.is_waiting
    await asyncio.sleep(0)
    assert node.files.read_bytes(path) == b"x" * 24
    if version == VERSION:
        await fetch.work(reply)
    else:  # whose records go through the thread of the conversion, too
        await until(lambda: fetch.has_worked(reply))
    assert results(reply, version)[0].records
    assert node.files.read_bytes(path) != b"x" * 24
    assert not [name for name in node.files.listdir(DIRECTORY) if name.endswith(".tmp")]


async def test_disk_that_fails_is_an_error_of_its_partition_and_is_asked_again(node: Node) -> None:
    """For want of descriptors, say: that passes."""
    fetch = Fetching(node)
    node.files.fail("read", errno.EMFILE, path_part=f"{DIRECTORY}/{0:020d}.index")
    reply = fetch.ask(at(1), at(0, partition=1))
    await fetch.work(reply)
    failed, other = results(reply)
    assert failed.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert values(other) == [(0, b"other")]
    reply = fetch.ask(at(1))
    await fetch.work(reply)
    assert values(results(reply)[0]) == [(1, b"b"), (2, b"c")]


async def test_memory_that_is_taken_away_again_each_time_ends_in_a_wait(node: Node) -> None:
    """A request is answered, however short memory is."""
    fetch = Fetching(node)
    reply = fetch.ask(at(1))
    for _ in range(READS_FROM_DISK + 1):
        for _ in range(5):
            await asyncio.sleep(0)
        fetch.threads.run()
        for suffix in SUFFIXES:
            node.files.make_cold(f"{DIRECTORY}/{0:020d}{suffix}")
    await asyncio.sleep(0)
    assert values(results(reply)[0]) == [(1, b"b"), (2, b"c")]


@pytest.mark.parametrize("version", [3, VERSION])
@pytest.mark.parametrize("is_time_up", [False, True])
async def test_fetch_that_is_woken_reads_cold_places_on_a_thread(node: Node, version: int, is_time_up: bool) -> None:
    """Also the one whose time is up, which is answered when they are read."""
    fetch = Fetching(node)
    log = node.table.get("t", 0).log
    reply = fetch.ask(at(4), version=version, max_wait_ms=60_000)
    await asyncio.sleep(0)
    node.append("t", b"e")
    log.roll(node.clock.now_ms())
    log.segments.holding(4).release()
    log.local.reader.forget()
    for suffix in SUFFIXES:
        node.files.make_cold(f"{DIRECTORY}/{3:020d}{suffix}")
    if is_time_up:
        node.table.answer_delayed_fetches()
    assert reply.is_waiting
    await until(lambda: len(fetch.threads) > 0)
    assert reply.is_waiting
    await until(lambda: fetch.has_worked(reply))
    assert results(reply, version)[0].records
