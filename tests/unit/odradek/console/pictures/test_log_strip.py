"""A log as a strip of its segments."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from odradek.config.topic import TopicConfig, kafka_defaults
from odradek.console.pictures.log_strip import MOST_DRAWN, by_size, by_time, fate_text
from odradek.logs.outline import Checkpoints, LogOutline, SegmentOutline
from odradek.logs.upkeep import plan_upkeep
from odradek.storage.names import TopicPartition

NOW_MS = 1_700_000_000_000
HOUR = 3_600_000


def _log(sizes: list[int], checkpoints: Checkpoints = Checkpoints()) -> LogOutline:  # noqa: B008
    """Return a log whose segments have ten offsets and end an hour apart, the last one now."""
    count = len(sizes)
    segments = [
        SegmentOutline(
            n * 10, n * 10 + 10, size, 8, 1, 1, NOW_MS - (count - n) * HOUR, NOW_MS - (count - n - 1) * HOUR, NOW_MS
        )
        for n, size in enumerate(sizes)
    ]
    return LogOutline("/d/<t>-0", TopicPartition("<t>", 0), None, segments, checkpoints, [], 0, [])


def _drawn(log: LogOutline, config: TopicConfig) -> ElementTree.Element:
    plan = plan_upkeep(log, config, NOW_MS)
    return ElementTree.fromstring(by_size(log, plan, NOW_MS, lambda base: f"/logs/<t>/0/{base}"))


def _config(**values: object) -> TopicConfig:
    return replace(kafka_defaults(), **values)  # type: ignore[arg-type]  # forwarded


def test_widths_are_in_proportion() -> None:
    """A segment of three times the bytes is three times as wide, and all of them fill the strip."""
    drawn = _drawn(_log([100, 300, 600]), _config())
    assert [float(each.get("width", "")) for each in drawn.iter("rect")] == pytest.approx([100, 300, 600])


def test_what_goes_next_and_what_is_dirty_is_seen() -> None:
    """Segments past retention are marked, and those of a compacted log have the class of their part."""
    looks = [each.get("class") for each in _drawn(_log([1, 1, 1]), _config(retention_ms=HOUR)).iter("rect")]
    assert looks == ["segment plain due", "segment plain", "segment active"]
    compacted = _config(cleanup_policy=frozenset({"compact"}))
    drawn = _drawn(_log([1, 1, 1], Checkpoints(cleaned_to=10)), compacted)
    assert [each.get("class") for each in drawn.iter("rect")] == ["segment clean", "segment dirty", "segment active"]
    assert "compacted to 10" in "".join(drawn.itertext())


def test_a_log_of_very_many_segments_is_a_picture_of_bounded_size() -> None:
    """Neighbours are drawn as one, and none is lost."""
    log = _log([100] * 5000)
    drawn = _drawn(log, _config(retention_ms=HOUR * 1000))
    titles = [each.text or "" for each in drawn.iter("title")]
    assert len(titles) <= MOST_DRAWN + 2
    told = [re.match(r"(\d+) segments|segment ", each) for each in titles]
    assert sum(int(each[1] or 1) for each in told if each) == 5000


def test_names_are_escaped() -> None:
    """Whatever the address or the name of a log is, the picture stays one."""
    drawn = _drawn(_log([1]), _config())
    [link] = drawn.iter("a")
    assert link.get("href") == "/logs/<t>/0/0"


def test_an_empty_log_is_drawn() -> None:
    """A log without a byte is a strip all the same."""
    assert len(list(_drawn(_log([0]), _config()).iter("rect"))) == 1


def test_the_line_of_retention_is_between_what_goes_and_what_stays() -> None:
    """By time, segments that end before the line are those that are due."""
    log = _log([1] * 10)
    config = _config(retention_ms=4 * HOUR)
    plan = plan_upkeep(log, config, NOW_MS)
    drawn = by_time(plan, config.retention_ms, NOW_MS)
    assert drawn is not None
    picture = ElementTree.fromstring(drawn)
    [line] = [float(each.get("x1", "")) for each in picture.iter("line") if each.get("class") == "limit"]
    for each in picture.iter("rect"):
        look, end = each.get("class", ""), float(each.get("x", "")) + float(each.get("width", ""))
        if look.startswith("segment"):
            assert ("due" in look) == (end < line - 0.01)


@pytest.mark.parametrize("times", [[-1], [0], [2**62], [NOW_MS + 10**15]])
def test_any_time_of_a_record_is_drawn_or_left_out(times: list[int]) -> None:
    """Times that nobody meant, far off or none, break no picture."""
    log = _log([1])
    segments = [log.segments[0]._replace(first_timestamp=time, max_timestamp=time) for time in times]
    plan = plan_upkeep(replace(log, segments=segments), _config(), NOW_MS)
    drawn = by_time(plan, 604_800_000, NOW_MS)
    assert (drawn is None) == (times == [-1])
    assert fate_text(plan.segments[0])


def test_what_becomes_of_a_segment_in_words() -> None:
    """By time, by bytes, held back, or never."""
    log = _log([100, 100, 100])
    told = [fate_text(each) for each in plan_upkeep(log, _config(retention_ms=HOUR * 5), NOW_MS).segments]
    assert told[0].startswith("goes at 2023-")
    assert "(retention.ms)" in told[0]
    told = [
        fate_text(each) for each in plan_upkeep(log, _config(retention_ms=-1, retention_bytes=200), NOW_MS).segments
    ]
    assert told[:2] == ["goes next: retention.bytes", "goes once 100 B more are written (retention.bytes)"]
    held = replace(log, checkpoints=Checkpoints(high_watermark=5))
    assert "held" in fate_text(plan_upkeep(held, _config(retention_ms=HOUR), NOW_MS).segments[0])
    assert fate_text(plan_upkeep(log, _config(retention_ms=-1), NOW_MS).segments[0]) == "stays"
