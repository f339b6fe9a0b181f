"""Placement of replicas."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.controller.placement import UsableBroker, place_in_turn, place_striped
from odradek.protocol.errors import ErrorCode, KafkaError


def alive(*ids: int) -> list[UsableBroker]:
    """Return brokers without a rack that are not fenced."""
    return [UsableBroker(one, None, False) for one in ids]


def test_partition_i_begins_at_broker_i_and_replicas_follow() -> None:
    """The i-th partition is on broker (i mod n), its j-th replica on (i + j) mod n."""
    assert place_in_turn(alive(3, 1, 2), 2, 0, 4) == [(1, 2), (2, 3), (3, 1), (1, 2)]


def test_added_partitions_go_on_where_the_topic_ended() -> None:
    """Growing a topic gives the same placement as creating it large."""
    assert place_in_turn(alive(1, 2, 3), 2, 0, 5)[3:] == place_in_turn(alive(1, 2, 3), 2, 3, 2)


def test_more_replicas_than_brokers_are_refused() -> None:
    """INVALID_REPLICATION_FACTOR, with both numbers."""
    with pytest.raises(KafkaError, match=r"factor of 2 .* only 1 broker") as caught:
        place_in_turn(alive(1), 2, 0, 1)
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


RACKS = [
    UsableBroker(broker_id, rack, False)
    for broker_id, rack in ((0, "x"), (1, "y"), (2, "z"), (3, "x"), (4, "y"), (5, "z"))
]


@given(seed=st.integers(), factor=st.integers(1, 6), count=st.integers(1, 40))
def test_striped_replicas_are_distinct_and_spread_over_racks(seed: int, factor: int, count: int) -> None:
    """No rack has two replicas of a partition before every rack has one, and every rack leads as many."""
    placed = place_striped(RACKS, factor, count, Random(seed))
    rack_of = {one.broker_id: one.rack for one in RACKS}
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert len({rack_of[one] for one in replicas}) == min(factor, 3)
    leaders = Counter(rack_of[replicas[0]] for replicas in placed[: len(placed) // 6 * 6])
    assert len(set(leaders.values())) <= 1


@given(
    seed=st.integers(),
    fenced=st.sets(st.integers(0, 5), max_size=5),
    factor=st.integers(1, 6),
    racks=st.lists(st.sampled_from([None, "x", "y"]), min_size=6, max_size=6),
)
def test_fenced_brokers_never_lead_and_come_last(
    seed: int, fenced: set[int], factor: int, racks: list[str | None]
) -> None:
    """Whatever the racks: a partition must be served by somebody at once."""
    brokers = [UsableBroker(one, racks[one], one in fenced) for one in range(6)]
    for replicas in place_striped(brokers, factor, 20, Random(seed)):
        assert len(set(replicas)) == factor
        assert replicas[0] not in fenced


@pytest.mark.parametrize("place", [lambda b: place_striped(b, 1, 1, Random(1)), lambda b: place_in_turn(b, 1, 0, 1)])
def test_nothing_is_placed_where_all_are_fenced(place: Callable[[list[UsableBroker]], object]) -> None:
    """INVALID_REPLICATION_FACTOR, as in Kafka."""
    with pytest.raises(KafkaError, match="All brokers are currently fenced") as caught:
        place([UsableBroker(1, None, True)])
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
