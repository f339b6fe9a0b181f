"""Which heartbeats are refused before any group is asked.

Owns: the checks of one request by itself, in Kafka's order (GroupCoordinatorService). Must not know: groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from odradek.broker.groups.consumer.member import JOINING, LEAVING, LEAVING_FOR_A_WHILE
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

_CLIENT_CHOOSES_ID: Final = 1
"""First version in which the client makes its member id up itself (KIP-1082)."""
MAX_TOPICS: Final = 10_000
"""Names of topics in a subscription, and topics that a member says it has; Kafka has no bound but the record's."""


def check_heartbeat(request: ConsumerGroupHeartbeatRequest, version: int, assignors: Sequence[str]) -> None:
    """Raise KafkaError INVALID_REQUEST or UNSUPPORTED_ASSIGNOR for what no group can take."""
    epoch = request.member_epoch
    if version >= _CLIENT_CHOOSES_ID or epoch > JOINING or epoch == LEAVING:
        _not_empty(request.member_id, "MemberId")
    _not_empty(request.group_id, "GroupId")
    _not_empty(request.instance_id, "InstanceId")
    _not_empty(request.rack_id, "RackId")
    if epoch == JOINING:
        _check_joining(request)
    elif epoch == LEAVING_FOR_A_WHILE:
        if request.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVING_FOR_A_WHILE:
        raise _invalid("MemberEpoch is invalid.")
    for topics, name in (
        (request.subscribed_topic_names, "SubscribedTopicNames"),
        (request.topic_partitions, "TopicPartitions"),
    ):
        if topics is not None and len(topics) > MAX_TOPICS:
            raise _invalid(f"{name} has more than {MAX_TOPICS} topics.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def _not_empty(text: str | None, name: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(f"{name} can't be empty.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
