"""Replicas that move between log directories: what is copied, what stops a move, what a client is told."""

import errno
from collections.abc import Callable
from uuid import UUID

import pytest

from odradek.broker.moving import replica_moves
from odradek.broker.moving.replica_moves import MoveParts, PlaceReports, ReplicaMoves
from odradek.broker.partitions.flusher import BackgroundFlusher
from odradek.broker.partitions.partition import Partition
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.building import BatchFields
from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.directories.futures import FutureLog
from odradek.storage.directories.gathering import Steps
from odradek.storage.names import LOG_SUFFIX, MOVE_COMPLETE_FILE, RECOVERY_POINT_FILE, TopicPartition
from tests.support.logs import check_log, contents, read_all, small_config
from tests.support.manual_loop import HandThreads
from tests.support.partitions import Node

T0 = TopicPartition("t", 0)
UNLIMITED = 1 << 62


class Threads(HandThreads):
    """Threads that can be ended."""

    def stop(self) -> None:
        """There is nothing to end."""


class Scene:
    """A node with two directories, and a partition in the first of them."""

    def __init__(self, *, reports: PlaceReports | None = None, flush_messages: str | None = None) -> None:
        self.node = Node(paths=("/a", "/b"))
        self.rate = UNLIMITED
        loop = self.node.loop
        self.threads, self.flush_threads = Threads(loop), HandThreads(loop)
        self.flusher = BackgroundFlusher(loop, self.flush_threads, self.flush_threads, self.node.clock)
        self.moves = ReplicaMoves(
            MoveParts(
                loop=loop,
                threads=self.threads,
                clock=self.node.clock,
                logs=self.node.logs,
                partitions=self.node.table,
                flusher=self.flusher,
                rate=lambda: self.rate,
                reports=reports,
            )
        )
        self.node.table._flusher = self.flusher
        self.node.defaults = small_config()
        self.node.create("t")
        if flush_messages is not None:
            self.node.configure("t", flush_messages=flush_messages)
        assert self.partition.log.directory == "/a/t-0"

    @property
    def partition(self) -> Partition:
        return self.node.table.get("t", 0)

    @property
    def future(self) -> FutureLog:
        found = self.node.logs.futures.get(T0)
        assert found is not None
        return found

    def fill(self, batches: int = 60) -> None:
        for number in range(batches):
            self.node.append("t", b"%d" % number * 30, b"x")

    def turn(self) -> None:
        """Let everybody do one step."""
        self.node.loop.settle()
        self.threads.run()
        self.flush_threads.run()
        self.node.loop.settle()

    def run(self, between: Callable[[], object] = lambda: None) -> None:
        """Let the moves go on to their end."""
        for _ in range(500):
            if not len(list(self.node.logs.futures)):
                break
            self.turn()
            between()
            self.node.pass_time(0.05)
        for _ in range(3):
            self.turn()

    def begin(self, copied_pieces: int = 0) -> None:
        """Begin to move to the second directory, and let some pieces be copied."""
        self.moves.alter(T0, "/b")
        for _ in range(1 + copied_pieces if copied_pieces else 0):
            self.turn()

    def bring_before_swap(self) -> None:
        """Begin to move, and go on until the copy is on the disk, of which the loop has yet to hear."""
        self.begin()
        marker = f"{self.future.path}/{MOVE_COMPLETE_FILE}"
        while not self.node.files.exists(marker):
            self.node.pass_time(0.05)
            self.node.loop.settle()
            self.threads.run()
            self.flush_threads.run()

    def check_moved(self) -> None:
        """The partition is in the second directory, and nothing else of it anywhere."""
        log = self.partition.log
        assert log.directory == "/b/t-0"
        check_log(log)
        assert not [name for name in self.node.files.listdir("/b") if name.endswith("-future")]
        assert not self.node.files.exists("/a/t-0")
        assert not self.node.files.exists(f"/b/t-0/{MOVE_COMPLETE_FILE}")
        assert self.node.logs.logs_in(self.node.logs.directories[1]) == [log]
        assert self.node.logs.logs_in(self.node.logs.directories[0]) == []


def data_of(node: Node, directory: str) -> bytes:
    return b"".join(data for name, data in contents(node.files, directory).items() if name.endswith(LOG_SUFFIX))


