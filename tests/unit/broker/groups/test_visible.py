"""Who fetches offsets is told nothing that a power cut could take back."""

from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, encode_committed
from odradek.broker.groups.visible import VisibleOffsets
from tests.unit.broker.groups.shard_world import offsets_of

A, B = OffsetKey("g", "t", 0), OffsetKey("g", "u", 1)


class World:
    """A store of which some is not safe."""

    def __init__(self) -> None:
        self.safe_end = 0
        self.store = OffsetStore()
        self.visible = VisibleOffsets(self.store, lambda: self.safe_end)
        self.end = 0

    def commit(self, key: OffsetKey, offset: int | None) -> None:
        self.end += 1
        value = None if offset is None else encode_committed(OffsetAndMetadata(offset))
        self.visible.apply(key, value, self.end)

    def shown(self, key: OffsetKey) -> int | None:
        found = self.visible.get(*key)
        assert found == offsets_of(self.visible, key.group).get(key.topic, {}).get(key.partition)
        return None if found is None else found.offset


def test_an_offset_is_shown_when_its_record_is_safe() -> None:
    """Until then the one before it is, or none; the coordinator itself knows the newest."""
    world = World()
    for offset in (1, 2, 3):
        world.commit(A, offset)
    seen = []
    for world.safe_end in range(4):
        seen.append(world.shown(A))
    assert seen == [None, 1, 2, 3]
    assert world.store.get(*A) == OffsetAndMetadata(3)


def test_a_removal_is_shown_when_it_is_safe() -> None:
    """What was removed and may come back is still told, also where nothing else is left of its group."""
    world = World()
    world.commit(A, 1)
    world.commit(B, 2)
    world.safe_end = 2
    world.commit(A, None)
    world.commit(B, None)
    assert (world.shown(A), world.shown(B)) == (1, 2)
    world.safe_end = 3
    assert (world.shown(A), world.shown(B)) == (None, 2)
    world.safe_end = 4
    assert offsets_of(world.visible, "g") == {}


def test_groups_and_partitions_do_not_mix() -> None:
    """One that waits says nothing of another."""
    world = World()
    world.commit(A, 1)
    world.safe_end = 1
    world.commit(B, 2)
    world.commit(A._replace(group="other"), 3)
    assert world.shown(A) == 1
    assert world.shown(B) is None
    assert offsets_of(world.visible, "g") == {"t": {0: OffsetAndMetadata(1)}}
    assert offsets_of(world.visible, "other") == {}
