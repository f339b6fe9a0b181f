"""The store of committed offsets: what records make of it, and what is found in it."""

from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.records import OffsetAndMetadata, OffsetKey, encode_committed
from tests.unit.broker.groups.shard_world import offsets_of

A, B = OffsetKey("g", "t", 0), OffsetKey("g", "t", 1)
PRODUCER, OTHER = 7, 8


def value(offset: int) -> bytes:
    return encode_committed(OffsetAndMetadata(offset))


def offset_of(store: OffsetStore, key: OffsetKey) -> int | None:
    found = store.get(*key)
    return None if found is None else found.offset


def test_the_last_record_of_a_key_counts() -> None:
    """And null removes it, with nothing left of the group."""
    store = OffsetStore()
    store.apply(A, value(1))
    store.apply(A, value(2))
    store.apply(B, value(3))
    assert offset_of(store, A) == 2
    assert offsets_of(store, "g") == {"t": {0: OffsetAndMetadata(2), 1: OffsetAndMetadata(3)}}
    assert len(store) == 2
    store.apply(A, None)
    store.apply(A, None)
    assert offset_of(store, A) is None
    assert store.has_offsets("g")
    store.apply(B, None)
    assert not store.has_offsets("g")
    assert list(store.groups) == []


def test_what_is_not_there_is_not_found() -> None:
    """Group, topic or partition."""
    store = OffsetStore()
    store.apply(A, value(1))
    assert store.get("other", "t", 0) is None
    assert store.get("g", "other", 0) is None
    assert store.get("g", "t", 9) is None
    assert offsets_of(store, "other") == {}
    assert not store.is_stored("g", "t", 9)


def test_offsets_of_a_transaction_count_when_it_is_committed() -> None:
    """Until then the older ones do, and readers can be told that they may change."""
    store = OffsetStore()
    store.apply(A, value(1))
    store.apply_pending(PRODUCER, A, value(2), 10)
    assert offset_of(store, A) == 1
    assert store.is_pending("g", "t", 0)
    assert not store.is_pending("g", "t", 1)
    assert store.has_pending("g")
    store.end_transaction(PRODUCER, committed=True)
    assert offset_of(store, A) == 2
    assert not store.is_pending("g", "t", 0)


def test_offsets_of_an_aborted_transaction_are_forgotten() -> None:
    """As if they had never been."""
    store = OffsetStore()
    store.apply_pending(PRODUCER, A, value(2), 10)
    assert store.has_offsets("g")
    store.end_transaction(PRODUCER, committed=False)
    assert offset_of(store, A) is None
    assert not store.has_offsets("g")


def test_of_a_plain_and_a_transactional_record_the_later_counts() -> None:
    """Whenever the transaction ends; until it does nobody knows what it will have committed."""
    store = OffsetStore()
    store.apply_pending(PRODUCER, A, value(2), 10)
    store.apply(A, value(3))
    assert store.is_pending("g", "t", 0)
    store.end_transaction(PRODUCER, committed=True)
    assert offset_of(store, A) == 3
    assert not store.is_pending("g", "t", 0)


def test_what_is_removed_is_not_brought_back_by_a_transaction() -> None:
    """Not even one that began before."""
    store = OffsetStore()
    store.apply_pending(PRODUCER, A, value(2), 10)
    store.apply(A, None)
    assert not store.is_pending("g", "t", 0)
    store.end_transaction(PRODUCER, committed=True)
    assert not store.has_offsets("g")


def test_groups_are_those_that_have_offsets_or_are_about_to() -> None:
    """A transaction may be all there is of a group."""
    store = OffsetStore()
    store.apply(A, value(1))
    store.apply_pending(PRODUCER, B, value(2), 10)
    store.apply_pending(PRODUCER, OffsetKey("h", "t", 0), value(2), 12)
    assert list(store.groups) == ["g", "h"]


def test_of_two_transactions_the_later_record_counts() -> None:
    """Whichever ends first."""
    for first, second in ((PRODUCER, OTHER), (OTHER, PRODUCER)):
        store = OffsetStore()
        store.apply_pending(PRODUCER, A, value(2), 10)
        store.apply_pending(OTHER, A, value(3), 11)
        store.end_transaction(first, committed=True)
        assert store.is_pending("g", "t", 0)
        store.end_transaction(second, committed=True)
        assert offset_of(store, A) == 3


def test_a_deleted_group_names_all_it_has() -> None:
    """Stored and waiting, each once."""
    store = OffsetStore()
    store.apply(A, value(1))
    store.apply_pending(PRODUCER, A, value(2), 10)
    store.apply_pending(PRODUCER, B, value(2), 11)
    store.apply_pending(PRODUCER, OffsetKey("h", "t", 0), value(2), 12)
    assert sorted(store.keys_of("g")) == [A, B]


def test_expired_offsets_are_those_without_a_transaction() -> None:
    """An open transaction keeps them."""
    store = OffsetStore()
    store.apply(A, value(1))
    store.apply(B, value(1))
    store.apply_pending(PRODUCER, B, value(2), 10)
    assert store.expired(store.keys_of("g"), lambda topic, committed: topic == "t" and committed.offset == 1) == [A]


def test_the_offsets_in_some_topics_are_those_of_a_group_and_those_that_wait() -> None:
    """And of no other topic."""
    store = OffsetStore()
    other = OffsetKey("h", "t", 3)
    for key in (A, other, OffsetKey("h", "u", 0)):
        store.apply(key, value(1))
    store.apply_pending(PRODUCER, B, value(2), 10)
    assert store.stored_in("h", {"t", "none"}) == [other]
    assert store.pending_in({"t"}) == [B]
    assert store.pending_in({"u"}) == []
