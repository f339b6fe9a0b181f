"""ACLs, as the active controller changes them: CreateAcls and DeleteAcls.

Pure. Codes follow Kafka 4.3's `AclApis` and `AclControlManager`: of new ACLs those that can be made are made, what is
there already is made again without a record, and removals of one request are one change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.metadata.acl_filters import AclFilter, matching
from odradek.broker.metadata.acls import acl_record
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.acls import CLUSTER_NAME, Acl, AclOperation, AclPermission, AclResourceType, PatternType, name_of
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import RemoveAccessControlEntryRecord
from odradek.protocol.uuids import random_uuid

MAX_CHANGES: Final = 10_000
"""ACLs that a request may make or remove, as in Kafka (MAX_RECORDS_PER_USER_OP)."""
TOO_MANY: Final = f"A request makes or removes {MAX_CHANGES} ACLs at most"
MOST_LOOKED_AT: Final = 5_000_000
"""ACLs that the filters of a request may look at, all together: some seconds of a thread."""

Removed = list[Acl]


def plan_new_acls(view: ControllerView, acls: Sequence[Acl]) -> tuple[list[MetadataRecord], list[KafkaError | None]]:
    """Return the records of the ACLs that can be made, and the error of each, in order.

    They are `MAX_CHANGES` at most.
    """
    records: list[MetadataRecord] = []
    new: set[Acl] = set()
    results: list[KafkaError | None] = []
    for acl in acls:
        reason = _problem(acl)
        results.append(None if reason is None else KafkaError(ErrorCode.INVALID_REQUEST, reason))
        if reason is None and acl not in new and not view.image.acls.has(acl):
            new.add(acl)
            records.append(make_record(acl_record(random_uuid(), acl)))
    return records, results


def plan_removed_acls(
    view: ControllerView, filters: Sequence[AclFilter]
) -> tuple[list[MetadataRecord], list[Removed | KafkaError]]:
    """Return the records that remove what filters let through, and what each of them lets through, in order.

    Raises:
        KafkaError: they are too many.
    """
    acls = view.image.acls
    if sum(one.scans for one in filters) * len(acls) > MOST_LOOKED_AT:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "too many filters for so many ACLs")
    ids: dict[UUID, None] = {}
    results: list[Removed | KafkaError] = []
    told = 0
    for one in filters:
        unknown = _unknown(one)
        if unknown is not None:
            results.append(KafkaError(ErrorCode.INVALID_REQUEST, unknown))
            continue
        found = list(matching(acls, one))
        ids.update(dict.fromkeys(acl_id for acl_id, _ in found))
        told += len(found)
        if told > MAX_CHANGES:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, TOO_MANY)
        results.append([acl for _, acl in found])
    return [make_record(RemoveAccessControlEntryRecord(id=acl_id)) for acl_id in ids], results


_KINDS: Final = (
    ("resource_type", AclResourceType),
    ("pattern_type", PatternType),
    ("operation", AclOperation),
    ("permission_type", AclPermission),
)


def _unknown(numbers: Acl | AclFilter) -> str | None:
    """Return which number of an ACL or a filter means nothing."""
    for name, known in _KINDS:
        if name_of(known, getattr(numbers, name)) == "UNKNOWN":
            return f"Invalid {name.replace('_', ' ')} {getattr(numbers, name)}"
    return None


def _problem(acl: Acl) -> str | None:
    """Return what is wrong with an ACL."""
    unknown = _unknown(acl)
    if unknown is not None:
        return unknown
    if acl.resource_type == AclResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.resource_name:
        return "Invalid empty resource name"
    kind, colon, _ = acl.principal.partition(":")
    if not colon or not kind:
        return f"Could not parse principal from `{acl.principal}`: there is no colon between its type and its name"
    return None
