"""Leader epochs against Kafka's words, taken literally on a plain list."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.checkpoints.leader_epochs import LeaderEpochCache, read_leader_epochs
from odradek.storage.errors import CorruptFile
from tests.support.memory_files import MemoryFiles

small = st.integers(0, 12)
assignments = st.lists(st.tuples(small, st.integers(0, 40)), max_size=25)


def _assign(model: list[tuple[int, int]], epoch: int, start: int) -> list[tuple[int, int]]:
    if model and model[-1][0] == epoch and start >= model[-1][1]:
        return model
    while model and (model[-1][0] >= epoch or model[-1][1] >= start):
        model = model[:-1]
    return [*model, (epoch, start)]


def _end_offset(model: list[tuple[int, int]], epoch: int, log_end: int) -> tuple[int, int]:
    if epoch == -1 or not model or epoch > model[-1][0]:
        return (-1, -1)
    if epoch == model[-1][0]:
        return (epoch, log_end)
    next_start = next(start for later, start in model if later > epoch)
    known = [earlier for earlier, _ in model if earlier <= epoch]
    return (known[-1] if known else epoch, next_start)


@given(assignments, st.lists(st.tuples(st.booleans(), st.integers(0, 45)), max_size=5))
def test_cache_agrees_with_a_list(steps: list[tuple[int, int]], cuts: list[tuple[bool, int]]) -> None:
    """After any assignments and truncations the entries ascend, and every answer is the one that the words give."""
    cache = LeaderEpochCache(MemoryFiles(), "")
    model: list[tuple[int, int]] = []
    for epoch, start in steps:
        cache.assign(epoch, start)
        model = _assign(model, epoch, start)
        assert cache.entries == model
    for from_start, offset in cuts:
        if from_start:
            cache.truncate_from_start(offset)
            dropped = [entry for entry in model if entry[1] <= offset]
            kept = [entry for entry in model if entry[1] > offset]
            model = ([(dropped[-1][0], offset)] if dropped else []) + kept
        else:
            cache.truncate_from_end(offset)
            model = [entry for entry in model if entry[1] < offset]
        assert cache.entries == model
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(model))
    for epoch in range(-1, 15):
        assert cache.end_offset_for(epoch, 50) == _end_offset(model, epoch, 50)
    for offset in range(46):
        assert cache.epoch_for_offset(offset) == max((e for e, start in model if start <= offset), default=-1)


@given(assignments)
def test_file_gives_the_entries_back(steps: list[tuple[int, int]]) -> None:
    """What was flushed is read after a power failure, and nothing else."""
    fs = MemoryFiles()
    cache = LeaderEpochCache(fs, "")
    for epoch, start in steps:
        cache.assign(epoch, start)
        cache.flush()
    survivor = fs.crash(kept=0.0)
    assert LeaderEpochCache(survivor, "", read_leader_epochs(survivor, "")).entries == cache.entries


@given(st.binary(max_size=100) | st.text("0123456789 -\n\r\tx", max_size=60).map(str.encode))
def test_no_content_breaks_the_reader(content: bytes) -> None:
    """Any file gives entries that can be taken, or CorruptFile."""
    fs = MemoryFiles()
    fs.write_bytes("/leader-epoch-checkpoint", content)
    try:
        entries = read_leader_epochs(fs, "")
    except CorruptFile:
        return
    LeaderEpochCache(fs, "", entries)