def run_through(steps: Steps) -> Callable[[], None] | None:
    """Take all the steps, and return what they come to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Callable[[], None] | None = end.value
            return result


def refusal(moves: ReplicaMoves, tp: TopicPartition, path: str) -> ErrorCode | None:
    try:
        moves.alter(tp, path)
    except KafkaError as refused:
        return refused.code
    return None


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_all_bytes_are_there_and_the_partition_serves_on(scene: Scene) -> None:
    """The same log, to whoever holds it: its end, its producers, and what is written next."""
    scene.fill()
    fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=0)
    scene.node.append("t", b"first", fields=fields)
    log, before = scene.partition.log, data_of(scene.node, "/a/t-0")
    scene.moves.alter(T0, "/b")
    scene.run()
    scene.check_moved()
    assert scene.partition.log is log
    assert data_of(scene.node, "/b/t-0") == before
    assert scene.node.append("t", b"first", fields=fields).duplicate
    scene.fill()
    check_log(log)
    log.flush()
    again = Node(scene.node.files.crash(kept=0.0), paths=("/a", "/b"), image=scene.node.image)
    assert read_all(again.table.get("t", 0).log) == read_all(log)


def test_what_is_written_meanwhile_comes_along(scene: Scene) -> None:
    """Also to new segments; what waits for the disk is told once it is there, in the new place."""
    scene.fill()
    told: list[ErrorCode] = []

    def write() -> None:
        scene.node.append("t", b"more" * 40)
        scene.partition.when_on_disk(told.append)

    scene.moves.alter(T0, "/b")
    scene.run(write)
    scene.check_moved()
    for _ in range(3):
        scene.turn()
    assert told
    assert set(told) == {ErrorCode.NONE}


def test_with_flush_messages_nothing_acknowledged_is_taken_off_the_disk() -> None:
    """What was on the disk when the copy took over is on the disk in its new place."""
    scene = Scene(flush_messages="1")
    scene.fill(5)

    def write() -> None:
        scene.node.append("t", b"more")
        scene.flush_threads.run()
        scene.node.loop.settle()

    scene.moves.alter(T0, "/b")
    scene.run(write)
    scene.check_moved()
    watermark = scene.partition.high_watermark
    assert watermark > 5
    again = Node(scene.node.files.crash(kept=0.0), paths=("/a", "/b"), image=scene.node.image)
    assert again.table.get("t", 0).log.log_end_offset >= watermark


def test_errors_come_in_apache_kafkas_order(scene: Scene) -> None:
    """A name that is too long comes before all else, an unknown directory before the partition."""
    long = TopicPartition("n" * 214, 0)
    assert refusal(scene.moves, long, "/c") is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refusal(scene.moves, TopicPartition("n" * 213, 0), "/c") is ErrorCode.LOG_DIR_NOT_FOUND
    assert refusal(scene.moves, T0, "b") is ErrorCode.LOG_DIR_NOT_FOUND
    assert refusal(scene.moves, TopicPartition("none", 0), "/b") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(scene.moves, TopicPartition("t", 1), "/b") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(scene.moves, T0, "/a") is None
    assert T0 not in scene.node.logs.futures
    scene.node.logs.fail_directory("/b", "Input/output error")
    assert refusal(scene.moves, T0, "/b") is ErrorCode.KAFKA_STORAGE_ERROR
    assert refusal(scene.moves, T0, "/a") is None


def test_nothing_begins_to_move_while_a_directory_has_failed() -> None:
    """There might be another copy in it."""
    node = Node(paths=("/a", "/b", "/c"))
    node.create("t")
    threads = Threads(node.loop)
    flusher = BackgroundFlusher(node.loop, threads, threads, node.clock)
    parts = MoveParts(node.loop, threads, node.clock, node.logs, node.table, flusher, lambda: UNLIMITED, None)
    node.logs.fail_directory("/c", "Input/output error")
    assert refusal(ReplicaMoves(parts), T0, "/b") is ErrorCode.KAFKA_STORAGE_ERROR


def test_asked_back_the_move_is_called_off(scene: Scene) -> None:
    """Nothing is left of the copy, and the partition is where it was."""
    scene.fill()
    scene.begin(copied_pieces=2)
    path = scene.future.path
    assert scene.node.files.exists(path)
    scene.moves.alter(T0, "/a")
    scene.run()
    assert scene.partition.log.directory == "/a/t-0"
    assert not scene.node.files.exists(path)
    scene.moves.alter(T0, "/b")
    scene.run()
    scene.check_moved()


def test_a_copy_whose_directory_is_made_after_it_was_called_off_goes_too(scene: Scene) -> None:
    """The thread may be at it just then."""
    scene.moves.alter(T0, "/b")
    scene.node.loop.settle()
    path = scene.future.path
    scene.moves.alter(T0, "/a")
    scene.run()
    for _ in range(3):
        scene.turn()
    assert not scene.node.files.exists(path)


def test_a_deleted_partition_takes_its_copy_along(scene: Scene) -> None:
    """And one of the same name can be moved at once."""
    scene.fill()
    scene.begin(copied_pieces=2)
    scene.node.delete("t")
    scene.run()
    assert not [name for name in scene.node.files.listdir("/b") if name.endswith("-future")]
    scene.node.create("t")
    target = "/b" if scene.partition.log.directory.startswith("/a") else "/a"
    scene.moves.alter(T0, target)
    scene.run()
    assert scene.partition.log.directory == f"{target}/t-0"


def test_records_that_are_deleted_meanwhile_are_not_in_the_copy(scene: Scene) -> None:
    """Retention goes on while a partition moves; the copy begins where the log begins."""
    scene.fill()
    scene.begin(copied_pieces=3)
    scene.partition.delete_records_before(51)
    scene.run()
    scene.check_moved()
    assert scene.partition.log.log_start_offset == 51
    assert [offset for offset, _ in read_all(scene.partition.log)][-1] == 119


def test_a_log_whose_start_has_overtaken_the_copy_is_copied_anew(scene: Scene) -> None:
    """In the middle of a batch, too."""
    scene.fill()
    scene.begin(copied_pieces=2)
    assert scene.future.log is not None
    assert scene.future.log.log_end_offset < 100
    scene.partition.delete_records_before(101)
    scene.run()
    scene.check_moved()
    assert scene.partition.log.log_start_offset == 101


def test_an_empty_log_moves(scene: Scene) -> None:
    """One from which everything was deleted, too."""
    scene.fill()
    scene.partition.delete_records_before(-1)
    scene.moves.alter(T0, "/b")
    scene.run()
    scene.check_moved()
    assert (scene.partition.log.log_start_offset, scene.partition.log.log_end_offset) == (120, 120)


@pytest.mark.parametrize("copied_pieces", [2, 30])
def test_a_log_that_is_cut_meanwhile_cuts_its_copy(scene: Scene, copied_pieces: int) -> None:
    """A follower's: what comes in a later epoch takes the place of what was copied."""
    scene.fill()
    scene.begin(copied_pieces)
    scene.node.logs.truncate_to(T0, 30)
    scene.partition.was_cut()
    scene.partition.lead(1, scene.partition.leader_epoch + 1)
    scene.fill(20)
    expected = read_all(scene.partition.log)
    scene.run()
    scene.check_moved()
    assert read_all(scene.partition.log) == expected
    assert len(scene.partition.log.leader_epochs.entries) == 2


