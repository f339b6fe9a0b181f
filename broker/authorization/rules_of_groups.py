"""Who may do what with groups and their offsets.

Owns: the resource and operation that each request takes, and what the refused get to see. Source: Kafka 4.3's
KafkaApis.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Final

from odradek.broker.authorization.asking import (
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    Asking,
    Entries,
    merge_entries,
    refuse_some,
)
from odradek.broker.authorization.partly import Outcome, Partly
from odradek.broker.authorization.refusals import refuse_all, refused_entry
from odradek.protocol.acls import AclOperation
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.uuids import ZERO_UUID

DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_FIRST_OF_MANY_KEYS: Final = 4
_FIRST_WITHOUT_PROTOCOL_NAME: Final = 7
_FIRST_OF_PROTOCOLS_IN_SYNC: Final = 5
_FIRST_OF_GROUPS_IN_FETCH: Final = 8
_FIRST_WITH_ERROR_IN_FETCH: Final = 2


def of_group(operation: AclOperation) -> Callable[[Asking, Any], Outcome]:
    """Return the rule of an API about one group, which takes an operation."""

    def rule(asking: Asking, request: Any) -> Outcome:
        if asking.may(operation, GROUP, request.group_id):
            return None
        return refuse_all(asking.api, request, DENIED)

    return rule


def of_each_group(operation: AclOperation, asked: str, answered: str) -> Callable[[Asking, Any], Outcome]:
    """Return the rule of an API that names groups, each of which takes an operation."""

    def rule(asking: Asking, request: Any) -> Outcome:
        def refusal(name: str) -> ErrorCode | None:
            return None if asking.may(operation, GROUP, name) else DENIED

        return refuse_some(asking, request, Entries(asked, answered), refusal)

    return rule


def find_coordinator(asking: Asking, request: Any) -> Outcome:
    """DESCRIBE of the group or the transactional id; brokers ask for those of share groups."""

    def refusal(key: str) -> ErrorCode | None:
        match request.key_type:
            case 0:
                return None if asking.may(AclOperation.DESCRIBE, GROUP, key) else DENIED
            case 1:
                may = asking.may(AclOperation.DESCRIBE, TRANSACTIONAL_ID, key)
                return None if may else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            case 2:
                may = asking.may_to_cluster(AclOperation.CLUSTER_ACTION)
                return None if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return None

    if asking.version >= _FIRST_OF_MANY_KEYS:
        return refuse_some(asking, request, Entries("coordinator_keys", "coordinators"), refusal)
    code = refusal(request.key)
    if code is None:
        return None
    response: Any = refuse_all(asking.api, request, code)
    response.node_id = response.port = -1
    refused: Message = response
    return refused


def join_group(asking: Asking, request: Any) -> Outcome:
    """GROUP READ."""
    outcome: Any = of_group(AclOperation.READ)(asking, request)
    if outcome is not None:
        outcome.protocol_name = None if asking.version >= _FIRST_WITHOUT_PROTOCOL_NAME else ""
    refused: Outcome = outcome
    return refused


def sync_group(asking: Asking, request: Any) -> Outcome:
    """GROUP READ; one without its protocol is refused for that first, by the handler."""
    is_whole = request.protocol_type is not None and request.protocol_name is not None
    if asking.version >= _FIRST_OF_PROTOCOLS_IN_SYNC and not is_whole:
        return None
    return of_group(AclOperation.READ)(asking, request)


def consumer_group_heartbeat(asking: Asking, request: Any) -> Outcome:
    """GROUP READ, and TOPIC DESCRIBE of all that is subscribed to by name."""
    if not asking.may(AclOperation.READ, GROUP, request.group_id):
        return refuse_all(asking.api, request, DENIED)
    for name in dict.fromkeys(request.subscribed_topic_names or ()):
        if not asking.may(AclOperation.DESCRIBE, TOPIC, name):
            return refuse_all(asking.api, request, TOPIC_DENIED)
    return None


def offset_commit(asking: Asking, request: Any) -> Outcome:
    """GROUP READ, and TOPIC READ of each topic."""
    if not asking.may(AclOperation.READ, GROUP, request.group_id):
        return refuse_all(asking.api, request, DENIED)
    return _offsets_of_topics(asking, request)


def txn_offset_commit(asking: Asking, request: Any) -> Outcome:
    """TRANSACTIONAL_ID WRITE and GROUP READ, and TOPIC READ of each topic."""
    if not asking.may(AclOperation.WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return refuse_all(asking.api, request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return offset_commit(asking, request)


def offset_delete(asking: Asking, request: Any) -> Outcome:
    """GROUP DELETE, and TOPIC READ of each topic."""
    if not asking.may(AclOperation.DELETE, GROUP, request.group_id):
        return refuse_all(asking.api, request, DENIED)
    return _offsets_of_topics(asking, request)


def _offsets_of_topics(asking: Asking, request: Any) -> Outcome:
    def refusal(topic: Any) -> ErrorCode | None:
        topic_id = getattr(topic, "topic_id", ZERO_UUID)
        name = topic.name if topic_id == ZERO_UUID else asking.topic_name(topic_id)
        if name is None:
            return None  # the handler says that there is none
        return None if asking.may(AclOperation.READ, TOPIC, name) else TOPIC_DENIED

    return refuse_some(asking, request, Entries("topics", "topics"), refusal)


def offset_fetch(asking: Asking, request: Any) -> Outcome:
    """GROUP DESCRIBE; TOPIC DESCRIBE of what is named, and of all topics only those are told."""
    if asking.version < _FIRST_OF_GROUPS_IN_FETCH:
        return _fetch_of_one(asking, request)
    groups: list[Any] = []
    refused: list[Any] = []
    refused_topics: list[list[Any]] = []
    filters: list[bool] = []
    is_partly = False
    for group in request.groups:
        if not asking.may(AclOperation.DESCRIBE, GROUP, group.group_id):
            entry = refused_entry(asking.api.response, "groups", group, DENIED)
            entry.topics = []
            refused.append(entry)
            continue
        refused.append(None)
        left, of_topics = _refused_of_group(asking, group)
        is_partly = is_partly or group.topics is None or any(one is not None for one in of_topics)
        groups.append(left)
        refused_topics.append(of_topics)
        filters.append(group.topics is None)
    if not is_partly and None not in refused and refused:
        response: Any = asking.api.response()
        response.groups = refused
        whole: Message = response
        return whole
    if not is_partly and not any(refused):
        return None
    reduced = copy(request)
    reduced.groups = groups
    return Partly(reduced, partial(_fetched_groups, asking, refused, refused_topics, filters))


def _fetch_of_one(asking: Asking, request: Any) -> Outcome:
    """Before version 8 there is one group, and its topics stand in the request itself."""
    if not asking.may(AclOperation.DESCRIBE, GROUP, request.group_id):
        response: Any = refuse_all(asking.api, request, DENIED)
        if asking.version < _FIRST_WITH_ERROR_IN_FETCH:
            response.topics = [
                refused_entry(asking.api.response, "topics", one, DENIED) for one in request.topics or ()
            ]
        whole: Message = response
        return whole
    if request.topics is None:
        return Partly(request, partial(_only_visible, asking))
    left, refused = _refused_of_group(asking, request)
    if not any(one is not None for one in refused):
        return None
    if not left.topics:
        nothing: Any = asking.api.response()
        nothing.topics = refused
        answer: Message = nothing
        return answer
    return Partly(left, partial(merge_entries, "topics", refused))


def _refused_of_group(asking: Asking, group: Any) -> tuple[Any, list[Any]]:
    """Return a group (or a request for one) without the topics that are refused, and these, each in its place."""
    if group.topics is None:
        return group, []
    response = asking.api.response
    by_group = hasattr(group, "member_epoch")
    refused: list[Any] = []
    left = []
    for topic in group.topics:
        topic_id = getattr(topic, "topic_id", ZERO_UUID)
        name = topic.name if topic_id == ZERO_UUID else asking.topic_name(topic_id)
        if name is None or asking.may(AclOperation.DESCRIBE, TOPIC, name):
            left.append(topic)
            refused.append(None)
        elif by_group:
            refused.append(_refused_topic_of_group(response, topic))
        else:
            refused.append(refused_entry(response, "topics", topic, TOPIC_DENIED))
    if len(left) == len(group.topics):
        return group, []
    reduced = copy(group)
    reduced.topics = left
    return reduced, refused


def _refused_topic_of_group(response: type[Message], topic: Any) -> Any:
    kind: Any = next(field.type for field in response.SCHEMA.fields if field.name == "groups")
    return refused_entry(kind, "topics", topic, TOPIC_DENIED)


def _fetched_groups(
    asking: Asking, refused: list[Any], refused_topics: list[list[Any]], filters: list[bool], response: Any
) -> Message:
    for group, of_topics, is_filtered in zip(response.groups, refused_topics, filters, strict=True):
        if is_filtered:
            _only_visible(asking, group)
        elif of_topics and not group.error_code:
            merge_entries("topics", of_topics, group)
    message: Message = merge_entries("groups", refused, response)
    return message


def _only_visible(asking: Asking, answer: Any) -> Any:
    """Leave out topics that may not be described."""

    def name_of(topic: Any) -> str | None:
        topic_id = getattr(topic, "topic_id", ZERO_UUID)
        return topic.name if topic_id == ZERO_UUID else asking.topic_name(topic_id)

    named = [(name_of(one), one) for one in answer.topics]
    answer.topics = [one for name, one in named if name is not None and asking.sees_topic(name)]
    return answer


def list_groups(asking: Asking, request: Any) -> Outcome:
    """All groups with CLUSTER DESCRIBE, and without it those that may be described."""
    if asking.may_to_cluster(AclOperation.DESCRIBE, is_told=False):
        return None

    def visible(response: Any) -> Message:
        response.groups = [
            one for one in response.groups if asking.may_silently(AclOperation.DESCRIBE, GROUP, one.group_id)
        ]
        message: Message = response
        return message

    return Partly(request, visible)


def describe_groups(asking: Asking, request: Any) -> Outcome:
    """GROUP DESCRIBE of each."""
    outcome = of_each_group(AclOperation.DESCRIBE, "groups", "groups")(asking, request)
    return _with_operations(asking, request, outcome)


def consumer_group_describe(asking: Asking, request: Any) -> Outcome:
    """GROUP DESCRIBE of each; a group with a topic that may not be described shows no members."""
    outcome = of_each_group(AclOperation.DESCRIBE, "group_ids", "groups")(asking, request)
    if isinstance(outcome, Message):
        return outcome
    with_operations = _with_operations(asking, request, outcome)
    if with_operations is None:
        return Partly(request, partial(_without_hidden_topics, asking))
    assert isinstance(with_operations, Partly)
    return Partly(
        with_operations.request, lambda response: with_operations.merge(_without_hidden_topics(asking, response))
    )


def _without_hidden_topics(asking: Asking, response: Any) -> Message:
    for group in response.groups:
        names = {
            topic.topic_name
            for member in group.members
            for assignment in (member.assignment, member.target_assignment)
            for topic in assignment.topic_partitions
        } | {name for member in group.members for name in member.subscribed_topic_names}
        if not all(asking.sees_topic(name) for name in names):
            group.error_code = int(TOPIC_DENIED)
            group.error_message = "The group has described topic(s) that the client is not authorized to describe."
            group.members = []
    message: Message = response
    return message


def _with_operations(asking: Asking, request: Any, outcome: Outcome) -> Outcome:
    """Say what the client may do with each group, where it asks for that."""
    if isinstance(outcome, Message) or not request.include_authorized_operations:
        return outcome
    omitted = -(1 << 31)

    def fill(response: Any) -> Message:
        for group in response.groups:
            if group.authorized_operations != omitted:
                group.authorized_operations = asking.access.operations(GROUP, group.group_id)
        message: Message = response
        return message

    if outcome is None:
        return Partly(request, fill)
    return Partly(outcome.request, lambda response: outcome.merge(fill(response)))
