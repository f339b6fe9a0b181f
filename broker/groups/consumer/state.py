"""What a consumer group is: the sum of its records.

Owns: the group's epochs, members, targets and resolved expressions. `apply` is the only thing that changes them, live
and on restart alike. Must not know: requests, timers, which topics there are. Follows KIP-848; what a record does
follows the replay methods of Kafka's group coordinator.
"""

from __future__ import annotations

from copy import copy
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.coordinator.effects import CoordinatorRecord
from odradek.broker.groups.classic.identity import Identities
from odradek.broker.groups.consumer.member import (
    LEAVING,
    NOTHING,
    ConsumerGroupMember,
    MemberSubscription,
    MemberType,
    Owned,
    Partitions,
    metadata_from_record,
    with_assignment,
)
from odradek.protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

_FIRST_EPOCH: Final = 1
"""Of a group of which nothing is written, and of its target."""


class ResolvedRegularExpression(NamedTuple):
    """The topics that a regular expression matched."""

    topics: frozenset[str]
    version: int
    """Offset of the cluster's metadata that they were looked for in."""
    timestamp: int
    """When; milliseconds since 1970 UTC."""


class ConsumerGroupState:
    """A group as its records have it. Its dictionaries are for reading; a copy of the state may be changed apart."""

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp",
        "epoch",
        "expressions",
        "group_id",
        "has_epoch",
        "has_partition_metadata",
        "has_target_epoch",
        "members",
        "metadata_hash",
        "owners",
        "regexes",
        "static_members",
        "subscribed_names",
        "targets",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = _FIRST_EPOCH
        self.assignment_timestamp = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        self.static_members: dict[str, str] = {}
        """Instance id -> member id."""
        self.targets: dict[str, Partitions] = {}
        self.subscribed_names: dict[str, int] = {}
        """Names of topics that members subscribe to, with how many do."""
        self.regexes: dict[str, int] = {}
        """Regular expressions that members subscribe to, with how many do; not all are resolved."""
        self.expressions: dict[str, ResolvedRegularExpression] = {}
        """What of them is resolved."""
        self.owners: dict[tuple[UUID, int], str] = {}
        """Who has a partition, or has yet to give it up."""
        self.has_epoch = False
        """Whether a record gives the epoch; so for the others."""
        self.has_target_epoch = False
        self.has_partition_metadata = False

    def copy(self) -> ConsumerGroupState:
        """Return a copy that does not change with this one."""
        twin = copy(self)
        twin.members = dict(self.members)
        twin.static_members = dict(self.static_members)
        twin.targets = dict(self.targets)
        twin.subscribed_names = dict(self.subscribed_names)
        twin.regexes = dict(self.regexes)
        twin.expressions = dict(self.expressions)
        twin.owners = dict(self.owners)
        return twin

    @property
    def is_gone(self) -> bool:
        """Whether no record speaks of the group (any more)."""
        has_records = self.has_epoch or self.has_target_epoch or self.members or self.targets or self.expressions
        return not has_records

    @property
    def name(self) -> str:
        """The group's state, as clients are told it."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        settled = all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values())
        return "Stable" if settled else "Reconciling"

    @property
    def identities(self) -> Identities:
        """The ids of the members."""
        return Identities(self.members, self.static_members)

    def static_member(self, instance_id: str) -> ConsumerGroupMember | None:
        """Return the member that has the instance id."""
        return self.members.get(self.static_members.get(instance_id, ""))

    def subscribers(self, expression: str) -> int:
        """Return how many members subscribe to the expression."""
        return self.regexes.get(expression, 0)

    def classic_members(self) -> int:
        """Return how many members speak the classic protocol."""
        return sum(member.type is MemberType.CLASSIC for member in self.members.values())

    def apply(self, record: CoordinatorRecord) -> None:
        """Change as the record says. Records of other groups or kinds are the caller's mistake."""
        key, value = record
        match key:
            case ConsumerGroupCurrentMemberAssignmentKey():
                assert value is None or isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
                self._apply_assignment(key.member_id, value)
            case ConsumerGroupMemberMetadataKey():
                assert value is None or isinstance(value, ConsumerGroupMemberMetadataValue)
                self._apply_member(key.member_id, value)
            case ConsumerGroupTargetAssignmentMemberKey():
                assert value is None or isinstance(value, ConsumerGroupTargetAssignmentMemberValue)
                self._apply_target(key.member_id, value)
            case ConsumerGroupMetadataKey():
                assert value is None or isinstance(value, ConsumerGroupMetadataValue)
                self.has_epoch = value is not None
                self.epoch = value.epoch if value is not None else _FIRST_EPOCH
                self.metadata_hash = value.metadata_hash if value is not None else 0
            case ConsumerGroupTargetAssignmentMetadataKey():
                assert value is None or isinstance(value, ConsumerGroupTargetAssignmentMetadataValue)
                self.has_target_epoch = value is not None
                self.assignment_epoch = value.assignment_epoch if value is not None else _FIRST_EPOCH
                self.assignment_timestamp = value.assignment_timestamp if value is not None else 0
            case ConsumerGroupRegularExpressionKey():
                assert value is None or isinstance(value, ConsumerGroupRegularExpressionValue)
                self._apply_expression(key.regular_expression, value)
            case ConsumerGroupPartitionMetadataKey():
                self.has_partition_metadata = value is not None
            case _:
                raise AssertionError(f"{type(key).__name__} is no record of a consumer group")

    def _apply_member(self, member_id: str, value: ConsumerGroupMemberMetadataValue | None) -> None:
        known = self.members.get(member_id)
        if known is not None:
            self._count(known.metadata, -1)
            if known.metadata.instance_id is not None:
                self._forget_instance(known.metadata.instance_id, member_id)
        if value is None:
            if known is not None:
                self._release(known)
                del self.members[member_id]
            return
        member = (known or ConsumerGroupMember(member_id))._replace(metadata=metadata_from_record(value))
        self.members[member_id] = member
        self._count(member.metadata, 1)
        if member.metadata.instance_id is not None:
            self.static_members[member.metadata.instance_id] = member_id

    def _count(self, subscription: MemberSubscription, change: int) -> None:
        for name in subscription.topics:
            _change(self.subscribed_names, name, change)
        if subscription.regex:
            _change(self.regexes, subscription.regex, change)

    def _forget_instance(self, instance_id: str, member_id: str) -> None:
        if self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def _apply_target(self, member_id: str, value: ConsumerGroupTargetAssignmentMemberValue | None) -> None:
        if value is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = {topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions}

    def _apply_expression(self, expression: str, value: ConsumerGroupRegularExpressionValue | None) -> None:
        if value is None:
            self.expressions.pop(expression, None)
        else:
            self.expressions[expression] = ResolvedRegularExpression(
                frozenset(value.topics), value.version, value.timestamp
            )

    def _apply_assignment(self, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue | None) -> None:
        known = self.members.get(member_id)
        if known is not None:
            self._release(known)
        if value is not None:
            member = with_assignment(known or ConsumerGroupMember(member_id), value)
            self.members[member_id] = member
            self._take(member_id, member.assigned)
            self._take(member_id, member.revoking)
        elif known is not None:
            self.members[member_id] = known._replace(
                epoch=LEAVING, previous_epoch=LEAVING, assigned=NOTHING, revoking=NOTHING
            )

    def _take(self, member_id: str, owned: Owned) -> None:
        for topic, partitions in owned.items():
            for partition in partitions:
                self.owners[topic, partition] = member_id

    def _release(self, member: ConsumerGroupMember) -> None:
        for owned in (member.assigned, member.revoking):
            for topic, partitions in owned.items():
                for partition in partitions:
                    if self.owners.get((topic, partition)) == member.member_id:
                        del self.owners[topic, partition]


def _change(counts: dict[str, int], name: str, change: int) -> None:
    count = counts.get(name, 0) + change
    if count:
        counts[name] = count
    else:
        del counts[name]
