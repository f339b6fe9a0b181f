"""An explanation of a lookup as a JSON value."""

from __future__ import annotations

from collections.abc import Sequence

from odradek.logs.batch_values import CODEC_NAMES
from odradek.logs.explain import Explanation, FoundBatch
from odradek.logs.lookup import HeaderScan, IndexSearch, Scanned
from odradek.logs.message_json import Json
from odradek.records.json_lines import bytes_to_json


def explain_json(told: Explanation) -> dict[str, Json]:
    """Return the explanation as a JSON value; steps that were not reached are null."""
    return {
        "directory": told.directory,
        "offset": told.offset,
        "timestamp": told.timestamp,
        "segments": len(told.base_offsets),
        "segment": told.segment,
        "segment_size": told.segment_size,
        "segment_search": _search_json(told.segment_search, ("base_offset",)),
        "segment_times": None
        if told.segment_times is None
        else [
            {
                "base_offset": each.base_offset,
                "largest_timestamp": each.largest_timestamp,
                "is_late_enough": each.is_late_enough,
            }
            for each in told.segment_times
        ],
        "time_index_search": _search_json(told.time_search, ("timestamp", "offset")),
        "start_offset": told.start_offset,
        "offset_index_search": _search_json(told.index_search, ("offset", "position")),
        "position": told.position,
        "scan": _scan_json(told.scan),
        "batch": None if told.batch is None else {**_header_json(told.batch), "is_valid": told.batch.checksum_is_right},
        "record": None
        if told.record is None
        else {
            "offset": told.record.record.offset,
            "number": told.record.number,
            "timestamp": told.record.record.timestamp,
            "key": bytes_to_json(told.record.record.key),
            "value": bytes_to_json(told.record.record.value),
        },
        "steps": [
            {"step": step, "bytes_read": cost.bytes_read, "nanoseconds": cost.nanoseconds} for step, cost in told.costs
        ],
        "bytes_read": told.total.bytes_read,
        "nanoseconds": told.total.nanoseconds,
        "problem": told.problem or None,
    }


def _search_json(search: IndexSearch | None, names: Sequence[str]) -> dict[str, Json] | None:
    if search is None:
        return None
    return {
        "entries": search.entries,
        "probes": [
            {
                "slot": probe.slot,
                "low": probe.low,
                "high": probe.high,
                **dict(zip(names, probe.entry, strict=True)),
                "is_at_most": probe.is_at_most,
            }
            for probe in search.probes
        ],
        "slot": search.slot,
        "entry": None if search.entry is None else dict(zip(names, search.entry, strict=True)),
    }


def _scan_json(done: HeaderScan | None) -> dict[str, Json] | None:
    if done is None:
        return None
    return {
        "start": done.start,
        "stepped_over": done.stepped_over,
        "batches": [_header_json(each) for each in done.last],
        "found": None if done.found is None else done.found.position,
    }


def _header_json(each: Scanned | FoundBatch) -> dict[str, Json]:
    header = each.header
    return {
        "position": each.position,
        "size": header.size,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "max_timestamp": header.max_timestamp,
        "count": header.records_count,
        "codec": CODEC_NAMES[header.codec],
    }
