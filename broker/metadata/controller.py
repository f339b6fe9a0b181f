"""Changing the cluster: every request that alters metadata ends here.

Owns: turning wishes into proposals, several wishes of one request into one proposal, and an answer for each of them.
Must not know: wire versions, files. There is one writer, on one thread: what was planned on the newest image is
proposed before anybody else can change it.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.configs import Alteration, plan_alteration
from odradek.broker.metadata.image import ConfigResource, MetadataImage, ResourceType, TopicImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.source import MetadataSource
from odradek.broker.metadata.topics import (
    NewPartitions,
    NewTopic,
    PlacementRules,
    PlannedTopic,
    TopicPlanner,
    check_total,
    plan_deletion,
    plan_partitions,
)
from odradek.config.errors import UnknownOperationError
from odradek.protocol.errors import ErrorCode, KafkaError

_CONTROLLERS = frozenset({ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS})
"""Kinds of resources of which Kafka leaves all but the form of a change to its controller."""


class Controller:
    """Creates, deletes and extends topics; changes configs."""

    def __init__(self, source: MetadataSource, rules: PlacementRules, configs: BrokerConfigs) -> None:
        self._source = source
        self._rules = rules
        self._configs = configs

    @property
    def image(self) -> MetadataImage:
        """The newest image."""
        return self._source.image

    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[PlannedTopic | KafkaError]:
        """Create the topics that can be created, all in one change; return what became of each, in order.

        Names must not repeat. Raises KafkaError if the request as a whole is refused or cannot be stored.
        """
        check_total(topics, self._rules)
        image = self._source.image
        planner = TopicPlanner(image, self._rules, self._configs.layers.effective)
        results = [_attempt(planner, topic) for topic in topics]
        if not validate_only:
            planned = (result for result in results if isinstance(result, PlannedTopic))
            self._propose(image, (record for topic in planned for record in topic.records))
        return results

    def delete_topics(self, topics: Iterable[TopicImage]) -> None:
        """Delete topics of the newest image, all in one change; raise KafkaError if it cannot be stored."""
        self._propose(self._source.image, (plan_deletion(topic) for topic in topics))

    def create_partitions(
        self, wishes: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> list[KafkaError | None]:
        """Add partitions to the topics where it can be done, all in one change; return the error of each, in order.

        Names must not repeat. Raises KafkaError if the change cannot be stored.
        """
        image = self._source.image
        records, results = _plan_all([partial(plan_partitions, image, wish, self._rules) for wish in wishes])
        if not validate_only:
            self._propose(image, records)
        return results

    def alter_configs(
        self, wishes: Sequence[tuple[ConfigResource, Alteration]], *, validate_only: bool = False
    ) -> list[KafkaError | None]:
        """Change configs where it can be done, all in one change; return the error of each, in order.

        Resources must not repeat. An operation that there is not ends the request, as in Kafka: nothing is changed,
        and every resource has that error but those that Kafka's broker refuses before its controller is asked. Raises
        KafkaError if the change cannot be stored.
        """
        image, layers, node_id = self._source.image, self._configs.layers, self._configs.node_id
        unknown: KafkaError | None = None

        def plan(resource: ConfigResource, alteration: Alteration) -> list[MetadataRecord]:
            nonlocal unknown
            try:
                return plan_alteration(image, resource, alteration, node_id, layers)
            except UnknownOperationError as error:
                unknown = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
                raise unknown from error

        plans = [partial(plan, resource, alteration) for resource, alteration in wishes]
        records, results = _plan_all(plans)
        if unknown is not None:
            return [
                result if result is not None and resource.type not in _CONTROLLERS else unknown
                for (resource, _), result in zip(wishes, results, strict=True)
            ]
        if not validate_only:
            self._propose(image, records)
        return results

    def _propose(self, image: MetadataImage, records: Iterable[MetadataRecord]) -> None:
        batch = list(records)
        if batch:
            self._source.propose(batch, image)


def _attempt(planner: TopicPlanner, topic: NewTopic) -> PlannedTopic | KafkaError:
    try:
        return planner.plan(topic)
    except KafkaError as error:
        return error


def _plan_all(
    plans: Iterable[Callable[[], list[MetadataRecord]]],
) -> tuple[list[MetadataRecord], list[KafkaError | None]]:
    """Return the records of the plans that can be carried out, and the error of each plan, in order."""
    records: list[MetadataRecord] = []
    results: list[KafkaError | None] = []
    for plan in plans:
        try:
            records += plan()
            results.append(None)
        except KafkaError as error:
            results.append(error)
    return records, results
