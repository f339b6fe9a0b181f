"""ListOffsets of those that are no consumer: where the log of a replica ends."""

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.support.deferred import now
from tests.support.partitions import context
from tests.support.replicated_brokers import TOPIC, ReplicatedBrokers

CONSUMER, DEBUGGING_TOOL, REPLICA = -1, -2, 2
LATEST = -1


@pytest.mark.parametrize(
    ("asks", "leader", "follower"),
    [
        (CONSUMER, (ErrorCode.NONE, 0), (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)),
        (REPLICA, (ErrorCode.NONE, 1), (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)),
        (DEBUGGING_TOOL, (ErrorCode.NONE, 1), (ErrorCode.NONE, 0)),
    ],
)
def test_a_debugging_tool_is_told_the_end_of_every_replica(
    asks: int, leader: tuple[ErrorCode, int], follower: tuple[ErrorCode, int]
) -> None:
    """So that it sees how far a follower is behind; consumers are told what is committed, by the leader alone."""
    cluster = ReplicatedBrokers(2)
    cluster.append(1, b"a")

    def told(node: int) -> tuple[int, int]:
        asked = [ListOffsetsPartition(partition_index=0, timestamp=LATEST)]
        request = ListOffsetsRequest(replica_id=asks, topics=[ListOffsetsTopic(name=TOPIC, partitions=asked)])
        [topic] = now(cluster[node].offsets.list_offsets(context(10), request)).topics
        return topic.partitions[0].error_code, topic.partitions[0].offset

    assert (told(1), told(2)) == (leader, follower)
