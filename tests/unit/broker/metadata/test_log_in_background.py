"""Proposing while the broker serves: the disk is waited for elsewhere, and nothing counts before it has answered."""

import asyncio
import errno
from uuid import UUID

import pytest

from odradek.broker.metadata import log as log_module
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.records import Message
from odradek.broker.metadata.source import Stored
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import RemoveTopicRecord
from tests.support.log_lines import LogLines
from tests.support.manual_loop import HandThreads, ManualLoop
from tests.support.memory_files import MemoryFiles
from tests.unit.broker.metadata.support import record_of, topic_records
from tests.unit.broker.metadata.test_log import topics_on_disk
from tests.unit.broker.metadata.test_opening import new_directory, open_log

A, B, C = UUID(int=0xA), UUID(int=0xB), UUID(int=0xC)


class Serving:
    """A metadata log of a broker that serves, on threads that a test works."""

    def __init__(self) -> None:
        self.files: MemoryFiles = new_directory()
        self.log: MetadataLog = open_log(self.files)
        self.loop = ManualLoop()
        self.threads = HandThreads(self.loop)
        self.log.use_threads(self.threads)
        self.seen: list[list[str]] = []
        """The topics after each change that watchers were told of."""
        self.log.watch(self._note)
        self.outcomes: list[tuple[str, Stored]] = []

    def _note(self, _old: MetadataImage, new: MetadataImage, _delta: ImageDelta) -> None:
        self.seen.append(list(new.topics_by_name))

    def propose(self, name: str, *messages: Message) -> None:
        """Propose, and note the outcome when it is there."""
        outcome = self.log.propose([record_of(message) for message in messages], self.log.proposed)
        assert isinstance(outcome, Deferred)
        outcome.on_done(lambda stored: self.outcomes.append((name, stored)))

    def sync(self) -> None:
        """Let the threads do their work, and the loop hear of it."""
        self.threads.run()
        self.loop.settle()

    @property
    def codes(self) -> list[tuple[str, ErrorCode]]:
        """How the proposals ended, in the order in which they did."""
        return [(name, end.code if isinstance(end, KafkaError) else ErrorCode.NONE) for name, end in self.outcomes]


@pytest.fixture
def serving() -> Serving:
    """A metadata log of a broker that serves."""
    return Serving()


def test_the_event_loop_does_not_wait_for_the_disk(serving: Serving) -> None:
    """To propose touches no file, and nothing is answered or visible before a thread has synced it."""
    operations, image = serving.files.operations, serving.log.image
    serving.propose("t", *topic_records("t", A))
    assert serving.files.operations == operations
    assert (serving.log.image, serving.seen, serving.outcomes) == (image, [], [])
    serving.threads.run()
    assert topics_on_disk(serving.files.crash(kept=0.0)) == ["t"]
    assert (serving.seen, serving.outcomes) == ([], [])
    serving.loop.settle()
    assert serving.seen == [["t"]]
    assert serving.outcomes == [("t", serving.log.image)]


def test_changes_that_are_proposed_meanwhile_follow_in_order_with_one_fsync(serving: Serving) -> None:
    """Each is planned on those before it, and every watcher is told of each."""
    serving.propose("t", *topic_records("t", A))
    serving.propose("u", *topic_records("u", B))
    serving.propose("less", RemoveTopicRecord(topic_id=A))
    serving.propose("nothing")
    assert list(serving.log.proposed.topics_by_name) == ["u"]
    serving.sync()
    assert serving.codes == [("t", ErrorCode.NONE)]
    assert len(serving.threads) == 1
    serving.sync()
    assert len(serving.threads) == 0
    assert serving.seen == [["t"], ["t", "u"], ["u"]]
    assert [name for name, _ in serving.outcomes] == ["t", "u", "less", "nothing"]
    assert topics_on_disk(serving.files) == ["u"]


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_change_that_fails_takes_those_planned_on_it_with_it(serving: Serving, operation: str) -> None:
    """None of them is visible, now or after a restart, and what is proposed then goes on from what is durable."""
    serving.propose("t", *topic_records("t", A))
    serving.sync()
    image = serving.log.image
    serving.files.fail(operation, errno.EIO, path_part=".log")
    serving.propose("u", *topic_records("u", B))
    serving.propose("less", RemoveTopicRecord(topic_id=B))
    serving.sync()
    failed = ErrorCode.KAFKA_STORAGE_ERROR
    assert serving.codes[1:] == [("u", failed), ("less", failed)]
    assert serving.log.image is serving.log.proposed is image
    assert topics_on_disk(serving.files) == ["t"]
    serving.propose("v", *topic_records("v", C))
    serving.sync()
    assert topics_on_disk(serving.files) == ["t", "v"] == serving.seen[-1]
    assert serving.codes[-1] == ("v", ErrorCode.NONE)


def test_whoever_is_answered_may_propose(serving: Serving) -> None:
    """What follows from an answer is stored after all that was proposed before."""
    outcome = serving.log.propose([record_of(one) for one in topic_records("t", A)], serving.log.proposed)
    assert isinstance(outcome, Deferred)
    outcome.on_done(lambda _: serving.propose("v", *topic_records("v", C)))
    serving.propose("u", *topic_records("u", B))
    for _ in range(3):
        serving.sync()
    assert serving.seen == [["t"], ["t", "u"], ["t", "u", "v"]]


def test_a_watcher_that_fails_keeps_nobody_waiting(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change has happened: the others are told, and it is answered."""
    logged = LogLines()
    monkeypatch.setattr(log_module, "log", logged)

    def fail(old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        raise RuntimeError("a bug")

    serving.log.watch(fail)
    serving.log.watch(serving._note)
    serving.propose("t", *topic_records("t", A))
    serving.sync()
    assert (serving.seen, serving.codes) == ([["t"], ["t"]], [("t", ErrorCode.NONE)])
    assert [line.level for line in logged.lines] == ["error"]


def test_upkeep_waits_for_the_disk_elsewhere(serving: Serving) -> None:
    """What it returns may run while a change is written: they take turns."""
    serving.propose("t", *topic_records("t", A))
    operations = serving.files.operations
    work = serving.log.upkeep()
    assert serving.files.operations == operations
    work()
    serving.sync()
    assert topics_on_disk(serving.files) == ["t"]


async def test_a_stop_waits_for_what_is_under_way() -> None:
    """And for what was proposed meanwhile."""
    files = new_directory()
    log = open_log(files)
    threads = DiskThreads(asyncio.get_running_loop(), "test", 1)
    log.use_threads(threads)
    await asyncio.wait_for(log.settle(), 10)
    for number in range(3):
        log.propose([record_of(one) for one in topic_records(f"t{number}", UUID(int=number + 1))], log.proposed)
    await asyncio.wait_for(log.settle(), 10)
    assert list(log.image.topics_by_name) == ["t0", "t1", "t2"]
    threads.stop()
    log.close()
