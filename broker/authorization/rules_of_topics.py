"""Who may do what with topics: Produce, Fetch and everything that names topics and partitions.

Owns: the resource and operation that each request takes, and what the refused get to see. A topic that may not be
described is answered as one that may not: whether it is there or not makes no difference. Source: Kafka 4.3's KafkaApis
and ControllerApis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Final
from uuid import UUID

from odradek.broker.authorization.asking import (
    CLUSTER,
    TOPIC,
    TRANSACTIONAL_ID,
    Asking,
    Entries,
    refuse_some,
)
from odradek.broker.authorization.partly import Outcome, Partly
from odradek.broker.authorization.refusals import refuse_all, refused_entry
from odradek.broker.runtime.responses import CloseConnectionError
from odradek.protocol.acls import CLUSTER_NAME, AclOperation
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import ATTRIBUTES_AT, TRANSACTIONAL_BIT
from odradek.protocol.uuids import ZERO_UUID

DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
PRODUCE_BY_ID: Final = 13
_METADATA_BY_ID: Final = 12
_FIRST_WITH_CONFIGS: Final = 5
_MOST_REFUSED: Final = 5_000
"""Partitions of a produce of which something is refused: the answer is made in one turn of the event loop."""
_MOST_NAMED: Final = 10_000
"""Topics that are named to the handler of DescribeTopicPartitions; more than a page holds."""


def of_each(operation: AclOperation, asked: str = "topics", answered: str = "topics", name: str = "name") -> Any:
    """Return the rule of an API that names topics, each of which takes an operation."""
    entries = Entries(asked, answered)

    def rule(asking: Asking, request: Any) -> Outcome:
        def refusal(entry: Any) -> ErrorCode | None:
            return None if asking.may(operation, TOPIC, getattr(entry, name)) else DENIED

        return refuse_some(asking, request, entries, refusal)

    return rule


def produce(asking: Asking, request: Any) -> Outcome:
    """TRANSACTIONAL_ID WRITE where there are transactional batches, and TOPIC WRITE for each topic.

    Raises:
        CloseConnectionError: something is refused, and the client wants no answer.
    """
    refused = _refused_transaction(asking, request) or _refused_topics(asking, request)
    if refused is not None and request.acks == 0:
        raise CloseConnectionError("a produce with acks=0 is refused: the client may not write what it sends")
    return refused


def _check_size(request: Any) -> None:
    """Raise CloseConnectionError where an answer that refuses everything would take long: nobody writes to so many
    partitions at once."""
    if sum(1 + len(topic.partition_data) for topic in request.topic_data) > _MOST_REFUSED:
        raise CloseConnectionError(f"a produce to more than {_MOST_REFUSED} partitions is refused")


def _refused_transaction(asking: Asking, request: Any) -> Outcome:
    transactional_id = request.transactional_id
    if transactional_id is None or not _has_transactional_batches(request):
        return None
    if asking.may(AclOperation.WRITE, TRANSACTIONAL_ID, transactional_id):
        asking.access.note_transaction(transactional_id)
        return None
    _check_size(request)
    return refuse_all(asking.api, request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _has_transactional_batches(request: Any) -> bool:
    """Whether the first batch of a partition is part of a transaction; there is one of each since batches exist."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if (
                records is not None
                and len(records) > ATTRIBUTES_AT + 1
                and records[ATTRIBUTES_AT + 1] & TRANSACTIONAL_BIT
            ):
                return True
    return False


def _refused_topics(asking: Asking, request: Any) -> Outcome:
    by_id = asking.version >= PRODUCE_BY_ID
    is_checked = False

    def refusal(topic: Any) -> ErrorCode | None:
        nonlocal is_checked
        if not topic.partition_data:
            return None  # nothing is told of it
        ref: str | UUID = topic.topic_id if by_id else topic.name
        name = asking.topic_name(topic.topic_id) if by_id else topic.name
        if name is None:
            return None  # the handler says that there is none
        if not asking.may(AclOperation.WRITE, TOPIC, name):
            if not is_checked:
                _check_size(request)
                is_checked = True
            return DENIED
        asking.access.note_write(ref)
        return None

    return refuse_some(asking, request, Entries("topic_data", "responses"), refusal)


