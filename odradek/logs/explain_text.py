"""An explanation of a lookup as lines for people: what each step looked at, what it found, and what that took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from odradek.logs.batch_values import CODEC_NAMES
from odradek.logs.dump_text import printable
from odradek.logs.explain import Cost, Explanation
from odradek.logs.lookup import Probe, Scanned
from odradek.protocol.records.batch import HEADER_SIZE
from odradek.storage.names import LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, file_name

_LONGEST_SHOWN = 100
"""Characters of a key or value."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an explanation; headings stand out where that can be shown."""

    text: str
    is_heading: bool = False


def explain_lines(told: Explanation) -> Iterator[Line]:
    """Yield the lines that tell the lookup step by step."""
    what = f"offset {told.offset}" if told.offset is not None else f"the first record at {told.timestamp} ms or later"
    yield Line(f"Looking for {what} in {told.directory}", is_heading=True)
    costs = dict(told.costs)
    steps = [
        _segment_by_name(told),
        _segment_by_time(told),
        _time_entry(told),
        _index_entry(told),
        _scan(told),
        _batch(told),
        _record(told),
    ]
    for number, (title, lines) in enumerate((step for step in steps if step is not None), 1):
        yield Line("")
        yield Line(f"{number}. {title}", is_heading=True)
        yield from (Line(f"   {line}") for line in lines)
        cost = costs.get(_STEP_OF_TITLE[title.split(":")[0]])
        if cost is not None:
            yield Line(f"   {_cost(cost)}")
    yield Line("")
    if told.problem:
        yield Line(f"Not found: {told.problem}", is_heading=True)
    yield Line(f"In all: {_cost(told.total)}; the segment has {told.segment_size:,} bytes", is_heading=True)


_STEP_OF_TITLE = {
    "Which segment": "segment",
    "Which entry of the time index": "time index",
    "Which entry of the offset index": "offset index",
    "The way from there": "scan",
    "The batch": "batch",
    "The record": "",
}

_Step = tuple[str, list[str]] | None


def _segment_by_name(told: Explanation) -> _Step:
    search = told.segment_search
    if search is None:
        return None
    title = (
        f"Which segment: binary search over {_count(search.entries, 'file name')}; each is the segment's first offset"
    )
    lines = [_probe(probe, f"{probe.entry[0]:>20}", "") for probe in search.probes]
    if told.segment is not None:
        lines.append(f"-> {file_name(told.segment, LOG_SUFFIX)}")
    return title, lines


def _segment_by_time(told: Explanation) -> _Step:
    if told.segment_times is None:
        return None
    title = "Which segment: the first whose largest timestamp, the last entry of its time index, is late enough"
    lines = []
    for each in told.segment_times:
        largest = "none yet" if each.largest_timestamp is None else str(each.largest_timestamp)
        verdict = "late enough" if each.is_late_enough else "too early"
        if each.base_offset == told.base_offsets[-1]:
            verdict = "the last one: its records must tell"
        lines.append(f"{file_name(each.base_offset, TIME_INDEX_SUFFIX)}   {largest}   {verdict}")
    if told.segment is not None:
        lines.append(f"-> {file_name(told.segment, LOG_SUFFIX)}")
    return title, lines


def _time_entry(told: Explanation) -> _Step:
    if told.start_offset is None or told.segment is None:
        return None
    search = told.time_search
    if search is None:
        return "Which entry of the time index: there is no such file, so from the first offset", []
    title = f"Which entry of the time index: binary search over {_count(search.entries, 'entry')} of timestamp,offset"
    base = told.segment
    lines = [_probe(probe, _pair(probe.entry[0], probe.entry[1] - base), "") for probe in search.probes]
    if search.entry is None:
        lines.append(f"-> no entry is early enough: from the first offset, {told.segment}")
    else:
        lines.append(f"-> entry {_pair(search.entry[0], search.entry[1] - base)}: nothing at or before offset")
        lines[-1] += f" {search.entry[1]} is later than {search.entry[0]}"
    return title, lines


