"""What was measured lately, in memory of a fixed size."""

import math

from hypothesis import given
from hypothesis import strategies as st

from odradek.console.history import History, SeriesKey, SeriesKind

LAG = SeriesKind.LAG


@given(rounds=st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 1000)), max_size=30))
def test_it_keeps_the_last_rounds(rounds: list[dict[str, int]]) -> None:
    """Times and values are those of the last rounds, oldest first, with gaps where nothing was measured."""
    history = History(slots=7)
    for number, values in enumerate(rounds):
        history.record(float(number), {SeriesKey(LAG, name): float(value) for name, value in values.items()})
    kept = rounds[-7:]
    assert history.times() == [float(each) for each in range(max(0, len(rounds) - 7), len(rounds))]
    for name in "abc":
        found = [None if math.isnan(each) else each for each in history.values(SeriesKey(LAG, name))]
        assert found == [each.get(name) for each in kept]
        assert history.latest(SeriesKey(LAG, name)) == (kept[-1].get(name) if kept else None)
    times, lines = history.lines([SeriesKey(LAG, "a")])
    assert len(times) == len(kept)
    assert all(len(each) == len(kept) for each in lines.values())


def test_series_are_bounded_and_forgotten() -> None:
    """Of too many the first are kept, the rest is counted; what is gone for all rounds makes place.

    The last round is known as a whole.
    """
    history = History(slots=3, most_series=2)
    history.record(0.0, {SeriesKey(LAG, name): 1.0 for name in "abcd"})
    assert history.left_out == 2
    assert set(history.lines(SeriesKey(LAG, name) for name in "abcd")[1]) == {SeriesKey(LAG, "a"), SeriesKey(LAG, "b")}
    assert set(history.latest_of(LAG)) == set("abcd")
    for number in range(1, 4):
        history.record(float(number), {SeriesKey(LAG, "a"): 1.0})
    history.record(4.0, {SeriesKey(LAG, "c"): 1.0})
    assert history.left_out == 0
    assert history.latest_of(LAG) == {"c": 1.0}
    assert history.latest(SeriesKey(LAG, "b")) is None


def test_the_largest_are_those_of_the_hour() -> None:
    """What was busy a moment ago counts, the sum of all does not, nor does what never had anything."""
    history = History(slots=5)
    history.record(0.0, {SeriesKey(LAG): 99.0, SeriesKey(LAG, "was"): 9.0, SeriesKey(LAG, "is"): 3.0})
    history.record(1.0, {SeriesKey(LAG, "was"): 0.0, SeriesKey(LAG, "is"): 4.0, SeriesKey(LAG, "idle"): 0.0})
    assert history.largest(LAG, 5) == [SeriesKey(LAG, "was"), SeriesKey(LAG, "is")]
    assert history.largest(LAG, 1) == [SeriesKey(LAG, "was")]
    assert history.latest_of(LAG) == {"was": 0.0, "is": 4.0, "idle": 0.0}


def test_parts_are_apart_from_the_whole() -> None:
    """The partitions of a group are asked for by its name, and are none of the groups."""
    history = History(slots=5)
    whole, worse, better = SeriesKey(LAG, "g"), SeriesKey(LAG, "g", "t-1"), SeriesKey(LAG, "g", "t-0")
    history.record(0.0, {whole: 9.0, better: 2.0, worse: 7.0, SeriesKey(LAG, "g", "t-2"): 0.0})
    assert history.largest(LAG, 5) == [whole]
    assert history.largest(LAG, 5, "g") == [worse, better]
    assert history.largest(LAG, 5, "h") == []
    assert history.latest_of(LAG) == {"g": 9.0}


def test_parts_leave_room_for_what_comes_later() -> None:
    """They have half of the memory at most."""
    history = History(slots=5, most_series=4)
    parts = [SeriesKey(LAG, "g", f"t-{number}") for number in range(6)]
    history.record(0.0, dict.fromkeys(parts, 1.0))
    assert history.left_out == 4
    names = [SeriesKey(LAG, "g"), SeriesKey(LAG, "h")]
    history.record(1.0, dict.fromkeys([*names, *parts], 1.0))
    assert history.largest(LAG, 9) == names
    assert history.largest(LAG, 9, "g") == parts[:2]