def offsets_of_epochs(asking: Asking, request: Any) -> Outcome:
    """OffsetForLeaderEpoch: brokers may, and who may describe the topic."""
    if asking.may_to_cluster(AclOperation.CLUSTER_ACTION, is_told=False):
        return None
    rule: Callable[[Asking, Any], Outcome] = of_each(AclOperation.DESCRIBE, name="topic")
    return rule(asking, request)


def metadata(asking: Asking, request: Any) -> Outcome:
    """TOPIC DESCRIBE; of all topics only those are told. What asking would create takes CREATE, of the cluster or the
    topic."""
    wanted = request.topics
    version = asking.version
    operations = request.include_topic_authorized_operations, request.include_cluster_authorized_operations
    if wanted is None or (not wanted and version == 0):
        return Partly(request, partial(_visible_metadata, asking, operations))
    if version < _METADATA_BY_ID and any(one.name is None or one.topic_id != ZERO_UUID for one in wanted):
        return None  # such a request is refused as a whole
    refused = []
    left = []
    with_ids = any(one.topic_id != ZERO_UUID for one in wanted)
    missing = _missing_topics(asking, request, with_ids=with_ids)
    for one in wanted:
        by_id = one.topic_id != ZERO_UUID
        if with_ids and not by_id:
            continue  # names beside ids are not looked at
        name = asking.topic_name(one.topic_id) if by_id else one.name
        if name is None or (
            asking.may(AclOperation.DESCRIBE, TOPIC, name)
            and (name not in missing or asking.may(AclOperation.CREATE, TOPIC, name))
        ):
            left.append(one)
            continue
        entry = refused_entry(asking.api.response, "topics", one, DENIED)
        entry.name = None if by_id else name
        refused.append(entry)
    if not refused and not any(operations):
        return None
    reduced = copy(request)
    reduced.topics = left
    return Partly(reduced, partial(_described_metadata, asking, operations, refused, bool(left)))


def _missing_topics(asking: Asking, request: Any, *, with_ids: bool) -> frozenset[str]:
    """Return the topics that the request would create, unless the client may create any."""
    if with_ids or not (asking.world.auto_creates_topics and request.allow_auto_topic_creation):
        return frozenset()
    image = asking.world.image()
    missing = frozenset(one.name for one in request.topics if one.name is not None and image.topic(one.name) is None)
    if not missing or asking.may_to_cluster(AclOperation.CREATE, is_told=False):
        return frozenset()
    return missing


def _visible_metadata(asking: Asking, operations: tuple[bool, bool], response: Any) -> Message:
    response.topics = [one for one in response.topics if asking.sees_topic(one.name)]
    return _with_operations(asking, operations, response)


def _described_metadata(
    asking: Asking, operations: tuple[bool, bool], refused: list[Any], are_any: bool, response: Any
) -> Message:
    if not are_any:
        response.topics = []  # with nothing left, the oldest version asks for all of them
    response = _with_operations(asking, operations, response)
    response.topics = [*response.topics, *refused]
    message: Message = response
    return message


def _with_operations(asking: Asking, operations: tuple[bool, bool], response: Any) -> Message:
    """Say what the client may do, where it asks for that."""
    of_topics, of_cluster = operations
    if of_topics:
        for one in response.topics:
            if one.name is not None:
                one.topic_authorized_operations = asking.access.operations(TOPIC, one.name)
    if of_cluster:
        response.cluster_authorized_operations = cluster_operations_of(asking)
    message: Message = response
    return message


def cluster_operations_of(asking: Asking) -> int:
    """Return what the client may do with the cluster, as bits; nothing where it may not describe it."""
    if not asking.may_to_cluster(AclOperation.DESCRIBE, is_told=False):
        return 0
    return asking.access.operations(CLUSTER, CLUSTER_NAME)


