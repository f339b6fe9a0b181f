"""The states of a classic group, and every way from one to another.

A group's life is a circle. Members that want to share work send JoinGroup, and the coordinator parks these requests
(PreparingRebalance) until every member it knows of has sent one, or has had its time. Then a new *generation* begins
(CompletingRebalance): every JoinGroup is answered with its number, and the *leader*, one of the members, is told who
the others are. The leader divides the work and sends the result with SyncGroup; the others send SyncGroup too, and are
parked until the leader's has come and is on disk. Then all are answered, and the group is Stable: members send
heartbeats, and nothing changes until a member comes, changes its mind, leaves or falls silent. Any of these starts the
circle again. A group whose last member is gone is Empty. It is still remembered for the sake of its offsets, until
these expire or somebody deletes it: then it is Dead, and is forgotten.

What of this survives a restart? A generation, its members and their assignment are written when the leader's
assignment comes, and when the group becomes Empty. So a group that is read from the log is Stable or Empty, and a
rebalance that was under way is forgotten: the members learn of it by their next request, and join again.

Follows: Kafka's group coordinator (ClassicGroupState), whose names these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class ClassicGroupState(Enum):
    """What a group is in; the value is the name that clients see."""

    EMPTY = "Empty"
    """No members, maybe offsets, maybe members-to-be that have been given an id and are to come back with it."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """JoinGroup requests are collected and parked."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """A generation has begun; its leader is to send the assignment. SyncGroup requests are parked."""
    STABLE = "Stable"
    """Every member has an assignment."""
    DEAD = "Dead"
    """Deleted, or another broker's: every request is told to look for the coordinator."""


class Event(Enum):
    """What moves a group."""

    REBALANCE = "a member came, changed, left or fell silent, or the assignment could not be written"
    MEMBERS_JOINED = "the time to join is over, and there are members"
    NOBODY_JOINED = "the time to join is over, and there are no members"
    ASSIGNED = "the leader's assignment is written"
    REMOVED = "the group is deleted or handed to another broker"


TRANSITIONS: Mapping[ClassicGroupState, Mapping[Event, ClassicGroupState]] = {
    ClassicGroupState.EMPTY: {
        Event.REBALANCE: ClassicGroupState.PREPARING_REBALANCE,
        Event.REMOVED: ClassicGroupState.DEAD,
    },
    ClassicGroupState.PREPARING_REBALANCE: {
        Event.MEMBERS_JOINED: ClassicGroupState.COMPLETING_REBALANCE,
        Event.NOBODY_JOINED: ClassicGroupState.EMPTY,
        Event.REMOVED: ClassicGroupState.DEAD,
    },
    ClassicGroupState.COMPLETING_REBALANCE: {
        Event.REBALANCE: ClassicGroupState.PREPARING_REBALANCE,
        Event.ASSIGNED: ClassicGroupState.STABLE,
        Event.REMOVED: ClassicGroupState.DEAD,
    },
    ClassicGroupState.STABLE: {
        Event.REBALANCE: ClassicGroupState.PREPARING_REBALANCE,
        Event.REMOVED: ClassicGroupState.DEAD,
    },
    ClassicGroupState.DEAD: {
        Event.REMOVED: ClassicGroupState.DEAD,
    },
}
"""The whole machine. A pair that is not here is a bug of ours, never of a client: requests are checked before."""


def moved(state: ClassicGroupState, event: Event) -> ClassicGroupState:
    """Return the state after `event`; raises AssertionError where the table has no such way."""
    following = TRANSITIONS[state].get(event)
    assert following is not None, f"a group that is {state.value} cannot move because {event.value}"
    return following
