"""Who is in a classic group: members, members-to-be, parked requests, the leader, and what they can speak.

Owns: the tables of one group and the rules that keep them consistent with each other. Must not know: states, timers
and records; the modules that use it decide when members come and go.
"""

from __future__ import annotations

from odradek.broker.coordinator.effects import Token
from odradek.broker.groups.classic.identity import Identities
from odradek.broker.groups.classic.protocols import select_protocol
from odradek.broker.groups.classic.values import JoinedMember, JoinRequest, SupportedProtocol


class ClassicGroupMember:
    """One member."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(self, member_id: str, group_instance_id: str | None, client_id: str, client_host: str) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        """Not None: a static member (KIP-345), which keeps its place over restarts."""
        self.client_id = client_id
        self.client_host = client_host
        self.session_timeout_ms = 0
        self.rebalance_timeout_ms = 0
        self.protocols: tuple[SupportedProtocol, ...] = ()
        self.assignment = b""
        self.is_new = False
        """Its first JoinGroup is parked: it may not even know its id, so nothing but time speaks against it."""

    def take_timeouts(self, request: JoinRequest) -> None:
        """Replace the member's timeouts by what it says now."""
        self.session_timeout_ms = request.session_timeout_ms
        # The field is not in version 0, where one timeout served for both.
        self.rebalance_timeout_ms = (
            request.session_timeout_ms if request.api_version == 0 else request.rebalance_timeout_ms
        )

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return what the member says in a protocol, or nothing if it does not speak it."""
        return next((protocol.metadata for protocol in self.protocols if protocol.name == protocol_name), b"")

    def renamed(self, member_id: str) -> ClassicGroupMember:
        """Return a copy with another id."""
        copy = ClassicGroupMember(member_id, self.group_instance_id, self.client_id, self.client_host)
        copy.session_timeout_ms = self.session_timeout_ms
        copy.rebalance_timeout_ms = self.rebalance_timeout_ms
        copy.protocols = self.protocols
        copy.assignment = self.assignment
        return copy


class Membership:
    """The tables of one group."""

    __slots__ = ("joins", "leader", "members", "pending", "speakers", "static_ids", "syncs", "unsynced")

    def __init__(self) -> None:
        self.members: dict[str, ClassicGroupMember] = {}
        """By member id, in the order of joining."""
        self.static_ids: dict[str, str] = {}
        """Group instance id -> member id."""
        self.speakers: dict[str, int] = {}
        """Protocol name -> how many members speak it."""
        self.pending: set[str] = set()
        """Ids that were given out (KIP-394) and did not come back yet; no members."""
        self.joins: dict[str, Token] = {}
        """Member id -> parked JoinGroup."""
        self.syncs: dict[str, Token] = {}
        """Member id -> parked SyncGroup."""
        self.unsynced: set[str] = set()
        """Members that did not send the SyncGroup of this generation yet."""
        self.leader: str | None = None

    @property
    def identities(self) -> Identities:
        """The ids of the members."""
        return Identities(self.members, self.static_ids)

    def add(self, member: ClassicGroupMember) -> None:
        """Add a member; the first one is the leader."""
        assert member.member_id not in self.members, "a member is added once"
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_ids, "an instance is one member"
            self.static_ids[member.group_instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self.pending.discard(member.member_id)
        self._count(member, 1)

    def remove(self, member_id: str) -> None:
        """Remove a member, or a member-to-be; the longest-standing of the others leads if the leader goes."""
        assert member_id not in self.joins, "the parked JoinGroup is answered first"
        assert member_id not in self.syncs, "the parked SyncGroup is answered first"
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member, -1)
            if member.group_instance_id is not None:
                del self.static_ids[member.group_instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending.discard(member_id)
        self.unsynced.discard(member_id)

    def rename(self, old_id: str, new_id: str) -> ClassicGroupMember:
        """Give a static member another id, and return it; it stays leader if it was."""
        assert old_id not in self.joins, "the parked JoinGroup is answered first"
        assert old_id not in self.syncs, "the parked SyncGroup is answered first"
        member = self.members.pop(old_id).renamed(new_id)
        assert member.group_instance_id is not None, "only static members are replaced"
        self.members[new_id] = member
        self.static_ids[member.group_instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.unsynced:
            self.unsynced.remove(old_id)
            self.unsynced.add(new_id)
        return member

    def teach(self, member: ClassicGroupMember, protocols: tuple[SupportedProtocol, ...]) -> None:
        """Replace what a member can speak."""
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)

    def all_joined(self) -> bool:
        """Return whether a JoinGroup of every member is parked, and nobody is still to come back with its id."""
        return len(self.joins) == len(self.members) and not self.pending

    def elect(self) -> bool:
        """Make sure that the leader is one of those who joined; False: there is no leader, or nobody joined."""
        if self.leader is None:
            return False
        if self.leader in self.joins:
            return True
        joined = next((member_id for member_id in self.members if member_id in self.joins), None)
        if joined is None:
            return False
        self.leader = joined
        return True

    def rebalance_timeout_ms(self) -> int:
        """Return the longest time that any member wants to be waited for."""
        return max((0, *(member.rebalance_timeout_ms for member in self.members.values())))

    def all_speak(self, protocol_name: str) -> bool:
        """Return whether every member speaks a protocol; nobody is in the way where there are no members."""
        return self.speakers.get(protocol_name, 0) == len(self.members)

    def select_protocol(self) -> str:
        """Return the protocol that the members vote for."""
        names = ([protocol.name for protocol in member.protocols] for member in self.members.values())
        return select_protocol(names, self.all_speak)

    def as_joined(self, protocol_name: str | None) -> tuple[JoinedMember, ...]:
        """Return all members as the leader sees them."""
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(protocol_name))
            for member in self.members.values()
        )

    def _count(self, member: ClassicGroupMember, change: int) -> None:
        # A hostile member may list a name twice, but it is one speaker.
        for name in {protocol.name for protocol in member.protocols}:
            count = self.speakers.get(name, 0) + change
            if count:
                self.speakers[name] = count
            else:
                del self.speakers[name]