def test_a_log_that_begins_anew_elsewhere_is_copied_anew(scene: Scene) -> None:
    """A follower's whose leader has nothing any more of what comes next."""
    scene.fill()
    scene.begin(copied_pieces=2)
    scene.node.logs.truncate_fully(T0, 500)
    scene.partition.was_cut()
    scene.fill(5)
    scene.run()
    scene.check_moved()
    assert scene.partition.log.log_start_offset == 500


def test_a_full_disk_ends_the_move_and_the_partition_stays(scene: Scene) -> None:
    """The copy gives its space back."""
    scene.fill()
    scene.begin(copied_pieces=2)
    scene.node.files.fail("write", errno.ENOSPC, scene.future.path, times=100)
    scene.run()
    assert T0 not in scene.node.logs.futures
    assert scene.partition.log.directory == "/a/t-0"
    assert not [name for name in scene.node.files.listdir("/b") if name.endswith("-future")]
    scene.fill(1)


@pytest.mark.parametrize("operation", ["sync", "rename"])
def test_an_error_at_the_end_leaves_the_partition_where_it_is(scene: Scene, operation: str) -> None:
    """Nothing is lost, and the move can be asked for again."""
    scene.fill()
    if operation == "rename":
        scene.bring_before_swap()
    else:
        scene.begin()
    scene.node.files.fail(operation, errno.EIO, scene.future.path, times=1)
    scene.run()
    assert T0 not in scene.node.logs.futures
    assert scene.partition.log.directory == "/a/t-0"
    scene.fill(5)
    check_log(scene.partition.log)
    scene.moves.alter(T0, "/b")
    scene.run()
    scene.check_moved()


def test_a_log_that_gets_no_name_any_more_goes_on_in_its_copy(scene: Scene) -> None:
    """Neither the copy can be renamed nor the log back: nothing is lost, and the next start gives it its name."""
    scene.fill()
    scene.bring_before_swap()
    scene.node.files.fail("rename", errno.EIO, scene.future.path)
    scene.node.files.fail("rename", errno.EIO, "/a/t-0.")
    scene.run()
    assert scene.partition.log.directory.endswith("-future")
    scene.fill()
    scene.partition.log.flush()
    expected = read_all(scene.partition.log)
    again = Node(scene.node.files.crash(kept=0.0), paths=("/a", "/b"), image=scene.node.image)
    assert again.table.get("t", 0).log.directory == "/b/t-0"
    assert read_all(again.table.get("t", 0).log) == expected


