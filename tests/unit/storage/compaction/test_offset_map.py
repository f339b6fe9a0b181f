"""The table of keys and their last offsets."""

import random

import pytest

from odradek.storage.compaction.offset_map import NOT_FOUND, SLOT_BYTES, OffsetMap


def test_the_last_offset_that_was_put_is_found() -> None:
    """Keys of any length, the empty one too, have the offset that was put last; others none."""
    offsets = OffsetMap(1 << 20, 0.9, 1000)
    for offset, key in enumerate([b"", b"a", b"b" * 10_000, b"a"]):
        assert offsets.put(key, offset)
    assert [offsets.get(key) for key in (b"", b"a", b"b" * 10_000, b"c")] == [0, 3, 2, NOT_FOUND]
    assert offsets.size == 3


@pytest.mark.parametrize("seed", range(3))
def test_a_full_table_holds_what_a_dictionary_would(seed: int) -> None:
    """Up to its capacity, with collisions, every key is found; over it a new key is refused, a known one is not."""
    chance = random.Random(seed)
    offsets = OffsetMap(100 * SLOT_BYTES, 1.0, 10_000)
    model: dict[bytes, int] = {}
    for offset in range(2000):
        key = b"%d" % chance.randrange(300)
        took = offsets.put(key, offset)
        assert took == (key in model or len(model) < offsets.capacity)
        if took:
            model[key] = offset
    assert offsets.capacity == 99
    assert {key: offsets.get(key) for key in model} == model
    assert offsets.get(b"301") == NOT_FOUND


def test_memory_is_bounded_and_no_more_than_needed() -> None:
    """The table never takes more than it may, nor more than the keys that can come need."""
    assert OffsetMap(1 << 20, 0.9, 10**9).table_bytes <= 1 << 20
    assert OffsetMap(1 << 30, 0.9, 100).table_bytes < 4096


@pytest.mark.parametrize("load_factor", [-1.0, 0.0, 0.001, 1.0, 7.5])
def test_any_load_factor_leaves_room_for_a_key_and_a_free_slot(load_factor: float) -> None:
    """A search always ends, and a round always makes progress."""
    offsets = OffsetMap(0, load_factor, 50)
    assert offsets.put(b"k", 5)
    assert offsets.get(b"k") == 5
    assert offsets.get(b"other") == NOT_FOUND
