"""Changing the cluster: every request that alters metadata ends here.

Owns: turning wishes into proposals, several wishes of one request into one proposal, and an answer for each of them.
Must not know: wire versions, files. A wish is planned on all that was proposed before it, durable or not, and answered
when it is durable, after all before it; also where nothing is to be changed, since what was planned on may fail yet. So
does Kafka's `QuorumController`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.configs import Alteration, plan_alteration
from odradek.broker.metadata.image import ConfigResource, MetadataImage, ResourceType, TopicImage
from odradek.broker.metadata.records import MetadataRecord
from odradek.broker.metadata.source import MetadataSource, Stored
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
from odradek.broker.runtime.deferred import Deferred, then
from odradek.config.errors import UnknownOperationError
from odradek.protocol.errors import ErrorCode, KafkaError

_CONTROLLERS = frozenset({ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS})
"""Kinds of resources of which Kafka leaves all but the form of a change to its controller."""

R = TypeVar("R")
Refusals = list[KafkaError | None]
"""Why each of several wishes was refused, None where it was done."""


class Controller:
    """Creates, deletes and extends topics; changes configs.

    What comes later is resolved once the change is durable and all of the broker follows it. A change that cannot be
    stored is an error for every wish of the request.
    """

    def __init__(self, source: MetadataSource, rules: PlacementRules, configs: BrokerConfigs) -> None:
        self._source = source
        self._rules = rules
        self._configs = configs

    @property
    def image(self) -> MetadataImage:
        """The newest image that is durable."""
        return self._source.image

    @property
    def proposed(self) -> MetadataImage:
        """The image after all changes that are under way: what a request names is looked up in it."""
        return self._source.proposed

    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[PlannedTopic | KafkaError] | Deferred[list[PlannedTopic | KafkaError]]:
        """Create the topics that can be created, all in one change; return what became of each, in order.

        Names must not repeat. Raises KafkaError if the request as a whole is refused.
        """
        check_total(topics, self._rules)
        image = self._source.proposed
        planner = TopicPlanner(image, self._rules, self._configs.layers_with(image).effective)
        results = [_attempt(planner, topic) for topic in topics]
        records = [record for topic in results if isinstance(topic, PlannedTopic) for record in topic.records]
        return self._propose(image, [] if validate_only else records, results)

    def delete_topics(self, topics: Iterable[TopicImage]) -> KafkaError | Deferred[KafkaError | None] | None:
        """Delete topics of the image `proposed`, all in one change; return why it could not be stored."""
        image = self._source.proposed
        stored = self._source.propose([plan_deletion(topic) for topic in topics], image)
        return then(stored, lambda outcome: outcome if isinstance(outcome, KafkaError) else None)

    def create_partitions(
        self, wishes: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> Refusals | Deferred[Refusals]:
        """Add partitions to the topics where it can be done, all in one change; return the error of each, in order.

        Names must not repeat.
        """
        image = self._source.proposed
        records, results = _plan_all([partial(plan_partitions, image, wish, self._rules) for wish in wishes])
        return self._propose(image, [] if validate_only else records, results)

    def alter_configs(
        self, wishes: Sequence[tuple[ConfigResource, Alteration]], *, validate_only: bool = False
    ) -> Refusals | Deferred[Refusals]:
        """Change configs where it can be done, all in one change; return the error of each, in order.

        Resources must not repeat. An operation that there is not ends the request, as in Kafka: nothing is changed,
        and every resource has that error but those that Kafka's broker refuses before its controller is asked.
        """
        image, node_id = self._source.proposed, self._configs.node_id
        layers = self._configs.layers_with(image)
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
            records = []
            results = [
                result if result is not None and resource.type not in _CONTROLLERS else unknown
                for (resource, _), result in zip(wishes, results, strict=True)
            ]
        return self._propose(image, [] if validate_only else records, results)

    def _propose(
        self, image: MetadataImage, records: Sequence[MetadataRecord], results: list[R | KafkaError]
    ) -> list[R | KafkaError] | Deferred[list[R | KafkaError]]:
        """Propose the records; return the results, or the error for all of them."""

        def outcome(stored: Stored) -> list[R | KafkaError]:
            return [stored] * len(results) if isinstance(stored, KafkaError) else results

        stored = self._source.propose(records, image)
        return stored.then(outcome) if isinstance(stored, Deferred) else outcome(stored)


def _attempt(planner: TopicPlanner, topic: NewTopic) -> PlannedTopic | KafkaError:
    try:
        return planner.plan(topic)
    except KafkaError as error:
        return error


def _plan_all(
    plans: Iterable[Callable[[], list[MetadataRecord]]],
) -> tuple[list[MetadataRecord], Refusals]:
    """Return the records of the plans that can be carried out, and the error of each plan, in order."""
    records: list[MetadataRecord] = []
    results: Refusals = []
    for plan in plans:
        try:
            records += plan()
            results.append(None)
        except KafkaError as error:
            results.append(error)
    return records, results
