"""What a classic group is at one moment, and the record of it.

Owns: the fields of a group, the way between its states, and the form in which a generation is kept in
`__consumer_offsets` (Kafka's GroupMetadata record), in both directions. Must not know: requests and timers.
"""

from __future__ import annotations

from odradek.broker.coordinator.effects import CoordinatorRecord, Now
from odradek.broker.groups.classic.membership import ClassicGroupMember, Membership
from odradek.broker.groups.classic.states import ClassicGroupState, Event, moved
from odradek.broker.groups.classic.values import ClassicGroupLimits, SupportedProtocol
from odradek.protocol.codec import decode
from odradek.protocol.codec.errors import DecodeError
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of consumers; others (Connect) divide other things than partitions."""
UNKNOWN_TIME = -1
MAX_SUBSCRIPTION_BYTES = 256 * 1024
"""Of all members that say different things; a group that says more is taken for one that does not speak clearly."""


class InitialDelay:
    """How an initial rebalance waits for more members (KIP-134)."""

    __slots__ = ("delay_ms", "new_member", "remaining_ms")

    def __init__(self, delay_ms: int, remaining_ms: int) -> None:
        self.delay_ms = delay_ms
        """The wait that is under way."""
        self.remaining_ms = remaining_ms
        """By how much it may still be extended in all."""
        self.new_member = False
        """Whether somebody came during this wait, so that it is worth another."""


class GroupData:
    """A classic group."""

    __slots__ = (
        "generation",
        "group_id",
        "initial_delay",
        "is_new",
        "limits",
        "membership",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp",
        "subscribed_topics",
        "writing_generation",
    )

    def __init__(self, group_id: str, limits: ClassicGroupLimits, now: Now) -> None:
        self.group_id = group_id
        self.limits = limits
        self.state = ClassicGroupState.EMPTY
        self.state_timestamp = now
        """Milliseconds since 1970 UTC, or UNKNOWN_TIME (records of old versions do not tell)."""
        self.generation = 0
        self.protocol_type: str | None = None
        """None: never had a member, only offsets."""
        self.protocol_name: str | None = None
        self.subscribed_topics: frozenset[str] | None = None
        """What the members of this generation subscribe to; None: not known."""
        self.membership = Membership()
        self.initial_delay: InitialDelay | None = None
        """Not None: the group was empty, and waits for its first members."""
        self.writing_generation: int | None = None
        """The generation whose assignment is on its way to the log."""
        self.is_new = False
        """No record of it was written yet, and one must be."""

    def move(self, event: Event, now: Now) -> None:
        """Go to the next state."""
        self.state = moved(self.state, event)
        self.state_timestamp = now

    def next_generation(self, now: Now) -> None:
        """Begin a generation with the members there are, or with none."""
        self.generation += 1
        has_members = bool(self.membership.members)
        self.protocol_name = self.membership.select_protocol() if has_members else None
        self.subscribed_topics = subscribed_topics(self)
        self.move(Event.MEMBERS_JOINED if has_members else Event.NOBODY_JOINED, now)


def subscribed_topics(group: GroupData) -> frozenset[str] | None:
    """Return the topics that members subscribe to; None if they are no consumers, or one does not speak clearly."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    if not group.membership.members:
        return frozenset()
    if group.protocol_name is None:
        return None
    said = {member.metadata(group.protocol_name) for member in group.membership.members.values()}
    if sum(map(len, said)) > MAX_SUBSCRIPTION_BYTES:
        return None
    topics: set[str] = set()
    for data in said:
        # Version 0 is how every version begins, so the coordinator need not know the others.
        if len(data) < 2 or data[0] & 0x80:
            return None
        try:
            subscription, _ = decode(ConsumerProtocolSubscription, data, 0, 2)
        except DecodeError:
            return None
        topics.update(subscription.topics)
    return frozenset(topics)


def metadata_record(group: GroupData, assignments: dict[str, bytes]) -> CoordinatorRecord:
    """Return the record of a generation, with assignments by member id."""
    members = [
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol_name),
            assignment=assignments[member.member_id],
        )
        for member in group.membership.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.membership.leader,
        current_state_timestamp=group.state_timestamp,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value)


def tombstone(group: GroupData) -> CoordinatorRecord:
    """Return the record that a group is gone."""
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), None)


def from_record(group_id: str, value: GroupMetadataValue, limits: ClassicGroupLimits) -> GroupData:
    """Return the group of a record: Stable if it has members, else Empty."""
    group = GroupData(group_id, limits, value.current_state_timestamp)
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    for stored in value.members:
        if stored.member_id in group.membership.members or stored.group_instance_id in group.membership.static_ids:
            continue  # no broker writes this; the first one counts
        member = ClassicGroupMember(stored.member_id, stored.group_instance_id, stored.client_id, stored.client_host)
        member.session_timeout_ms = stored.session_timeout
        # Version 0 of the record has one timeout for both.
        member.rebalance_timeout_ms = (
            stored.session_timeout if stored.rebalance_timeout == -1 else stored.rebalance_timeout
        )
        member.protocols = (SupportedProtocol(value.protocol or "", stored.subscription),)
        member.assignment = stored.assignment
        group.membership.add(member)
    if group.membership.members:
        group.state = ClassicGroupState.STABLE
        if value.leader in group.membership.members:
            group.membership.leader = value.leader
    group.subscribed_topics = subscribed_topics(group)
    return group