def _index_entry(told: Explanation) -> _Step:
    if told.position is None or told.segment is None:
        return None
    search, base = told.index_search, told.segment
    if search is None:
        return f"Which entry of the offset index: {file_name(base, OFFSET_INDEX_SUFFIX)} is missing, so from byte 0", []
    title = (
        f"Which entry of the offset index: binary search over {_count(search.entries, 'entry')} of "
        "relative offset,position"
    )
    lines = [
        _probe(probe, _pair(probe.entry[0] - base, probe.entry[1]), f"offset {probe.entry[0]} ")
        for probe in search.probes
    ]
    if search.entry is None:
        lines.append("-> no entry is before it: from the start of the file, byte 0")
    else:
        offset, position = search.entry
        lines.append(
            f"-> entry {_pair(offset - base, position)}: the batch that ends at offset {base} + {offset - base}"
        )
        lines[-1] += f" = {offset} begins at byte {position}"
    return title, lines


def _scan(told: Explanation) -> _Step:
    done = told.scan
    if done is None:
        return None
    title = (
        f"The way from there: batch headers ({HEADER_SIZE} bytes each) from byte {done.start} on, until one reaches it"
    )
    lines = [_scanned(each, each is done.found) for each in done.last]
    if done.found is not None:
        hidden = done.stepped_over + 1 - len(done.last)
        if hidden:
            lines.insert(-1, f"… and {hidden} more")
        lines.append(f"-> byte {done.found.position}, after {_count(done.stepped_over, 'batch')}")
    elif not lines:
        lines.append("no batch follows")
    return title, lines


def _batch(told: Explanation) -> _Step:
    if told.batch is None:
        return None
    header = told.batch.header
    codec = CODEC_NAMES[header.codec]
    count = _count(header.records_count, "record") if header.records_count >= 0 else "a message of old form"
    verdict = "right" if told.batch.checksum_is_right else "WRONG"
    return "The batch", [
        f"{header.size:,} bytes at byte {told.batch.position}: offsets {header.base_offset} to {header.last_offset}, "
        f"{count}, compression {codec}, checksum {verdict}"
    ]


def _record(told: Explanation) -> _Step:
    if told.record is None:
        return None
    record, number = told.record
    lines = [f"offset {record.offset}, number {number} of the batch, timestamp {record.timestamp}"]
    lines.append(f"key: {_content(record.key)}")
    lines.append(f"value: {_content(record.value)}")
    lines += [f"header {printable(name)}: {_content(value)}" for name, value in record.headers[:10]]
    return "The record", lines


def _probe(probe: Probe, entry: str, what: str) -> str:
    verdict = f"{what}at or before it: go right" if probe.is_at_most else f"{what}after it: go left"
    return f"slots {probe.low} to {probe.high}, middle {probe.slot}:  {entry}   {verdict}"


def _scanned(each: Scanned, is_found: bool) -> str:
    header = each.header
    verdict = "this one" if is_found else "before it"
    offsets = f"offsets {header.base_offset} to {header.last_offset}"
    return f"byte {each.position}: {offsets}, {header.size} bytes, largest timestamp {header.max_timestamp}   {verdict}"


def _content(content: bytes | None) -> str:
    if content is None:
        return "null"
    text = printable(content[:_LONGEST_SHOWN])
    return f"{text}… ({len(content):,} bytes)" if len(content) > _LONGEST_SHOWN else text


def _pair(first: int, second: int) -> str:
    return f"{first},{second}"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    plural = {"entry": "entries", "batch": "batches"}.get(noun, noun + "s")
    return f"{number:,} {plural}"


def _cost(cost: Cost) -> str:
    return f"{_count(cost.bytes_read, 'byte')} read, {cost.nanoseconds / 1000:,.0f} µs"
