"""The vote on the protocol by which members divide their work: each for the first it lists that all of them speak.

Owns: who wins, for classic groups and for consumer groups that become classic ones. Must not know: members. Follows
`ClassicGroup.selectProtocol` of Kafka, of two protocols with as many votes too: there the first in the order of a Java
HashMap wins, which depends on the names alone. A leader with an odradek behind it thus sees what it saw with Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from odradek.protocol.java_hash import java_hash

_LEAST_BUCKETS: Final = 16
"""Of a HashMap; there are twice as many as soon as they are fuller than three quarters."""


def select_protocol(preferences: Iterable[Iterable[str]], is_common: Callable[[str], bool]) -> str:
    """Return the protocol with most votes; `preferences` are the protocols of each member, the preferred first.

    There is always one: a member that shares no protocol (`is_common`) with all others is not let in.
    """
    votes: dict[str, int] = {}
    for names in preferences:
        vote = next(name for name in names if is_common(name))
        votes[vote] = votes.get(vote, 0) + 1
    most = max(votes.values())
    winners = [name for name, count in votes.items() if count == most]
    if len(winners) == 1:
        return winners[0]
    buckets = _LEAST_BUCKETS
    while len(votes) * 4 > buckets * 3:
        buckets *= 2
    return min(winners, key=lambda name: _bucket(name, buckets))


def _bucket(name: str, buckets: int) -> int:
    value = java_hash(name) & 0xFFFFFFFF
    return (value ^ value >> 16) & (buckets - 1)
