"""Members of the classic protocol in a consumer group: JoinGroup, SyncGroup and Heartbeat, answered at once.

Owns: how such a member is led from its epoch to the next by the answers of its own protocol: a heartbeat tells it to
join again, joining takes it one step, SyncGroup brings what it has then. It never leads. Must not know: timers, tokens,
versions of messages. Follows the `...ToConsumerGroup` methods of Kafka's coordinator.
"""

from __future__ import annotations

from odradek.broker.groups.classic.values import (
    ClassicHeartbeat,
    JoinRequest,
    JoinResult,
    LeavingMember,
    LeftMember,
    SyncRequest,
    SyncResult,
)
from odradek.broker.groups.consumer.draft import Draft
from odradek.broker.groups.consumer.embedded import PROTOCOL_TYPE, by_id, read_subscription, write_assignment
from odradek.broker.groups.consumer.member import ConsumerGroupMember, MemberState, MemberSubscription
from odradek.broker.groups.consumer.state import ConsumerGroupState
from odradek.broker.groups.consumer.steps import (
    HeartbeatContext,
    advance,
    check_room,
    member_of,
    take_over,
    write_metadata,
)
from odradek.broker.metadata.image import MetadataImage
from odradek.protocol.codec import DecodeError
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.group_records import ClassicMemberMetadata, ClassicProtocol

_FIRST_WITH_ID = 4
"""First version of JoinGroup in which a new member is given an id to come back with (KIP-394)."""


def join(
    draft: Draft, request: JoinRequest, environment: HeartbeatContext
) -> tuple[ConsumerGroupMember | None, JoinResult]:
    """Write what a JoinGroup changes; return the member, and the answer. No member: it has to come back with an id.

    Raises:
        KafkaError: the request is refused; the draft is worth nothing then.
    """
    is_unknown = not request.member_id
    member_id = request.member_id or f"{request.group_instance_id or request.client_id}-{request.new_id}"
    check_room(draft, member_id, environment.settings)
    _check_protocols(draft.state, member_id, request)
    if is_unknown and request.group_instance_id is None and request.api_version >= _FIRST_WITH_ID:
        return None, JoinResult(ErrorCode.MEMBER_ID_REQUIRED, member_id)
    before = _find_member(draft, member_id, is_unknown, request)
    try:
        said = read_subscription(request.protocols[0].metadata)
    except DecodeError as bad:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"The subscription is malformed: {bad}.") from bad
    protocols = [ClassicProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in request.protocols]
    timeout_ms = request.session_timeout_ms if request.api_version == 0 else request.rebalance_timeout_ms
    new = MemberSubscription(
        client_id=request.client_id,
        client_host=request.client_host,
        instance_id=request.group_instance_id or before.metadata.instance_id,
        rack_id=said.rack_id or before.metadata.rack_id,
        topics=said.topics,
        rebalance_timeout_ms=timeout_ms,
        assignor=before.metadata.assignor,
        classic=ClassicMemberMetadata(session_timeout_ms=request.session_timeout_ms, supported_protocols=protocols),
    )
    changes = write_metadata(draft, before, new)
    after = advance(draft, member_id, by_id(said.owned, environment.image), changes, environment)
    name = request.protocols[0].name
    return after, JoinResult(ErrorCode.NONE, member_id, after.epoch, PROTOCOL_TYPE, name)


def sync(state: ConsumerGroupState, request: SyncRequest, image: MetadataImage) -> SyncResult:
    """Return the answer to SyncGroup: what the member has now. Raises KafkaError if it is refused."""
    member = find_member(state, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation)
    protocol = classic_of(member).supported_protocols[0]
    if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (None, protocol.name):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if state.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    version = read_subscription(bytes(protocol.metadata)).version
    return SyncResult(ErrorCode.NONE, PROTOCOL_TYPE, protocol.name, write_assignment(member.assigned, version, image))


def must_rejoin(state: ConsumerGroupState, request: ClassicHeartbeat) -> tuple[ConsumerGroupMember, bool]:
    """Return the member that sent a Heartbeat, and whether it has to join again; raises KafkaError if it is refused."""
    member = find_member(state, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation)
    if member.epoch < state.epoch or member.state is MemberState.UNREVOKED_PARTITIONS:
        return member, True
    return member, member.state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(state, member)


def find_leaving(state: ConsumerGroupState, leaving: LeavingMember) -> tuple[ConsumerGroupMember | None, LeftMember]:
    """Return a member that leaves, or is removed, and what became of it; no member if there is none to remove.

    Members of the consumer protocol can be removed so, too.
    """
    member_id, error = state.identities.find(leaving)
    return state.members.get(member_id) if error is ErrorCode.NONE else None, LeftMember(*leaving, error)


def find_member(state: ConsumerGroupState, member_id: str, instance_id: str | None) -> ConsumerGroupMember:
    """Return a member of the classic protocol; raises KafkaError UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."""
    member = member_of(state, member_id, instance_id)
    if member.metadata.classic is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol.")
    return member


def classic_of(member: ConsumerGroupMember) -> ClassicMemberMetadata:
    """Return what a member of the classic protocol said in that."""
    assert member.metadata.classic is not None, "looked up as a member of the classic protocol"
    return member.metadata.classic


def _find_member(draft: Draft, member_id: str, is_unknown: bool, request: JoinRequest) -> ConsumerGroupMember:
    state = draft.state
    if request.group_instance_id is None:
        return state.members.get(member_id) or ConsumerGroupMember(member_id)
    if not is_unknown:
        return member_of(state, member_id, request.group_instance_id)
    holder = state.static_member(request.group_instance_id)
    return ConsumerGroupMember(member_id) if holder is None else take_over(draft, member_id, holder, must_be_away=False)


def _check_protocols(state: ConsumerGroupState, member_id: str, request: JoinRequest) -> None:
    """There must be a protocol that all members of the classic protocol speak, should the group be theirs again."""
    others = [
        {protocol.name for protocol in member.metadata.classic.supported_protocols}
        for member in state.members.values()
        if member.metadata.classic is not None and member.member_id != member_id
    ]
    spoken = {protocol.name for protocol in request.protocols}
    if request.protocol_type != PROTOCOL_TYPE or not spoken.intersection(*others):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _check_generation(member: ConsumerGroupMember, generation: int) -> None:
    if generation != member.epoch:
        raise KafkaError(
            ErrorCode.ILLEGAL_GENERATION, f"Generation {generation} is not the member's epoch {member.epoch}."
        )


def _waits_for_others(state: ConsumerGroupState, member: ConsumerGroupMember) -> bool:
    return any(
        partition not in member.assigned.get(topic, {}) and (topic, partition) in state.owners
        for topic, partitions in state.targets.get(member.member_id, {}).items()
        for partition in partitions
    )
