"""The internal topic of a coordinator: made when it is first needed, with the configs that Kafka gives it.

Must not know: what is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from odradek.broker.controller.topic_creation import TopicCreation
from odradek.broker.controller.topics import NewTopic
from odradek.broker.metadata.internal_topics import internal_topics
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.partitions.topic_partitions import TopicPartitions
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.runtime.logging import get_logger
from odradek.config.settings import BrokerSettings
from odradek.protocol.errors import ErrorCode, KafkaError

log = get_logger("coordinator")


class CoordinatorTopic:
    """The internal topic of a kind of coordinator: found in the metadata, made when it is first needed."""

    def __init__(
        self,
        name: str,
        replication_factor: int,
        controller: TopicCreation,
        partitions: PartitionTable,
        settings: BrokerSettings,
    ) -> None:
        """`name` is that of one of `metadata.internal_topics`; `replication_factor` is how many replicas it gets."""
        self.name = name
        self._replicas = replication_factor
        self._controller = controller
        self._partitions = partitions
        self._settings = settings

    def find(self) -> TopicPartitions | None:
        """Return the topic, None if there is none yet."""
        return self._partitions.find(self.name)

    def find_or_create(self) -> TopicPartitions | KafkaError | Deferred[TopicPartitions | KafkaError]:
        """Return the topic, or the error COORDINATOR_NOT_AVAILABLE where it cannot be made."""
        found = self.find()
        if found is not None:
            return found
        made = internal_topics(self._settings, self._replicas)[self.name]
        wanted = NewTopic(self.name, made.partitions, self._replicas, configs=made.configs)
        try:
            return then(self._controller.create_topics([wanted]), self._created)
        except KafkaError as failed:
            return self._created([failed])

    def _created(self, results: Sequence[object]) -> TopicPartitions | KafkaError:
        """Return the topic, whoever has made it."""
        found = self.find()
        if found is not None:
            return found
        failed = results[0]
        if not isinstance(failed, KafkaError):
            return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "its topic has just been created")
        reason = str(failed)
        log.error("an internal topic cannot be created", topic=self.name, reason=reason)
        return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