def test_what_is_put_back_stays_after_a_power_cut(scene: Scene) -> None:
    """The name of the log is on the disk again before the copy goes."""
    scene.fill()
    scene.partition.log.flush()
    scene.bring_before_swap()
    scene.node.files.fail("rename", errno.EIO, scene.future.path)
    scene.run()
    assert scene.partition.log.directory == "/a/t-0"
    scene.fill(3)
    scene.partition.log.flush()
    again = Node(scene.node.files.crash(kept=0.0), paths=("/a", "/b"), image=scene.node.image)
    assert read_all(again.table.get("t", 0).log) == read_all(scene.partition.log)


def test_a_checkpoint_that_is_being_collected_follows_the_log(scene: Scene) -> None:
    """Each directory's says what is in it when it is written."""
    scene.fill()
    scene.partition.log.flush()
    steps = scene.node.logs.checkpoints.recovery_points_in_steps()
    next(steps)
    scene.begin()
    scene.run()
    scene.check_moved()
    write = run_through(steps)
    assert write is not None
    write()
    written = {path: read_offset_checkpoint(scene.node.files, f"{path}/{RECOVERY_POINT_FILE}") for path in ("/a", "/b")}
    assert written == {"/a": {}, "/b": {T0: scene.partition.log.local.checkpointed_recovery_point}}


def test_a_piece_that_is_read_after_a_cut_is_not_believed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came in the place of what was cut may be as long, and fit: what was copied before is no more."""
    monkeypatch.setattr(replica_moves, "PIECE_BYTES", 1)  # a batch, of two records, at a time
    scene.fill()
    scene.begin(copied_pieces=3)
    copy = scene.future.log
    assert copy is not None
    scene.node.loop.settle()  # a piece is about to be read
    end = copy.log_end_offset
    assert 2 < end < scene.partition.log.segments.active.base_offset
    scene.node.logs.truncate_to(T0, end - 2)
    scene.partition.was_cut()
    scene.partition.lead(1, scene.partition.leader_epoch + 1)
    for number in range(end // 2 - 1, 60):
        scene.node.append("t", b"%d" % number * 30, b"y")
    expected = read_all(scene.partition.log)
    scene.run()
    scene.check_moved()
    assert read_all(scene.partition.log) == expected


def test_a_throttle_slows_the_copying(scene: Scene) -> None:
    """replica.alter.log.dirs.io.max.bytes.per.second, which may be changed meanwhile."""
    scene.fill()
    scene.rate = 100
    scene.begin()
    for _ in range(20):
        scene.turn()
        scene.node.pass_time(0.05)
    assert scene.future.log is not None
    assert 0 < scene.future.log.log_end_offset < 60
    scene.rate = UNLIMITED
    scene.run()
    scene.check_moved()


def test_a_move_begins_anew_after_a_stop(scene: Scene) -> None:
    """What was copied is thrown away, since nobody knows what of the log was compacted meanwhile."""
    scene.fill()
    scene.begin(copied_pieces=2)
    path = scene.future.path
    files = scene.node.files.crash(kept=1.0)
    again = Node(files, paths=("/a", "/b"), image=scene.node.image)
    assert not files.exists(path)
    assert [(tp, target.path) for tp, target in again.logs.futures.interrupted.items()] == [(T0, "/b")]


def test_the_controller_is_told_before_the_copy_takes_over() -> None:
    """It may not lose the replica should the old directory fail right after; called off, it is told again."""

    class Reports:
        def __init__(self) -> None:
            self.told: list[tuple[UUID, int]] = []
            self.knows = False

        def opened(self, topic_id: UUID, partition: int) -> None:
            self.told.append((topic_id, partition))

        def is_known(self, topic_id: UUID, partition: int) -> bool:
            return self.knows

    reports = Reports()
    scene = Scene(reports=reports)
    scene.fill()
    topic_id = scene.partition.log.topic_id
    assert topic_id is not None
    here, there = (one.meta.directory_id for one in scene.node.logs.directories if one.meta is not None)
    scene.begin(copied_pieces=60)
    assert reports.told == [(topic_id, 0)]
    assert scene.node.logs.directory_id(T0, topic_id) == there
    assert scene.partition.log.directory == "/a/t-0"
    scene.moves.alter(T0, "/a")
    assert reports.told == [(topic_id, 0)] * 2
    assert scene.node.logs.directory_id(T0, topic_id) == here
    scene.moves.alter(T0, "/b")
    reports.knows = True
    scene.run()
    scene.check_moved()


def test_a_preferred_directory_is_where_a_partition_is_made(scene: Scene) -> None:
    """One that was asked for before the partition came."""
    scene.node.logs.futures.preferred[TopicPartition("u", 0)] = "/a"
    scene.node.create("u")
    assert scene.node.table.get("u", 0).log.directory == "/a/u-0"
    assert not scene.node.logs.futures.preferred
