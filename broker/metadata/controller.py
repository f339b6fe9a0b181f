"""Changing the cluster: every request that alters metadata ends here.

Owns: turning wishes into proposals, several wishes of one request into one proposal, and an answer for each of them.
Must not know: wire versions, files. There is one writer, on one thread: what was planned on the newest image is
proposed before anybody else can change it.
"""

from collections.abc import Iterable, Mapping, Sequence

from broker.metadata.image import MetadataImage, TopicImage
from broker.metadata.records import MetadataRecord
from broker.metadata.source import MetadataSource
from broker.metadata.topic_names import names_by_metric
from broker.metadata.topics import (
    NewPartitions,
    NewTopic,
    PlacementRules,
    PlannedTopic,
    check_total,
    plan_deletion,
    plan_partitions,
    plan_topic,
)
from protocol.errors import KafkaError


class Controller:
    """Creates, deletes and extends topics; changes configs."""

    def __init__(self, source: MetadataSource, rules: PlacementRules) -> None:
        self._source = source
        self._rules = rules

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
        taken = names_by_metric(image.topics_by_name)
        results = [_attempt(image, topic, self._rules, taken) for topic in topics]
        if not validate_only:
            self._propose(
                image, (r for planned in results if isinstance(planned, PlannedTopic) for r in planned.records)
            )
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
        records: list[MetadataRecord] = []
        results: list[KafkaError | None] = []
        for wish in wishes:
            try:
                records += plan_partitions(image, wish, self._rules)
                results.append(None)
            except KafkaError as error:
                results.append(error)
        if not validate_only:
            self._propose(image, records)
        return results

    def _propose(self, image: MetadataImage, records: Iterable[MetadataRecord]) -> None:
        batch = list(records)
        if batch:
            self._source.propose(batch, image)


def _attempt(
    image: MetadataImage, topic: NewTopic, rules: PlacementRules, taken: Mapping[str, str]
) -> PlannedTopic | KafkaError:
    try:
        return plan_topic(image, topic, rules, taken)
    except KafkaError as error:
        return error
