"""From a classic group to a consumer group and back, while its members are at work.

Owns: when that may be, and the records of it. A classic group becomes a consumer group when the first member of the
new protocol joins, and a classic one again when the last of them has left. Whoever is in it keeps what it has: the
records say the same in the other form. Must not know: parked requests, timers. Follows KIP-848, "Upgrade to the New
Protocol", and the conversions of Kafka's coordinator.
"""

from __future__ import annotations

from collections.abc import Collection

from odradek.broker.coordinator.effects import CoordinatorRecord
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.membership import ClassicGroupMember
from odradek.broker.groups.classic.protocols import select_protocol
from odradek.broker.groups.consumer import records
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.embedded import (
    PROTOCOL_TYPE,
    by_id,
    read_assignment,
    read_subscription,
    write_assignment,
)
from odradek.broker.groups.consumer.member import NO_PARTITIONS, ConsumerGroupMember, MemberSubscription
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.groups.consumer.subscriptions import metadata_hash
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.codec import DecodeError
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)


def check_upgrade(classic: ClassicGroup, settings: ConsumerGroupSettings) -> None:
    """Raise KafkaError GROUP_ID_NOT_FOUND for a classic group that cannot take members of the new protocol."""
    if not settings.may_upgrade:
        raise _cannot(classic.group_id, "online upgrade is disabled")
    if classic.protocol_type != PROTOCOL_TYPE:
        raise _cannot(classic.group_id, "its members are no consumers")
    if len(classic.members) > settings.max_size:
        raise _cannot(classic.group_id, f"more than {settings.max_size} members are in it")


def upgrade(draft: Draft, classic: ClassicGroup, image: MetadataImage) -> None:
    """Write a classic group's members, and what they have, as a consumer group's; raises KafkaError, see above.

    Its target has no time, so that the next one need not wait.
    """
    group_id, epoch = classic.group_id, max(1, classic.generation)
    try:
        members = [_as_consumer(member, classic, epoch, image) for member in classic.members.values()]
    except DecodeError as bad:
        raise _cannot(group_id, f"a member does not speak clearly: {bad}") from bad
    draft.emit_all(records.member_metadata(group_id, member) for member in members)
    draft.emit(records.group_epoch(group_id, epoch, metadata_hash(draft.state, image)))
    for member in members:
        target = {topic: frozenset(partitions) for topic, partitions in member.assigned.items()}
        draft.emit(records.target_assignment(group_id, member.member_id, target))
    draft.emit(records.target_epoch(group_id, epoch, 0))
    draft.emit_all(records.current_assignment(group_id, member) for member in members)


def can_downgrade(state: ConsumerGroupState, leaving: Collection[str], settings: ConsumerGroupSettings) -> bool:
    """Whether nobody but members of the classic protocol stays when those members leave."""
    staying = [member for member_id, member in state.members.items() if member_id not in leaving]
    if not staying or not settings.may_downgrade or len(staying) > settings.max_classic_size:
        return False
    return all(member.metadata.classic is not None for member in staying)


def downgrade(state: ConsumerGroupState, leaving: Collection[str], image: MetadataImage, now: int) -> CoordinatorRecord:
    """Return the record of the classic group that those make who stay; the first of them leads."""
    staying = {member_id: member for member_id, member in state.members.items() if member_id not in leaving}
    spoken = [_protocols(member) for member in staying.values()]
    protocol = select_protocol(spoken, set(spoken[0]).intersection(*spoken).__contains__)
    members = []
    for member_id, member in staying.items():
        said = member.metadata
        assert said.classic is not None, "only members of the classic protocol stay"
        subscription = {one.name: bytes(one.metadata) for one in said.classic.supported_protocols}[protocol]
        assignment = write_assignment(
            state.targets.get(member_id, NO_PARTITIONS), read_subscription(subscription).version, image
        )
        members.append(
            MemberMetadata(
                member_id=member_id,
                group_instance_id=said.instance_id,
                client_id=said.client_id,
                client_host=said.client_host,
                rebalance_timeout=said.rebalance_timeout_ms,
                session_timeout=said.classic.session_timeout_ms,
                subscription=subscription,
                assignment=assignment,
            )
        )
    value = GroupMetadataValue(
        protocol_type=PROTOCOL_TYPE,
        generation=state.epoch,
        protocol=protocol,
        leader=members[0].member_id,
        current_state_timestamp=now,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=state.group_id), value)


def _as_consumer(
    member: ClassicGroupMember, group: ClassicGroup, epoch: int, image: MetadataImage
) -> ConsumerGroupMember:
    data = member.metadata(group.protocol_name) or member.protocols[0].metadata
    said, given = read_subscription(data), read_assignment(member.assignment)
    if given.has_user_data:
        raise _cannot(group.group_id, "an assignor of its own is in use, whose data would be lost")
    protocols = [ClassicProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in member.protocols]
    assigned = by_id(given.partitions, image)
    return ConsumerGroupMember(
        member.member_id,
        MemberSubscription(
            client_id=member.client_id,
            client_host=member.client_host,
            instance_id=member.group_instance_id,
            rack_id=said.rack_id,
            topics=said.topics,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            classic=ClassicMemberMetadata(session_timeout_ms=member.session_timeout_ms, supported_protocols=protocols),
        ),
        epoch=epoch,
        previous_epoch=epoch,
        assigned={topic: dict.fromkeys(partitions, epoch) for topic, partitions in assigned.items()},
    )


def _protocols(member: ConsumerGroupMember) -> list[str]:
    classic = member.metadata.classic
    return [protocol.name for protocol in classic.supported_protocols] if classic is not None else []


def _cannot(group_id: str, reason: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} cannot become a consumer group: {reason}.")
