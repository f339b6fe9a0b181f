"""Who somebody is that names a member id, an instance id or both: the one place where members are fenced.

Owns: the rule of KIP-345, for classic groups and for consumer groups alike: an instance id is one member, and of two
that claim it the later fences the earlier. Must not know: members, states, epochs.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from odradek.broker.groups.classic.values import LeavingMember
from odradek.protocol.errors import ErrorCode


class Identities(NamedTuple):
    """The ids of a group's members."""

    member_ids: Container[str]
    static_ids: Mapping[str, str]
    """Group instance id -> member id."""

    def error_of(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Return why who says so is no member (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID), or NONE."""
        if instance_id is not None:
            holder = self.static_ids.get(instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.member_ids else ErrorCode.UNKNOWN_MEMBER_ID

    def find(self, leaving: LeavingMember) -> tuple[str, ErrorCode]:
        """Return the id of the member that leaves or is removed, and NONE, or why there is none to remove.

        An administrator names an instance alone, and so removes whoever has it.
        """
        member_id, instance_id = leaving
        if not member_id and instance_id is not None:
            member_id = self.static_ids.get(instance_id, "")
        return member_id, self.error_of(member_id, instance_id)
