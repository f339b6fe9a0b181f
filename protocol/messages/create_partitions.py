"""CreatePartitions (api key 37): raise the number of partitions of topics (KIP-195).

Version notes: flexible encoding comes with v2, quota errors with v3 (KIP-599).
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, int16, int32, string


class CreatePartitionsAssignment(Struct):
    """The brokers of one new partition."""

    broker_ids: list[int] = array(int32)


class CreatePartitionsTopic(Struct):
    """One topic and its new number of partitions."""

    name: str = string()
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = array(CreatePartitionsAssignment, nullable="0+")


class CreatePartitionsRequest(Message, api_key=37, versions="0-3", flexible="2+"):
    """The topics to enlarge."""

    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


class CreatePartitionsTopicResult(Struct):
    """The outcome for one topic."""

    name: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


class CreatePartitionsResponse(Message, api_key=37, versions="0-3", flexible="2+"):
    """What became of each topic."""

    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)
