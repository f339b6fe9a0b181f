"""Placement of replicas."""

import pytest

from odradek.broker.controller.placement import place
from odradek.protocol.errors import ErrorCode, KafkaError


def test_partition_i_begins_at_broker_i_and_replicas_follow() -> None:
    """The i-th partition is on broker (i mod n), its j-th replica on (i + j) mod n."""
    assert place([3, 1, 2], 2, 0, 4) == [(1, 2), (2, 3), (3, 1), (1, 2)]


def test_added_partitions_go_on_where_the_topic_ended() -> None:
    """Growing a topic gives the same placement as creating it large."""
    assert place([1, 2, 3], 2, 0, 5)[3:] == place([1, 2, 3], 2, 3, 2)


def test_more_replicas_than_brokers_are_refused() -> None:
    """INVALID_REPLICATION_FACTOR, with both numbers."""
    with pytest.raises(KafkaError, match=r"factor of 2 .* only 1 broker") as caught:
        place([1], 2, 0, 1)
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
