"""Metadata (0-13): brokers, topics, partition leaders, for every client's first request and many after it.

A topic that is not there is created where the broker and the client allow it. Kafka answers UNKNOWN_TOPIC_OR_PARTITION
then, and the client asks again (the oldest ones fail: to them Kafka said LEADER_NOT_AVAILABLE); here the answer waits
until the topic is there. Its partitions count for the client's controller_mutation_rate: who has taken too much hears
that there is no such topic, and asks again, as with Kafka.

Version notes: v0 asks for all topics with an empty list, v1+ with null; a client can forbid the creation from v4 on;
v10 has topic ids, v12 can ask by id; v13 has a top-level error.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from odradek.broker.controller.topic_creation import TopicCreation, free
from odradek.broker.controller.topics import NewTopic
from odradek.broker.handlers.failed_replicas import FailedReplicas, offline_replicas
from odradek.broker.handlers.known_brokers import KnownBrokers
from odradek.broker.metadata.image import INTERNAL_TOPICS, NO_LEADER, MetadataImage, PartitionImage, TopicImage
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.metadata.topic_names import check_name
from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
from odradek.broker.runtime.context import RequestContext, cluster_operations, topic_operations
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.uuids import ZERO_UUID

_FIRST_VERSION_BY_ID = 12
_NOT_TOLD = (ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
"""Why topics were not made that is no error of theirs: others made them, or the client is to ask again."""


class MetadataHandler:
    """Answers Metadata requests from the newest image."""

    def __init__(
        self,
        brokers: KnownBrokers,
        metadata: MetadataImages,
        creation: TopicCreation,
        auto_create: bool,
        failed: FailedReplicas,
        quotas: ClientQuotaEnforcement | None = None,
    ) -> None:
        """`quotas` say how many partitions a client may have made (KIP-599), without them any number."""
        self._quotas = quotas
        self._brokers = brokers
        self._metadata = metadata
        self._creation = creation
        self._auto_create = auto_create
        self._built: dict[UUID, tuple[TopicImage, list[MetadataResponsePartition]]] = {}
        self._built_for: frozenset[int] = frozenset()
        """The brokers that were alive when that was made."""
        self._failed = failed
        self._failed_state: object = failed.state

    def metadata(
        self, context: RequestContext, request: MetadataRequest
    ) -> MetadataResponse | Deferred[MetadataResponse]:
        """Answer a request; later, where it creates a topic."""
        wanted = request.topics
        if wanted and context.api_version < _FIRST_VERSION_BY_ID and not all(_has_name_only(t) for t in wanted):
            return _refusal(wanted, ErrorCode.INVALID_REQUEST)
        if wanted:
            # names beside ids are not looked at, as in Kafka
            wanted = [topic for topic in wanted if topic.topic_id != ZERO_UUID] or wanted
            if any(topic.name is None and topic.topic_id == ZERO_UUID for topic in wanted):
                return _refusal(wanted, ErrorCode.UNKNOWN_SERVER_ERROR)
            if self._auto_create and request.allow_auto_topic_creation:
                missing = self._missing(wanted)
                if missing:
                    return then(
                        self._create(context, missing), lambda errors: self._answer(context, request, wanted, errors)
                    )
        return self._answer(context, request, wanted, {})

    def _answer(
        self,
        context: RequestContext,
        request: MetadataRequest,
        wanted: Sequence[MetadataRequestTopic] | None,
        errors: dict[str, ErrorCode],
    ) -> MetadataResponse:
        """Answer from the newest image; `errors` says why topics could not be created."""
        operations = topic_operations(request.include_topic_authorized_operations)
        image = self._metadata.image
        alive = self._brokers.alive(context)
        state = self._failed.state
        if alive.keys() != self._built_for or state is not self._failed_state:
            self._built, self._built_for, self._failed_state = {}, frozenset(alive), state
        if wanted is None or (not wanted and context.api_version == 0):
            topics = [self._describe(topic, operations) for topic in image.topics_by_name.values()]
        else:
            topics = self._look_up(image, wanted, errors, operations)
        self._forget_deleted(image)
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=one.node_id, host=one.host, port=one.port, rack=one.rack)
                for one in alive.values()
            ],
            cluster_id=self._brokers.cluster_id,
            controller_id=self._brokers.controller_id(context),
            topics=topics,
            cluster_authorized_operations=cluster_operations(request.include_cluster_authorized_operations),
        )

    def _look_up(
        self,
        image: MetadataImage,
        wanted: Iterable[MetadataRequestTopic],
        errors: dict[str, ErrorCode],
        operations: int,
    ) -> list[MetadataResponseTopic]:
        topics = []
        asked = ((topic.topic_id, topic.name if topic.topic_id == ZERO_UUID else None) for topic in wanted)
        for topic_id, name in dict.fromkeys(asked):
            if topic_id != ZERO_UUID:
                found, missing = image.topic_by_id(topic_id), ErrorCode.UNKNOWN_TOPIC_ID
            else:
                assert name is not None  # or the request was refused
                found, missing = image.topic(name), errors.get(name) or _why_missing(name)
            if found:
                topics.append(self._describe(found, operations))
            else:
                # of an id that is unknown, Kafka cannot say what may be done with it
                known = topic_operations(False) if missing is ErrorCode.UNKNOWN_TOPIC_ID else operations
                topics.append(
                    MetadataResponseTopic(
                        error_code=missing, name=name, topic_id=topic_id, topic_authorized_operations=known
                    )
                )
        return topics

    def _missing(self, wanted: Iterable[MetadataRequestTopic]) -> list[NewTopic]:
        """Return the topics that are not there and may be created by being asked for."""
        image = self._metadata.image
        names = {topic.name: None for topic in wanted if topic.name is not None and topic.topic_id == ZERO_UUID}
        return [
            NewTopic(name)
            for name in names
            if image.topic(name) is None and name not in INTERNAL_TOPICS and check_name(name) is None
        ]

    def _create(
        self, context: RequestContext, missing: Sequence[NewTopic]
    ) -> dict[str, ErrorCode] | Deferred[dict[str, ErrorCode]]:
        """Create the topics; return the errors of those for which it failed, but for those that others create."""

        def errors(results: Sequence[object]) -> dict[str, ErrorCode]:
            return {
                topic.name: result.code
                for topic, result in zip(missing, results, strict=True)
                if isinstance(result, KafkaError) and result.code not in _NOT_TOLD
            }

        charge = free if self._quotas is None else self._quotas.mutations(context, is_strict=True).take

        try:
            return then(self._creation.create_topics(missing, charge=charge, client=context), errors)
        except KafkaError as error:
            return errors([error.detached()] * len(missing))

    def _describe(self, topic: TopicImage, operations: int) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=self._partitions(topic),
            topic_authorized_operations=operations,
        )

    def _partitions(self, topic: TopicImage) -> list[MetadataResponsePartition]:
        """Return the partitions of a topic as they stand in every answer; made once per change of the topic."""
        built = self._built.get(topic.topic_id)
        if built is None or built[0] is not topic:
            partitions = [self._partition(topic.name, index, image) for index, image in enumerate(topic.partitions)]
            built = self._built[topic.topic_id] = (topic, partitions)
        return built[1]

    def _partition(self, topic: str, index: int, partition: PartitionImage) -> MetadataResponsePartition:
        offline = offline_replicas(topic, index, partition, self._built_for, self._failed)
        led = partition.leader in self._built_for and partition.leader not in offline
        return MetadataResponsePartition(
            error_code=ErrorCode.NONE if led else ErrorCode.LEADER_NOT_AVAILABLE,
            partition_index=index,
            leader_id=partition.leader if led else NO_LEADER,
            leader_epoch=partition.leader_epoch,
            replica_nodes=list(partition.replicas),
            isr_nodes=list(partition.isr),
            offline_replicas=offline,
        )

    def _forget_deleted(self, image: MetadataImage) -> None:
        """Keep no more topics than there are, whatever the clients ask for."""
        if len(self._built) > len(image.topics_by_id):
            self._built = {key: built for key, built in self._built.items() if key in image.topics_by_id}


def _has_name_only(topic: MetadataRequestTopic) -> bool:
    return topic.name is not None and topic.topic_id == ZERO_UUID


def _why_missing(name: str) -> ErrorCode:
    return ErrorCode.INVALID_TOPIC_EXCEPTION if check_name(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refusal(wanted: Iterable[MetadataRequestTopic], code: ErrorCode) -> MetadataResponse:
    """Return Kafka's answer to a request that makes no sense: by topic id in a version that has ids in answers only, or
    by neither name nor id."""
    return MetadataResponse(
        error_code=code,
        topics=[
            MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id) for topic in wanted
        ],
    )
