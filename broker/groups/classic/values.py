"""What goes into the machine of a classic group and what comes out: plain immutable values.

Owns: requests and results of JoinGroup, SyncGroup, Heartbeat and LeaveGroup in a form that fits every version of these
APIs, the broker's limits on groups, and the view that DescribeGroups shows. Must not know: the wire format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.protocol.errors import ErrorCode


class ClassicGroupLimits(NamedTuple):
    """The broker's settings for classic groups; the defaults are Kafka's."""

    min_session_timeout_ms: int = 6_000
    """group.min.session.timeout.ms"""
    max_session_timeout_ms: int = 1_800_000
    """group.max.session.timeout.ms"""
    max_size: int = 2**31 - 1
    """group.max.size"""
    initial_rebalance_delay_ms: int = 3_000
    """group.initial.rebalance.delay.ms"""
    new_member_join_timeout_ms: int = 300_000
    """How long a new member's JoinGroup may be parked; it cannot send heartbeats meanwhile (not a setting in Kafka)."""
    max_metadata_bytes: int = 1_048_588
    """What a member may say in one protocol. More could not be stored: a group's record has to fit a message."""
    max_protocols: int = 100
    """Protocols of one member. Consumers send one to four; the bound is ours."""


class SupportedProtocol(NamedTuple):
    """A protocol that a member can speak."""

    name: str
    metadata: bytes
    """What the member says in it; opaque to the coordinator."""


class JoinRequest(NamedTuple):
    """A JoinGroup."""

    member_id: str
    """Empty: not a member yet."""
    group_instance_id: str | None
    client_id: str
    client_host: str
    """As it is shown and stored, in Kafka's form: "/127.0.0.1"."""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    """As sent; replaced by the session timeout in version 0."""
    protocol_type: str
    protocols: tuple[SupportedProtocol, ...]
    """The preferred first."""
    api_version: int
    """Decides what a member without an id is told (4), and whether a leader can be told to keep the assignment (9)."""
    new_id: str
    """A random UUID as text: becomes the end of the member id, if one is needed."""


class JoinedMember(NamedTuple):
    """A member as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes
    """What it says in the protocol that was chosen."""


class JoinResult(NamedTuple):
    """The answer to JoinGroup."""

    error: ErrorCode
    member_id: str = ""
    generation: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    """None is sent as an empty string before version 7."""
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()
    """Only the leader is told."""


class SyncRequest(NamedTuple):
    """A SyncGroup."""

    member_id: str
    group_instance_id: str | None
    generation: int
    protocol_type: str | None
    """None (before version 5): not checked."""
    protocol_name: str | None
    """None (before version 5): not checked."""
    assignments: Mapping[str, bytes]
    """By member id. Only the leader's counts."""


class SyncResult(NamedTuple):
    """The answer to SyncGroup."""

    error: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class ClassicHeartbeat(NamedTuple):
    """A Heartbeat."""

    member_id: str
    group_instance_id: str | None
    generation: int


class HeartbeatResult(NamedTuple):
    """The answer to Heartbeat."""

    error: ErrorCode


class LeavingMember(NamedTuple):
    """One member of a LeaveGroup."""

    member_id: str
    """Empty: whoever has the instance id (an administrator removes a static member)."""
    group_instance_id: str | None = None


class LeftMember(NamedTuple):
    """What became of one member of a LeaveGroup."""

    member_id: str
    group_instance_id: str | None
    error: ErrorCode


class LeaveResult(NamedTuple):
    """The answer to LeaveGroup. Before version 3 the error of the only member is that of the request."""

    error: ErrorCode
    members: tuple[LeftMember, ...] = ()


class CommitRequest(NamedTuple):
    """Who commits offsets."""

    member_id: str
    group_instance_id: str | None
    generation: int
    """Negative: an administrator, or a consumer that is in no group."""
    transactional: bool = False


class ClassicMemberView(NamedTuple):
    """A member as DescribeGroups shows it."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class ClassicGroupView(NamedTuple):
    """A group as DescribeGroups shows it."""

    group_id: str
    state: ClassicGroupState
    protocol_type: str
    protocol_data: str
    """The chosen protocol of a stable group, else empty."""
    members: tuple[ClassicMemberView, ...]
