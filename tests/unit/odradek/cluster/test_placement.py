"""Where replicas go: what holds of every plan, and what it costs."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.cluster.placement import Assignment, balanced, moved_off
from odradek.terminal.errors import CommandError

NO_RACKS = {1: None, 2: None, 3: None, 4: None}
RACKS = {1: "a", 2: "a", 3: "b", 4: "b"}


def _topic(*replicas: tuple[int, ...]) -> dict[tuple[str, int], tuple[int, ...]]:
    return {("t", number): each for number, each in enumerate(replicas)}


@st.composite
def _clusters(draw: st.DrawFn, *, with_racks: bool) -> tuple[Assignment, dict[int, str | None]]:
    """Partitions on brokers 0 to 9, and those brokers that are to have them."""
    names = st.sampled_from("abc") if with_racks else st.none()
    racks = draw(st.dictionaries(st.integers(0, 9), names, min_size=1, max_size=7))
    size = draw(st.integers(1, len(racks)))
    replicas = st.lists(st.integers(0, 9), min_size=size, max_size=size, unique=True).map(tuple)
    return _topic(*draw(st.lists(replicas, max_size=30))), racks


def _spread(counts: Mapping[int, int], brokers: Mapping[int, object]) -> int:
    all_counts = [counts.get(broker, 0) for broker in brokers]
    return max(all_counts) - min(all_counts)


def _counts(assignment: Assignment) -> Counter[int]:
    return Counter(broker for replicas in assignment.values() for broker in replicas)


@given(_clusters(with_racks=True))
def test_every_partition_is_on_the_brokers_and_in_as_many_racks_as_can_be(
    cluster: tuple[Assignment, dict[int, str | None]],
) -> None:
    """It keeps its number of replicas, each on another broker of those that are to have them."""
    current, racks = cluster
    planned = balanced(current, racks)
    assert planned.keys() == current.keys()
    for key, replicas in planned.items():
        assert len(replicas) == len(set(replicas)) == len(current[key])
        assert set(replicas) <= racks.keys()
        assert len({racks[each] for each in replicas}) == min(len(replicas), len(set(racks.values())))


@given(_clusters(with_racks=False))
def test_without_racks_brokers_have_and_lead_the_same_give_or_take_one(
    cluster: tuple[Assignment, dict[int, str | None]],
) -> None:
    """Where there are partitions enough, who leads is even, too, as far as replicas allow."""
    current, racks = cluster
    planned = balanced(current, racks)
    assert _spread(_counts(planned), racks) <= 1
    assert balanced(planned, racks) == planned


@given(_clusters(with_racks=True))
def test_an_even_assignment_stays_as_it_is(cluster: tuple[Assignment, dict[int, str | None]]) -> None:
    """Planning again what was planned moves nothing."""
    planned = balanced(*cluster)
    assert balanced(planned, cluster[1]) == planned


@given(_clusters(with_racks=True), st.data())
def test_draining_moves_the_replicas_of_one_broker_and_no_other(
    cluster: tuple[Assignment, dict[int, str | None]], data: st.DataObject
) -> None:
    """In each partition one broker takes the place of another; where a free rack is left, it comes from there."""
    _, racks = cluster
    current = balanced(*cluster)
    node = data.draw(st.sampled_from(sorted(racks)))
    targets = racks.keys() - {node}
    if any(len(replicas) > len(targets) for replicas in current.values()):
        return
    moved = moved_off(current, node, racks, targets)
    assert moved.keys() == {key for key, replicas in current.items() if node in replicas}
    for key, replicas in moved.items():
        [(before, after)] = [pair for pair in zip(current[key], replicas, strict=True) if pair[0] != pair[1]]
        assert before == node
        assert after in targets
        stay = {racks[each] for each in replicas if each != after}
        free = {racks[each] for each in targets} - stay
        assert not free or racks[after] in free


def test_a_new_broker_gets_its_share_and_nothing_else_moves() -> None:
    """Of eight replicas on two brokers the third one gets two or three, without any going between the other two."""
    current = _topic((1, 2), (2, 1), (1, 2), (2, 1))
    planned = balanced(current, {1: None, 2: None, 3: None})
    assert _spread(_counts(planned), {1: 0, 2: 0, 3: 0}) <= 1
    assert sum(len(set(planned[key]) - set(current[key])) for key in current) == _counts(planned)[3]


def test_leaders_are_shared_out_over_brokers_in_between() -> None:
    """1 leads too much and 3 too little; they have no partition in common, so that 2 takes one and gives one."""
    planned = balanced(_topic((1, 2), (1, 2), (1, 2), (2, 3), (2, 3), (3, 2)), {1: None, 2: None, 3: None})
    assert Counter(replicas[0] for replicas in planned.values()) == {1: 2, 2: 2, 3: 2}


@pytest.mark.parametrize(("replication", "planned"), [(1, (1,)), (2, (1, 3)), (3, (2, 1, 3)), (4, (2, 1, 3, 4))])
def test_the_number_of_replicas_is_changed(replication: int, planned: tuple[int, ...]) -> None:
    """Those that go are the last ones; those that come are in racks that the partition is not in yet."""
    [replicas] = balanced(_topic((1, 3)), RACKS, replication).values()
    assert sorted(replicas) == sorted(planned)
    [replicas] = balanced(_topic((1,)), RACKS, 2).values()
    assert replicas == (1, 3)


def test_too_few_brokers() -> None:
    """The sentence names the partition."""
    said = r"^partition 0 of t is to have 3 replicas, and there are too few brokers for them$"
    with pytest.raises(CommandError, match=said):
        balanced(_topic((1, 2)), {1: None, 2: None}, 3)
    with pytest.raises(CommandError, match="too few brokers"):
        moved_off(_topic((1, 2)), 1, NO_RACKS, {2})


def test_a_broker_that_takes_over_is_the_one_with_the_fewest() -> None:
    """Partitions that are not moved count; the place in the order stays, and who is not known stays too."""
    current = _topic((9, 1), (2, 3), (2, 3), (4, 9, 1))
    assert moved_off(current, 1, NO_RACKS, {2, 3, 4}) == {("t", 0): (9, 4), ("t", 3): (4, 9, 2)}
