"""A group of either kind: classic, or of the consumer protocol (KIP-848).

Owns: what can be asked of a group without knowing which it is. Must not know: what the machines do inside.
"""

from __future__ import annotations

from odradek.broker.coordinator.effects import Effects, Now, TimerKey
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.state import CONSUMER_PROTOCOL_TYPE
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.protocol.errors import ErrorCode

Group = ClassicGroup | ConsumerGroup

CLASSIC, CONSUMER = "classic", "consumer"
"""The types of groups, as ListGroups says them."""


def type_of(group: Group) -> str:
    """Return the type of the group."""
    return CLASSIC if isinstance(group, ClassicGroup) else CONSUMER


def state_of(group: Group) -> str:
    """Return the name of the group's state, as clients see it."""
    return group.state.value if isinstance(group, ClassicGroup) else group.state.name


def protocol_type_of(group: Group) -> str:
    """Return what the members divide; empty: there never were any."""
    return group.protocol_type or "" if isinstance(group, ClassicGroup) else CONSUMER_PROTOCOL_TYPE


def is_gone(group: Group) -> bool:
    """Whether the group is to be forgotten."""
    return group.state is ClassicGroupState.DEAD if isinstance(group, ClassicGroup) else group.is_gone


def is_empty(group: Group) -> bool:
    """Whether the group has no members."""
    return group.state is ClassicGroupState.EMPTY if isinstance(group, ClassicGroup) else not group.state.members


def delete_offsets_error(group: Group) -> ErrorCode:
    """Return why none of the group's offsets can be deleted, or NONE."""
    return group.delete_offsets_error() if isinstance(group, ClassicGroup) else ErrorCode.NONE


def loaded(group: Group, now: Now) -> Effects:
    """The whole log is read: sessions begin."""
    return group.loaded(now) if isinstance(group, ClassicGroup) else group.loaded()


def on_timer(group: Group, key: TimerKey, now: Now) -> Effects:
    """A timer of the group ran out."""
    return group.on_timer(key, now)


def unload(group: Group, error: ErrorCode, now: Now) -> Effects:
    """The group is another broker's business from now on: those who wait are told `error`."""
    return group.unload(error, now) if isinstance(group, ClassicGroup) else group.unload()
