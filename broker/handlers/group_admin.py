"""DescribeGroups (0-6), ListGroups (0-5) and DeleteGroups (0-2): what administrators ask of groups.

Version notes: DescribeGroups says GROUP_ID_NOT_FOUND from v6 (KIP-1043), before it showed a dead group; ListGroups
filters by state from v4 (KIP-518) and by type from v5 (KIP-848).
"""

from __future__ import annotations

from collections.abc import Sequence

from odradek.broker.groups.administration import delete_group
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.states import ClassicGroupState
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.group import Group, protocol_type_of, state_of, type_of
from odradek.broker.runtime.context import RequestContext, group_operations
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from odradek.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from odradek.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

_FIRST_WITH_NOT_FOUND = 6


class GroupAdminHandlers:
    """Answers administrators."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    def describe_groups(
        self, context: RequestContext, request: DescribeGroupsRequest
    ) -> DescribeGroupsResponse | Deferred[DescribeGroupsResponse]:
        """Answer DescribeGroups; a name that comes twice is answered once."""
        operations = group_operations(request.include_authorized_operations)
        names = dict.fromkeys(request.groups)
        groups = self._coordinator.background.each(
            names, lambda group_id: self._describe(group_id, operations, context.api_version)
        )
        return then(groups, lambda found: DescribeGroupsResponse(groups=found))

    def _describe(self, group_id: str, operations: int, version: int) -> DescribedGroup:
        try:
            group = self._coordinator.shard(group_id).groups.get(group_id)
        except KafkaError as refused:
            return DescribedGroup(group_id=group_id, error_code=refused.code)
        if not isinstance(group, ClassicGroup):
            found = DescribedGroup(group_id=group_id, group_state=ClassicGroupState.DEAD.value)
            if version >= _FIRST_WITH_NOT_FOUND:
                found.error_code = ErrorCode.GROUP_ID_NOT_FOUND
                what = "not found" if group is None else "is not a classic group"
                found.error_message = f"Group {group_id} {what}."
            else:
                found.authorized_operations = operations
            return found
        view = group.describe()
        return DescribedGroup(
            group_id=group_id,
            group_state=view.state.value,
            protocol_type=view.protocol_type,
            protocol_data=view.protocol_data,
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata,
                    member_assignment=member.assignment,
                )
                for member in view.members
            ],
            authorized_operations=operations,
        )

    def list_groups(
        self, _context: RequestContext, request: ListGroupsRequest
    ) -> ListGroupsResponse | Deferred[ListGroupsResponse]:
        """Answer ListGroups; what is not loaded yet is missing, and the error says so."""
        states = {state.lower() for state in request.states_filter}
        types = {kind.lower() for kind in request.types_filter}
        shards, complete = self._coordinator.shards()
        groups = [group for shard in shards for group in shard.groups.values()]

        def listed(group: Group) -> ListedGroup | None:
            state, kind = state_of(group), type_of(group)
            if (states and state.lower() not in states) or (types and kind not in types):
                return None
            return ListedGroup(
                group_id=group.group_id,
                protocol_type=protocol_type_of(group),
                group_state=state,
                group_type=kind,
            )

        def respond(found: Sequence[ListedGroup | None]) -> ListGroupsResponse:
            return ListGroupsResponse(
                error_code=ErrorCode.NONE if complete else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                groups=[group for group in found if group is not None],
            )

        return then(self._coordinator.background.each(groups, listed), respond)

    def delete_groups(
        self, _context: RequestContext, request: DeleteGroupsRequest
    ) -> DeleteGroupsResponse | Deferred[DeleteGroupsResponse]:
        """Answer DeleteGroups once the deletions are safe; a name that comes twice is answered once."""
        names = list(dict.fromkeys(request.groups_names))

        def respond(codes: Sequence[ErrorCode]) -> DeleteGroupsResponse:
            pairs = zip(names, codes, strict=True)
            return DeleteGroupsResponse(
                results=[DeletableGroupResult(group_id=name, error_code=code) for name, code in pairs]
            )

        return then(self._coordinator.background.each(names, self._delete), respond)

    def _delete(self, group_id: str) -> ErrorCode | Deferred[ErrorCode]:
        try:
            return delete_group(self._coordinator.shard(group_id), group_id)
        except KafkaError as refused:
            return refused.code
