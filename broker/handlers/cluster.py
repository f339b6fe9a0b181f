"""DescribeCluster (0-2) and DescribeTopicPartitions (0): what admin clients ask instead of Metadata.

DescribeTopicPartitions (KIP-966) answers page by page: topics in the order of their names, at most so many
partitions, and a cursor where the next page begins. Version notes: DescribeCluster v1 knows kinds of endpoints, v2
fenced brokers.
"""

from collections.abc import Container

from odradek.broker.handlers.failed_replicas import FailedReplicas, offline_replicas
from odradek.broker.handlers.known_brokers import KnownBrokers
from odradek.broker.metadata.image import NO_LEADER, MetadataImage, PartitionImage
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.metadata.topic_names import check_name
from odradek.broker.runtime.context import TOPIC_OPERATIONS, RequestContext, cluster_operations
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

BROKERS, CONTROLLERS = 1, 2
"""Types of the endpoint in DescribeCluster."""
_ENDPOINT_TYPES = {BROKERS: "BROKER", CONTROLLERS: "CONTROLLER"}

MOST_TOPICS = 10_000
"""Topics that DescribeTopicPartitions may name: they are put in order, and those that are not there fill no page. A
request that names more is not answered, as there is no place for its error."""


class ClusterHandler:
    """Answers from the newest image."""

    def __init__(self, brokers: KnownBrokers, source: MetadataImages, page_limit: int, failed: FailedReplicas) -> None:
        """`page_limit` is max.request.partition.size.limit."""
        self._failed = failed
        self._brokers = brokers
        self._source = source
        self._page_limit = page_limit

    def describe_cluster(self, context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
        """Answer DescribeCluster."""
        refused = refused_endpoint_type(request.endpoint_type, BROKERS)
        if refused is not None:
            return refused
        told = list(self._brokers.alive(context).values())
        if request.include_fenced_brokers:
            told += self._brokers.fenced(context)
        return DescribeClusterResponse(
            cluster_id=self._brokers.cluster_id,
            controller_id=self._brokers.controller_id(context),
            brokers=[
                DescribeClusterBroker(
                    broker_id=one.node_id, host=one.host, port=one.port, rack=one.rack, is_fenced=one.is_fenced
                )
                for one in told
            ],
            cluster_authorized_operations=cluster_operations(request.include_cluster_authorized_operations),
        )

    def describe_topic_partitions(
        self, context: RequestContext, request: DescribeTopicPartitionsRequest
    ) -> DescribeTopicPartitionsResponse:
        """Answer one page."""
        if len(request.topics) > MOST_TOPICS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"more than {MOST_TOPICS} topics")
        alive = self._brokers.alive(context)
        image = self._source.image
        everything = not request.topics
        cursor = request.cursor
        first = cursor.topic_name if cursor else ""
        names = sorted({topic.name for topic in request.topics} or image.topics_by_name)
        names = [name for name in names if name >= first]
        if cursor and (cursor.partition_index < 0 or (not everything and first not in names)):
            return _refusal(request, ErrorCode.INVALID_REQUEST)
        if cursor is None and "" in names:
            return _refusal(request, ErrorCode.UNKNOWN_SERVER_ERROR)
        room = max(1, min(self._page_limit, request.response_partition_limit))
        response = DescribeTopicPartitionsResponse()
        for name in names:
            if room == 0:
                response.next_cursor = Cursor(topic_name=name, partition_index=0)
                break
            start = cursor.partition_index if cursor and name == first else 0
            topic = self._describe(image, alive, name, start, room)
            if topic.error_code and everything:
                continue
            response.topics.append(topic)
            room -= len(topic.partitions)
            left = _left_out(image, name, start + len(topic.partitions))
            if left is not None:
                response.next_cursor = left
                break
        return response

    def _describe(
        self, image: MetadataImage, alive: Container[int], name: str, start: int, room: int
    ) -> DescribeTopicPartitionsResponseTopic:
        topic = image.topic(name)
        if topic is None:
            bad = check_name(name)
            return DescribeTopicPartitionsResponseTopic(
                error_code=ErrorCode.INVALID_TOPIC_EXCEPTION if bad else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                name=name,
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        page = range(start, min(start + room, len(topic.partitions)))
        return DescribeTopicPartitionsResponseTopic(
            name=name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=[self._partition(name, index, topic.partitions[index], alive) for index in page],
            topic_authorized_operations=TOPIC_OPERATIONS,
        )

    def _partition(
        self, topic: str, index: int, partition: PartitionImage, alive: Container[int]
    ) -> DescribeTopicPartitionsResponsePartition:
        offline = offline_replicas(topic, index, partition, alive, self._failed)
        led = partition.leader in alive and partition.leader not in offline
        return DescribeTopicPartitionsResponsePartition(
            error_code=ErrorCode.NONE if led else ErrorCode.LEADER_NOT_AVAILABLE,
            partition_index=index,
            leader_id=partition.leader if led else NO_LEADER,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            eligible_leader_replicas=list(partition.eligible_leader_replicas),
            last_known_elr=list(partition.last_known_elr),
            offline_replicas=offline,
        )


def refused_endpoint_type(asked: int, here: int) -> DescribeClusterResponse | None:
    """Return the answer to who asks `here` for nodes of another kind; None where it is the right one."""
    if asked == here:
        return None
    if asked not in _ENDPOINT_TYPES:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, error_message=f"Unsupported endpoint type {asked}"
        )
    return DescribeClusterResponse(
        error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
        error_message=f"The request was sent to an endpoint of type {_ENDPOINT_TYPES[here]}, but we wanted an endpoint"
        f" of type {_ENDPOINT_TYPES[asked]}",
    )


def _refusal(request: DescribeTopicPartitionsRequest, code: ErrorCode) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[DescribeTopicPartitionsResponseTopic(error_code=code, name=topic.name) for topic in request.topics]
    )


def _left_out(image: MetadataImage, name: str, end: int) -> Cursor | None:
    """Return the cursor of the first partition that did not fit, None if all of the topic did."""
    topic = image.topic(name)
    if topic is None or end >= len(topic.partitions):
        return None
    return Cursor(topic_name=name, partition_index=end)
