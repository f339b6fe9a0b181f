"""Server-side assignors: who gets what, and who keeps what it had."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import pytest

from odradek.broker.groups.consumer.assignors.range import assign_ranges
from odradek.broker.groups.consumer.assignors.spec import GroupSpec, MemberSpec
from odradek.broker.groups.consumer.assignors.uniform import assign_uniformly

T, U, V = UUID(int=1), UUID(int=2), UUID(int=3)


def member(*topics: UUID, has: Mapping[UUID, set[int]] | None = None, instance: str | None = None) -> MemberSpec:
    current = {topic: frozenset(partitions) for topic, partitions in (has or {}).items()}
    return MemberSpec(frozenset(topics), current, instance)


def load(assignment: Mapping[UUID, frozenset[int]]) -> int:
    return sum(map(len, assignment.values()))


def test_uniform_divides_within_one() -> None:
    """Seven partitions of two topics among three members are 3, 2 and 2."""
    found = assign_uniformly(GroupSpec({name: member(T, U) for name in "abc"}, {T: 4, U: 3}))
    assert sorted(load(assignment) for assignment in found.values()) == [2, 2, 3]


def test_uniform_moves_no_more_than_it_must() -> None:
    """A newcomer gets its share from those who have most, and nothing else moves."""
    members = {"a": member(T, has={T: {0, 1, 2}}), "b": member(T, has={T: {3, 4, 5}}), "c": member(T)}
    found = assign_uniformly(GroupSpec(members, {T: 6}))
    assert {name: load(found[name]) for name in found} == {"a": 2, "b": 2, "c": 2}
    assert found["a"][T] < {0, 1, 2}
    assert found["b"][T] < {3, 4, 5}


def test_uniform_lets_who_has_the_extra_partition_keep_it() -> None:
    """A balanced assignment stays as it is, whatever the names of the members."""
    members = {"a": member(T, has={T: {0}}), "b": member(T, has={T: {1, 2}})}
    found = assign_uniformly(GroupSpec(members, {T: 3}))
    assert found == {"a": {T: {0}}, "b": {T: {1, 2}}}


def test_uniform_gives_what_a_leaver_had_to_the_others() -> None:
    """Those who stay keep theirs."""
    members = {"a": member(T, has={T: {0, 1}}), "b": member(T, has={T: {2, 3}})}
    found = assign_uniformly(GroupSpec(members, {T: 6}))
    assert found["a"][T] >= {0, 1}
    assert found["b"][T] >= {2, 3}
    assert found["a"][T] | found["b"][T] == set(range(6))


def test_uniform_takes_back_topics_no_longer_subscribed() -> None:
    """What is not subscribed, or is no partition any more, is nobody's."""
    found = assign_uniformly(GroupSpec({"a": member(T, has={T: {0, 9}, U: {0}})}, {T: 1}))
    assert found == {"a": {T: {0}}}


def test_more_members_than_partitions() -> None:
    """Who is left over has nothing, and is told so."""
    found = assign_uniformly(GroupSpec({name: member(T) for name in "abc"}, {T: 2}))
    assert sorted(load(assignment) for assignment in found.values()) == [0, 1, 1]


@pytest.mark.parametrize("assign", [assign_uniformly, assign_ranges])
def test_no_members_or_no_topics(assign: object) -> None:
    """Nothing to assign, or nobody to assign it to, is no error."""
    assert callable(assign)
    assert assign(GroupSpec({}, {})) == {}
    assert assign(GroupSpec({"a": member()}, {})) == {"a": {}}


def test_different_subscriptions_are_balanced_as_far_as_they_allow() -> None:
    """A member that alone reads a topic has all of it, and the others share the rest."""
    members = {"a": member(T), "b": member(T, U), "c": member(T, U)}
    found = assign_uniformly(GroupSpec(members, {T: 3, U: 6}))
    assert {name: load(found[name]) for name in found} == {"a": 3, "b": 3, "c": 3}
    assert found["a"] == {T: {0, 1, 2}}


def test_different_subscriptions_keep_what_balance_allows() -> None:
    """Partitions move only from who has at least two more."""
    members = {"a": member(T, has={T: {0, 1, 2, 3}}), "b": member(T, U)}
    found = assign_uniformly(GroupSpec(members, {T: 4, U: 1}))
    assert load(found["a"]) == 3
    assert found["a"][T] < {0, 1, 2, 3}
    assert found["b"][U] == {0}


def test_range_gives_contiguous_parts_of_each_topic() -> None:
    """The first members get one partition more, in every topic the same way."""
    found = assign_ranges(GroupSpec({name: member(T, U) for name in "ba"}, {T: 3, U: 3}))
    assert found == {"a": {T: {0, 1}, U: {0, 1}}, "b": {T: {2}, U: {2}}}


def test_range_puts_static_members_first() -> None:
    """Their order follows instance ids, so that a new member id changes nothing."""
    members = {"a": member(T), "z": member(T, instance="1"), "y": member(T, instance="2")}
    assert assign_ranges(GroupSpec(members, {T: 3})) == {"z": {T: {0}}, "y": {T: {1}}, "a": {T: {2}}}


def test_range_counts_only_the_subscribers_of_a_topic() -> None:
    """Each topic is divided among those who read it."""
    found = assign_ranges(GroupSpec({"a": member(T, U), "b": member(U, V)}, {T: 2, U: 2, V: 2}))
    assert found == {"a": {T: {0, 1}, U: {0}}, "b": {U: {1}, V: {0, 1}}}
