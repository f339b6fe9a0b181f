"""Who may do what with transactions.

Owns: the resource and operation that each request takes, and what the refused get to see. Source: Kafka 4.3's
KafkaApis.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from odradek.broker.authorization.asking import (
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    Asking,
    Entries,
    refuse_some,
)
from odradek.broker.authorization.partly import Outcome, Partly
from odradek.broker.authorization.refusals import refuse_all, refused_entry
from odradek.protocol.acls import AclOperation
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode

DENIED: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
CLUSTER_DENIED: Final = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_FIRST_OF_BROKERS: Final = 4
"""AddPartitionsToTxn from which on brokers ask."""


def init_producer_id(asking: Asking, request: Any) -> Outcome:
    """TRANSACTIONAL_ID WRITE; without an id CLUSTER IDEMPOTENT_WRITE, or WRITE on any topic (KIP-679)."""
    if request.transactional_id is not None:
        if asking.may(AclOperation.WRITE, TRANSACTIONAL_ID, request.transactional_id):
            return None
        return refuse_all(asking.api, request, DENIED)
    if asking.may_to_cluster(AclOperation.IDEMPOTENT_WRITE, is_told=False):
        return None
    if asking.access.may_any(AclOperation.WRITE, TOPIC):
        return None
    asking.may_to_cluster(AclOperation.IDEMPOTENT_WRITE)
    return refuse_all(asking.api, request, CLUSTER_DENIED)


def add_partitions(asking: Asking, request: Any) -> Outcome:
    """TRANSACTIONAL_ID WRITE and TOPIC WRITE of each topic; where one is refused, nothing is done. Brokers that ask
    take CLUSTER_ACTION."""
    if asking.version >= _FIRST_OF_BROKERS:
        if asking.may_to_cluster(AclOperation.CLUSTER_ACTION):
            return None
        return refuse_all(asking.api, request, CLUSTER_DENIED)
    if not asking.may(AclOperation.WRITE, TRANSACTIONAL_ID, request.v3_and_below_transactional_id):
        return refuse_all(asking.api, request, DENIED)
    topics = request.v3_and_below_topics
    denied = {one.name for one in topics if not asking.may(AclOperation.WRITE, TOPIC, one.name)}
    if not denied:
        return None
    image = asking.world.image()

    def entry(topic: Any) -> Any:
        refused = refused_entry(asking.api.response, "results_by_topic_v3_and_below", topic, TOPIC_DENIED)
        if topic.name not in denied:
            known = image.topic(topic.name)
            count = 0 if known is None else len(known.partitions)
            for result in refused.results_by_partition:
                is_there = 0 <= result.partition_index < count
                code = ErrorCode.OPERATION_NOT_ATTEMPTED if is_there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                result.partition_error_code = int(code)
        return refused

    response: Any = asking.api.response()
    response.results_by_topic_v3_and_below = [entry(one) for one in topics]
    message: Message = response
    return message


def add_offsets(asking: Asking, request: Any) -> Outcome:
    """TRANSACTIONAL_ID WRITE, and GROUP READ."""
    if not asking.may(AclOperation.WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return refuse_all(asking.api, request, DENIED)
    if not asking.may(AclOperation.READ, GROUP, request.group_id):
        return refuse_all(asking.api, request, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return None


def end(asking: Asking, request: Any) -> Outcome:
    """TRANSACTIONAL_ID WRITE."""
    if asking.may(AclOperation.WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return None
    return refuse_all(asking.api, request, DENIED)


def write_markers(asking: Asking, request: Any) -> Outcome:
    """CLUSTER ALTER, or CLUSTER_ACTION."""
    if asking.may_to_cluster(AclOperation.ALTER, is_told=False) or asking.may_to_cluster(AclOperation.CLUSTER_ACTION):
        return None
    return refuse_all(asking.api, request, CLUSTER_DENIED)


def describe(asking: Asking, request: Any) -> Outcome:
    """TRANSACTIONAL_ID DESCRIBE of each; of their topics only those that may be described are told."""

    def refusal(transactional_id: str) -> ErrorCode | None:
        return None if asking.may(AclOperation.DESCRIBE, TRANSACTIONAL_ID, transactional_id) else DENIED

    outcome = refuse_some(asking, request, Entries("transactional_ids", "transaction_states"), refusal)
    if isinstance(outcome, Message):
        return outcome
    if outcome is None:
        return Partly(request, partial(_visible_topics, asking))
    return Partly(outcome.request, lambda response: outcome.merge(_visible_topics(asking, response)))


def _visible_topics(asking: Asking, response: Any) -> Message:
    for state in response.transaction_states:
        state.topics = [one for one in state.topics if asking.sees_topic(one.topic)]
    message: Message = response
    return message


def list_all(asking: Asking, request: Any) -> Outcome:
    """Those of which the transactional id may be described."""

    def visible(response: Any) -> Message:
        response.transaction_states = [
            one
            for one in response.transaction_states
            if asking.may_silently(AclOperation.DESCRIBE, TRANSACTIONAL_ID, one.transactional_id)
        ]
        message: Message = response
        return message

    return Partly(request, visible)
