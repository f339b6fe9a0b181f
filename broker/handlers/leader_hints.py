"""Clients that ask a broker for a partition that it does not lead, or not in their epoch, are told who does (KIP-951).

Produce from version 10 on and Fetch from version 16 on have room for it. Follows Kafka's `KafkaApis.getCurrentLeader`:
the leader is the one of the replica here, or else that of the metadata; its address is the one on the client's
listener, and left out while it is not alive. Never hot.
"""

from __future__ import annotations

from collections.abc import Callable

from odradek.broker.handlers.fetch_reading import MOVED
from odradek.broker.handlers.fetch_sessions import Found
from odradek.broker.handlers.known_brokers import KnownBrokers
from odradek.broker.handlers.produce_results import Topics
from odradek.broker.metadata.image import NO_LEADER, MetadataImage
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode
from odradek.protocol.hot.wire import NodeEndpoint, TopicRef

FIRST_OF_PRODUCE = 10
FIRST_OF_FETCH = 16


class LeaderHints:
    """Who leads what this broker does not."""

    def __init__(self, partitions: PartitionTable, image: Callable[[], MetadataImage], brokers: KnownBrokers) -> None:
        self._partitions = partitions
        self._image = image
        self._brokers = brokers

    def add_to_produce(self, context: RequestContext, topics: Topics) -> tuple[NodeEndpoint, ...]:
        """Name the leader in the results that need it, and return where those leaders are reached."""
        if context.api_version < FIRST_OF_PRODUCE:
            return ()
        leaders: dict[int, None] = {}
        for ref, results in topics:
            for place, result in enumerate(results):
                if result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    leader = self._leader(ref, result.partition)
                    if leader is not None:
                        results[place] = result._replace(leader=leader)
                        leaders[leader[0]] = None
        return self._endpoints(context, leaders) if leaders else ()

    def add_to_fetch(self, context: RequestContext, topics: Found) -> tuple[NodeEndpoint, ...]:
        """The same for what a Fetch is answered."""
        leaders: dict[int, None] = {}
        for ref, results in topics:
            for place, result in enumerate(results):
                if result.error_code in MOVED:
                    leader = self._leader(ref, result.partition)
                    if leader is not None:
                        results[place] = result._replace(leader=leader)
                        leaders[leader[0]] = None
        return self._endpoints(context, leaders)

    def _leader(self, ref: TopicRef, index: int) -> tuple[int, int] | None:
        """The id of a partition's leader and its epoch; None where nothing is known of the partition."""
        topic = self._partitions.find(ref)
        partition = topic.get_replica(index) if topic is not None else None
        if partition is not None:
            return partition.leader_id, partition.leader_epoch
        image = self._image()
        known = image.topic(ref) if isinstance(ref, str) else image.topic_by_id(ref)
        if known is None or not 0 <= index < len(known.partitions):
            return None
        return known.partitions[index].leader, known.partitions[index].leader_epoch

    def _endpoints(self, context: RequestContext, leaders: dict[int, None]) -> tuple[NodeEndpoint, ...]:
        alive = self._brokers.alive(context)
        found = (alive.get(leader) for leader in leaders if leader != NO_LEADER)
        return tuple(NodeEndpoint(one.node_id, one.host, one.port, one.rack) for one in found if one is not None)
