"""Which batches and records stay."""

import pytest

from odradek.protocol.records.batch import CONTROL_BIT, DELETE_HORIZON_BIT, BatchHeader
from odradek.storage.compaction.offset_map import OffsetMap
from odradek.storage.compaction.retain import (
    BatchFate,
    RoundRules,
    fate_of,
    is_kept,
    kept_records,
    records_must_go,
    tombstones_stay,
)
from odradek.storage.compaction.values import LastBatch

NOW_MS = 1000


def header(attributes: int = 0, base_timestamp: int = 0, producer_id: int = 7, epoch: int = 0) -> BatchHeader:
    """A batch with the offsets 10 to 14."""
    return BatchHeader(10, 60, 0, 2, 0, attributes, 4, base_timestamp, 0, producer_id, epoch, 0, 5)


def rules(end: int = 100, **last: int) -> RoundRules:
    """A round up to `end`; `last` has epoch and offset of the producer's last batch, if it is known."""
    producers = {7: LastBatch(last["epoch"], last["offset"])} if last else {}
    return RoundRules(OffsetMap(1000, 0.9, 10), NOW_MS, producers, end)


def test_records_that_must_go() -> None:
    """Aborted ones at once; a marker's when its transaction is gone and its delete horizon has come."""
    assert records_must_go(header(), True, NOW_MS)
    assert not records_must_go(header(), False, NOW_MS)
    assert not records_must_go(header(CONTROL_BIT), True, NOW_MS)
    marked = header(CONTROL_BIT | DELETE_HORIZON_BIT, NOW_MS)
    assert records_must_go(marked, True, NOW_MS)
    assert not records_must_go(marked, True, NOW_MS - 1)
    assert not records_must_go(marked, False, NOW_MS)


@pytest.mark.parametrize(
    ("last", "attributes", "kept"),
    [
        ({"epoch": 0, "offset": 14}, 0, True),
        ({"epoch": 0, "offset": 13}, 0, False),
        ({"epoch": 0, "offset": -1}, CONTROL_BIT, True),
        ({"epoch": 1, "offset": -1}, CONTROL_BIT, False),
        ({"epoch": 0, "offset": -1}, 0, False),
        ({}, 0, False),
    ],
)
def test_a_batch_stays_where_a_producer_is_known_by_it(last: dict[str, int], attributes: int, kept: bool) -> None:
    """Its last batch, or its last marker if it has written nothing in its epoch."""
    found = fate_of(header(attributes), True, rules(**last))
    assert found is (BatchFate.KEEP if kept else BatchFate.REMOVE)


def test_the_last_batch_of_a_round_stays() -> None:
    """So that the end of what was compacted is known."""
    assert fate_of(header(producer_id=-1), False, rules(end=15)) is BatchFate.KEEP
    assert fate_of(header(producer_id=-1), False, rules(end=16)) is BatchFate.REMOVE_IF_EMPTY


def test_tombstones_stay_until_their_horizon() -> None:
    """One that was not seen before has none yet."""
    assert tombstones_stay(header(), NOW_MS)
    assert tombstones_stay(header(DELETE_HORIZON_BIT, NOW_MS + 1), NOW_MS)
    assert not tombstones_stay(header(DELETE_HORIZON_BIT, NOW_MS), NOW_MS)


def test_records_stay_by_key_and_offset() -> None:
    """The last one of its key, what the map does not cover, never one without a key; tombstones if they may."""
    offsets = OffsetMap(10_000, 0.9, 100)
    offsets.put(b"old", 50)
    offsets.put(b"last", 11)
    offsets.latest_offset = 13
    places = [
        (0, 1, 0, 0, b"old", True),
        (1, 2, 0, 1, b"last", True),
        (2, 3, 0, 2, None, True),
        (3, 4, 0, 3, b"unknown", False),
        (4, 5, 0, 4, None, False),
    ]
    for tombstones, expected in ((True, [1, 3, 4]), (False, [1, 4])):
        assert [place[3] for place in kept_records(header(), places, offsets, tombstones)] == expected
        one_by_one = [place[3] for place in places if is_kept(10 + place[3], place[4], place[5], offsets, tombstones)]
        assert one_by_one == expected
