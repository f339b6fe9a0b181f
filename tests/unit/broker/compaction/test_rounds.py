"""A round as the broker sees it: what becomes of it when the log changes underneath, and when it fails."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from odradek.broker.compaction.frames import Message
from odradek.broker.compaction.process import ProcessGoneError
from odradek.broker.compaction.rounds import BrokerRound, Chosen, RoundServices, UncleanableError
from odradek.storage.compaction.planning import PRODUCERS_PER_STEP, CleanerLimits, facts_of, limits_of
from odradek.storage.compaction.selection import examine
from odradek.storage.compaction.values import RoundFinished, Task, unpack_producers
from tests.support.clock import ManualClock
from tests.support.compaction import read_pairs
from tests.support.logs import NOW_MS, PARTITION, check_log
from tests.unit.broker.compaction.doubles import CONFIG, ProcessInProcess, Scene, make_scene
from tests.unit.storage.producers import producer_headers

LIMITS = CleanerLimits(dedupe_buffer_bytes=1 << 20)


@pytest.fixture
def scene() -> Scene:
    """A log of some ten segments in which nearly everything is overwritten."""
    return make_scene()


async def run_round(scene: Scene, process: ProcessInProcess) -> RoundFinished | None:
    """Do a round."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as threads:
        around = RoundServices(loop, threads, ManualClock(NOW_MS), scene.manager)
        candidate = examine(facts_of(scene.log, scene.log.log_end_offset, None), limits_of(scene.log), NOW_MS)
        chosen = Chosen(PARTITION, scene.log, candidate)
        return await BrokerRound(around, process, chosen).run(1, LIMITS)  # type: ignore[arg-type]  # a double


def run(scene: Scene, before: Callable[[int], None] = lambda _: None) -> tuple[RoundFinished | None, ProcessInProcess]:
    """Do a round; `before` is called with the number of each message before it arrives."""
    process = ProcessInProcess(scene.fs, before)
    return asyncio.run(run_round(scene, process)), process


def test_what_is_written_is_swapped_in_as_it_comes(scene: Scene) -> None:
    """At the end the last records are left, and the old files wait for their removal."""
    finished, _ = run(scene)
    assert finished is not None
    assert finished.end_offset == 120
    assert [offset for offset, _, _ in read_pairs(scene.log)] == [118, 119]
    check_log(scene.log)
    assert len(scene.log.local.deletions) > 0
    assert scene.leftovers() == []


def deleted(scene: Scene) -> None:
    """The topic goes."""
    scene.manager.delete(PARTITION)


def reconfigured(scene: Scene) -> None:
    """The topic is not compacted any more."""
    scene.log.update_config(replace(CONFIG, cleanup_policy=frozenset({"delete"})))


def cut(scene: Scene) -> None:
    """Records go off the end."""
    scene.log.truncate_to(119, NOW_MS)


def retained(scene: Scene) -> None:
    """Retention, or DeleteRecords, removes segments that are being compacted."""
    scene.log.delete_records_before(list(scene.log.segments)[4].base_offset)


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("change", [deleted, reconfigured, cut, retained])
def test_a_round_whose_log_changes_is_given_up(scene: Scene, change: Callable[[Scene], None], at: int) -> None:
    """Without an error: what was swapped in before is right, and nothing more is."""
    before = {offset: value for offset, _, value in read_pairs(scene.log)}
    finished, process = run(scene, lambda number: change(scene) if number == at else None)
    assert finished is None
    assert process.cancelled
    if change is not deleted:
        check_log(scene.log)
        assert scene.leftovers() == []
        assert all(before[offset] == value for offset, _, value in read_pairs(scene.log))


def test_a_swap_that_fails_names_the_log(scene: Scene) -> None:
    """The disk refuses a rename: the round ends, and nothing half-written is left."""
    scene.fs.fail("rename", errno.EROFS, ".log.cleaned")
    with pytest.raises(UncleanableError, match="Read-only"):
        run(scene)
    check_log(scene.log)
    assert scene.leftovers() == []


def test_a_round_that_fails_names_the_place(scene: Scene) -> None:
    """A file that has gone without anybody's doing is a failure."""
    path = f"{scene.log.directory}/{0:020d}.log"
    scene.fs.unlink(path)
    with pytest.raises(UncleanableError) as raised:
        run(scene)
    assert raised.value.path == path


def test_a_round_that_fails_because_its_log_went_is_given_up(scene: Scene) -> None:
    """The directory of a deleted partition is renamed: that no file is found there then is no failure."""
    process_done = False

    def delete_before_the_work(number: int) -> None:
        nonlocal process_done
        process_done = True

    scene.manager.checkpoints.recovery_points()
    original = ProcessInProcess.send

    async def send(self: ProcessInProcess, message: Message) -> None:
        scene.manager.delete(PARTITION)
        await original(self, message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessInProcess, "send", send)
        finished, _ = run(scene, delete_before_the_work)
    assert finished is None
    assert process_done


def test_the_death_of_the_process_is_told(scene: Scene) -> None:
    """Whoever started it starts another one."""

    def die(number: int) -> None:
        raise ProcessGoneError("it has ended")

    with pytest.raises(ProcessGoneError):
        run(scene, die)
    check_log(scene.log)


def test_many_producers_do_not_keep_others_waiting(scene: Scene) -> None:
    """What is known of them is packed in steps, and the event loop turns in between."""
    for producer_id in range(10 * PRODUCERS_PER_STEP):
        scene.log.producers.update(producer_headers.batch(0, producer_id=producer_id), 1)
    turns = 0
    turns_at_task = []

    async def main() -> None:
        nonlocal turns
        round_over = asyncio.ensure_future(run_round(scene, process))
        while not round_over.done():
            turns += 1
            await asyncio.sleep(0)
        assert await round_over is not None

    process = ProcessInProcess(scene.fs, lambda _: None)
    send = process.send

    async def noted(message: Message) -> None:
        turns_at_task.append(turns)
        assert isinstance(message, Task)
        assert len(unpack_producers(message.producers)) == 10 * PRODUCERS_PER_STEP
        await send(message)

    process.send = noted  # type: ignore[method-assign]  # a double of a double
    asyncio.run(main())
    assert turns_at_task[0] >= 10