def describe_topic_partitions(asking: Asking, request: Any) -> Outcome:
    """TOPIC DESCRIBE; of all topics only those are told, page by page."""
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    refused: list[Any] = []
    reduced = copy(request)
    following: str | None = None
    if request.topics:
        named = [one for one in request.topics if one.name >= first]
        left = []
        for one in named:
            if asking.may(AclOperation.DESCRIBE, TOPIC, one.name):
                left.append(one)
            else:
                refused.append(refused_entry(asking.api.response, "topics", one, DENIED))
    else:
        kind = next(field.type for field in request.SCHEMA.fields if field.name == "topics")
        names = sorted(
            name for name in asking.world.image().topics_by_name if name >= first and asking.sees_topic(name)
        )
        if len(names) > _MOST_NAMED:
            names, following = names[:_MOST_NAMED], names[_MOST_NAMED]
        left = [kind(name=name) for name in names]
        if cursor is not None and (not names or names[0] != first):
            reduced.cursor = None
    if not left:
        response: Any = asking.api.response()
        response.topics = refused
        nothing: Message = response
        return nothing
    reduced.topics = left
    reduced.response_partition_limit = min(request.response_partition_limit, _MOST_NAMED - 1)
    return Partly(reduced, partial(_described_page, asking, refused, following))


def _described_page(asking: Asking, refused: list[Any], following: str | None, response: Any) -> Message:
    for one in response.topics:
        one.topic_authorized_operations = asking.access.operations(TOPIC, one.name)
    response.topics = [*response.topics, *refused]
    if following is not None and response.next_cursor is None:
        kind = next(field.type for field in response.SCHEMA.fields if field.name == "next_cursor")
        response.next_cursor = kind(topic_name=following, partition_index=0)
    message: Message = response
    return message


def create_topics(asking: Asking, request: Any) -> Outcome:
    """CREATE of the cluster or of each topic; who may not describe the configs of what he makes is not told them."""
    times = Counter(one.name for one in request.topics)
    may_all = asking.may_to_cluster(AclOperation.CREATE, is_told=False)

    def refusal(topic: Any) -> ErrorCode | None:
        if may_all or times[topic.name] > 1 or asking.may(AclOperation.CREATE, TOPIC, topic.name):
            return None
        return DENIED

    outcome = refuse_some(asking, request, Entries("topics", "topics"), refusal)
    if isinstance(outcome, Message) or asking.version < _FIRST_WITH_CONFIGS:
        return outcome
    hidden = frozenset(name for name in times if not asking.may_silently(AclOperation.DESCRIBE_CONFIGS, TOPIC, name))
    if not hidden:
        return outcome
    if outcome is None:
        return Partly(request, partial(_without_configs, hidden))
    return Partly(outcome.request, lambda response: outcome.merge(_without_configs(hidden, response)))


def _without_configs(hidden: frozenset[str], response: Any) -> Message:
    for one in response.topics:
        if one.error_code == ErrorCode.NONE and one.name in hidden:
            one.topic_config_error_code = int(DENIED)
            one.num_partitions = one.replication_factor = -1
            one.configs = []
    message: Message = response
    return message


def delete_topics(asking: Asking, request: Any) -> Outcome:
    """DELETE of the cluster, or DESCRIBE and DELETE of each topic."""
    if asking.may_to_cluster(AclOperation.DELETE, is_told=False):
        return None

    def refusal_of_name(name: str) -> ErrorCode | None:
        may = asking.may(AclOperation.DESCRIBE, TOPIC, name) and asking.may(AclOperation.DELETE, TOPIC, name)
        return None if may else DENIED

    def refusal(topic: Any) -> ErrorCode | None:
        if (topic.name is None) == (topic.topic_id == ZERO_UUID):
            return None  # neither or both: the handler says so
        name = topic.name if topic.name is not None else asking.topic_name(topic.topic_id)
        return None if name is None else refusal_of_name(name)

    if request.topic_names:
        return refuse_some(asking, request, Entries("topic_names", "responses"), refusal_of_name)
    return refuse_some(asking, request, Entries("topics", "responses"), refusal)
