"""What an assignor is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

Assignment = Mapping[UUID, frozenset[int]]
"""Partitions by topic id; no topic without any."""


class MemberSpec(NamedTuple):
    """A member: the topics it subscribes to, all of them existing, and its part of the target so far."""

    topics: frozenset[UUID]
    current: Assignment
    instance_id: str | None = None


class GroupSpec(NamedTuple):
    """A group's members, and how many partitions each topic has."""

    members: Mapping[str, MemberSpec]
    partitions: Mapping[UUID, int]


Assignor = Callable[[GroupSpec], dict[str, dict[UUID, frozenset[int]]]]
"""Says for each member what it is to have: every partition of a topic goes to one of the topic's subscribers."""


def in_order(topics: frozenset[UUID] | set[UUID]) -> list[UUID]:
    """Return topics in an order that does not change from run to run."""
    return sorted(topics, key=lambda topic: topic.bytes)
