"""CreateTopics (0-7), DeleteTopics (0-6) and CreatePartitions (0-3).

Each topic of a request has a result of its own; what can be done is done in one change. Everything is done before the
answer, which waits for the disk and nothing else, so `timeout_ms` never matters; that of a deletion comes when the name
can be used again. Names that stand twice in a request are refused once, and nothing is done for them. Version notes:
CreateTopics answers with id (v7), counts and configs (v5); DeleteTopics v6 takes ids too, and refuses with
TOPIC_DELETION_DISABLED from v3, with a message from v5.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.topic_creation import Charge
from odradek.broker.controller.topics import MAX_PARTITIONS_PER_REQUEST, NewPartitions, NewTopic, PlannedTopic
from odradek.broker.metadata.image import MetadataImage, TopicImage
from odradek.broker.quotas.enforcement import NO_MUTATION_QUOTA, ClientQuotaEnforcement, MutationQuota
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, and_then, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from odradek.protocol.uuids import ZERO_UUID

_DUPLICATE_NAME = "Duplicate topic name."
_TOO_MANY = MAX_PARTITIONS_PER_REQUEST + 1
"""Assignments that are looked at: so many are refused, and what is more need not be read for it."""
_FIRST_VERSION_WITH_STATES = 6
_FIRST_VERSION_WITH_DISABLED = 3
_FIRST_STRICT_CREATION, _FIRST_STRICT_DELETION, _FIRST_STRICT_PARTITIONS = 6, 5, 3
"""Versions of CreateTopics, DeleteTopics and CreatePartitions that know THROTTLING_QUOTA_EXCEEDED."""

TopicConfigs = Callable[[PlannedTopic], list[CreatableTopicConfigs]]
"""Returns the configs in force for a new topic."""


class TopicHandlers:
    """Answers the requests that create, delete and extend topics."""

    def __init__(
        self,
        controller: Controller,
        deletion_enabled: bool,
        topic_configs: TopicConfigs,
        deletions_settled: Callable[[], Deferred[None] | None],
        quotas: ClientQuotaEnforcement | None = None,
    ) -> None:
        """`deletion_enabled` is delete.topic.enable; `deletions_settled` says when names of deleted topics are free;
        `quotas` say how many partitions a client may change (KIP-599), without them any number."""
        self._quotas = quotas
        self._deletions_settled = deletions_settled
        self._controller = controller
        self._deletion_enabled = deletion_enabled
        self._topic_configs = topic_configs

    def create_topics(
        self, context: RequestContext, request: CreateTopicsRequest
    ) -> CreateTopicsResponse | Deferred[CreateTopicsResponse]:
        """Answer CreateTopics."""
        counts = Counter(topic.name for topic in request.topics)
        response = CreateTopicsResponse(
            topics=[
                _creation_refused(name, KafkaError(ErrorCode.INVALID_REQUEST, _DUPLICATE_NAME))
                for name, count in counts.items()
                if count > 1
            ]
        )
        wishes = [_new_topic(topic) for topic in request.topics if counts[topic.name] == 1]
        quota = self._quota(context, _FIRST_STRICT_CREATION)

        def answer(results: Sequence[PlannedTopic | KafkaError]) -> CreateTopicsResponse:
            for wish, result in zip(wishes, results, strict=True):
                if isinstance(result, KafkaError):
                    response.topics.append(_creation_refused(wish.name, result))
                else:
                    response.topics.append(self._created(result))
            response.throttle_time_ms = quota.throttle_ms
            return response

        try:
            results = self._controller.create_topics(wishes, validate_only=request.validate_only, charge=quota.take)
        except KafkaError as error:
            return answer([error.detached()] * len(wishes))
        return then(results, answer)

    def _created(self, planned: PlannedTopic) -> CreatableTopicResult:
        return CreatableTopicResult(
            name=planned.name,
            topic_id=planned.topic_id,
            error_message=None,
            num_partitions=planned.num_partitions,
            replication_factor=planned.replication_factor,
            configs=self._topic_configs(planned),
        )

    def delete_topics(
        self, context: RequestContext, request: DeleteTopicsRequest
    ) -> DeleteTopicsResponse | Deferred[DeleteTopicsResponse]:
        """Answer DeleteTopics."""
        return self._controller.in_turn(lambda: self._delete_topics(context, request))

    def _delete_topics(
        self, context: RequestContext, request: DeleteTopicsRequest
    ) -> DeleteTopicsResponse | Deferred[DeleteTopicsResponse]:
        states = request.topics
        if context.api_version < _FIRST_VERSION_WITH_STATES:
            states = [DeleteTopicState(name=name) for name in request.topic_names]
        deletion = _Deletion(self._controller.proposed, states)
        if not self._deletion_enabled:
            known = context.api_version >= _FIRST_VERSION_WITH_DISABLED
            code = ErrorCode.TOPIC_DELETION_DISABLED if known else ErrorCode.INVALID_REQUEST
            deletion.refuse_all(KafkaError(code, "Topic deletion is disabled."))
        quota = self._quota(context, _FIRST_STRICT_DELETION)
        deletion.charge(quota.take)

        def settled(error: KafkaError | None) -> KafkaError | Deferred[KafkaError | None] | None:
            return then(self._deletions_settled(), lambda _: error)

        def answer(error: KafkaError | None) -> DeleteTopicsResponse:
            if error is not None:
                deletion.refuse_all(error)
            deleted = [DeletableTopicResult(name=one.name, topic_id=one.topic_id) for one in deletion.topics.values()]
            return DeleteTopicsResponse(throttle_time_ms=quota.throttle_ms, responses=deletion.refused + deleted)

        return then(and_then(self._controller.delete_topics(deletion.topics.values()), settled), answer)

    def create_partitions(
        self, context: RequestContext, request: CreatePartitionsRequest
    ) -> CreatePartitionsResponse | Deferred[CreatePartitionsResponse]:
        """Answer CreatePartitions."""
        counts = Counter(topic.name for topic in request.topics)
        response = CreatePartitionsResponse(
            results=[
                CreatePartitionsTopicResult(
                    name=name, error_code=ErrorCode.INVALID_REQUEST, error_message=_DUPLICATE_NAME
                )
                for name, count in counts.items()
                if count > 1
            ]
        )
        wishes = [_new_partitions(topic) for topic in request.topics if counts[topic.name] == 1]
        quota = self._quota(context, _FIRST_STRICT_PARTITIONS)

        def answer(refusals: Sequence[KafkaError | None]) -> CreatePartitionsResponse:
            for wish, refusal in zip(wishes, refusals, strict=True):
                response.results.append(
                    CreatePartitionsTopicResult(
                        name=wish.name,
                        error_code=refusal.code if refusal else ErrorCode.NONE,
                        error_message=(refusal.message or None) if refusal else None,
                    )
                )
            response.throttle_time_ms = quota.throttle_ms
            return response

        refusals = self._controller.create_partitions(wishes, validate_only=request.validate_only, charge=quota.take)
        return then(refusals, answer)

    def _quota(self, context: RequestContext, first_strict: int) -> MutationQuota:
        """Return what a request may change; from a version on what is too much is refused."""
        if self._quotas is None:
            return NO_MUTATION_QUOTA
        return self._quotas.mutations(context, is_strict=context.api_version >= first_strict)


class _Deletion:
    """Which topics a request names, and why others of its entries are refused."""

    def __init__(self, image: MetadataImage, states: Iterable[DeleteTopicState]) -> None:
        self.topics: dict[UUID, TopicImage] = {}
        self.refused: list[DeletableTopicResult] = []
        names: Counter[str] = Counter()
        ids: Counter[UUID] = Counter()
        for state in states:
            if state.name is not None and state.topic_id != ZERO_UUID:
                self._refuse(state.name, state.topic_id, "You may not specify both topic name and topic id.")
            elif state.name is not None:
                names[state.name] += 1
            elif state.topic_id != ZERO_UUID:
                ids[state.topic_id] += 1
            else:
                self._refuse(None, ZERO_UUID, "Neither topic name nor id were specified.")
        self._take_ids(image, ids)
        self._take_names(image, names, ids)

    def charge(self, charge: Charge) -> None:
        """Refuse those for whose partitions nothing is left."""
        for topic_id, topic in list(self.topics.items()):
            try:
                charge(len(topic.partitions))
            except KafkaError as error:
                del self.topics[topic_id]
                self._refuse(topic.name, topic_id, error.message, error.code)

    def refuse_all(self, error: KafkaError) -> None:
        """Give every topic that would have been deleted this error."""
        for topic in self.topics.values():
            self._refuse(topic.name, topic.topic_id, error.message, error.code)
        self.topics = {}

    def _take_ids(self, image: MetadataImage, ids: Counter[UUID]) -> None:
        for topic_id, count in ids.items():
            topic = image.topic_by_id(topic_id)
            if count > 1:
                self._refuse(None, topic_id, "Duplicate topic id.")
            elif topic is None:
                message = "This server does not host this topic ID."
                self._refuse(None, topic_id, message, ErrorCode.UNKNOWN_TOPIC_ID)
            else:
                self.topics[topic_id] = topic

    def _take_names(self, image: MetadataImage, names: Counter[str], ids: Counter[UUID]) -> None:
        for name, count in names.items():
            topic = image.topic(name)
            if count > 1:
                self._refuse(name, ZERO_UUID, _DUPLICATE_NAME)
            elif topic is None:
                message = "This server does not host this topic-partition."
                self._refuse(name, ZERO_UUID, message, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif topic.topic_id in ids:
                self.topics.pop(topic.topic_id, None)
                message = "The provided topic name maps to an ID that was already supplied."
                self._refuse(name, topic.topic_id, message)
            else:
                self.topics[topic.topic_id] = topic

    def _refuse(
        self, name: str | None, topic_id: UUID, message: str, code: ErrorCode = ErrorCode.INVALID_REQUEST
    ) -> None:
        self.refused.append(DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message))


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=tuple((one.partition_index, tuple(one.broker_ids)) for one in topic.assignments[:_TOO_MANY]),
        configs={config.name: config.value for config in topic.configs},
    )


def _new_partitions(topic: CreatePartitionsTopic) -> NewPartitions:
    assignments = None
    if topic.assignments is not None:
        assignments = tuple(tuple(assignment.broker_ids) for assignment in topic.assignments[:_TOO_MANY])
    return NewPartitions(topic.name, topic.count, assignments)


def _creation_refused(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message or None, configs=[])
