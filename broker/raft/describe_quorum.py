"""DescribeQuorum, versions 0 to 2: the voter, which leads, and the observers that have fetched lately.

The voter of a static quorum (kraft.version 0) is told without its directory, as Kafka does.
Source: KIP-595, KIP-836, KIP-853, `LeaderState.describeQuorum`.
"""

from __future__ import annotations

from odradek.broker.metadata.log import MetadataLog
from odradek.broker.raft.leader import QuorumLeader
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.describe_quorum import (
    DescribeQuorumPartition,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumListener,
    QuorumNode,
    QuorumPartition,
    QuorumReplica,
    QuorumTopic,
)
from odradek.storage.names import METADATA_TOPIC


class QuorumDescriber:
    """Answers DescribeQuorum."""

    def __init__(self, metadata: MetadataLog, leader: QuorumLeader, clock: Clock, *, is_open: bool = True) -> None:
        """`is_open`: whether there is a listener at which the leader is reached by those who follow."""
        self._is_open = is_open
        self._metadata = metadata
        self._leader = leader
        self._clock = clock

    def describe_quorum(self, context: RequestContext, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        """Answer a request; other topics and partitions are not known."""
        topics = request.topics
        is_ours = len(topics) == 1 and topics[0].topic_name == METADATA_TOPIC
        if not is_ours or [one.partition_index for one in topics[0].partitions] != [0]:
            return DescribeQuorumResponse(topics=[_unknown(topic.topic_name, topic.partitions) for topic in topics])
        leader, now_ms = self._leader, self._clock.now_ms()
        end = self._metadata.high_watermark
        voter = QuorumReplica(
            replica_id=leader.node_id,
            log_end_offset=end,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )
        observers = [
            QuorumReplica(
                replica_id=key.node_id,
                replica_directory_id=key.directory_id,
                log_end_offset=one.end_offset,
                last_fetch_timestamp=one.last_fetch_ms,
                last_caught_up_timestamp=one.last_caught_up_ms,
            )
            for key, one in leader.observers.active(now_ms)
        ]
        partition = QuorumPartition(
            leader_id=leader.node_id,
            leader_epoch=leader.epoch,
            high_watermark=end,
            current_voters=[voter],
            observers=observers,
        )
        listeners = []
        if self._is_open:
            host, port = leader.advertised_for(context)
            listeners.append(QuorumListener(name=context.listener, host=host, port=port))
        return DescribeQuorumResponse(
            topics=[QuorumTopic(topic_name=METADATA_TOPIC, partitions=[partition])],
            nodes=[QuorumNode(node_id=leader.node_id, listeners=listeners)],
        )


def _unknown(name: str, partitions: list[DescribeQuorumPartition]) -> QuorumTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return QuorumTopic(
        topic_name=name,
        partitions=[QuorumPartition(partition_index=one.partition_index, error_code=code) for one in partitions],
    )
