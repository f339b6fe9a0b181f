"""The internal topic of a coordinator: made when it is first needed, with the configs that Kafka gives it.

Must not know: what is in it.
"""

from __future__ import annotations

from odradek.broker.metadata.controller import Controller
from odradek.broker.metadata.internal_topics import internal_topics
from odradek.broker.metadata.topics import NewTopic
from odradek.broker.partitions.table import PartitionTable, TopicPartitions
from odradek.broker.runtime.logging import get_logger
from odradek.config.settings import BrokerSettings
from odradek.protocol.errors import ErrorCode, KafkaError

log = get_logger("coordinator")


class CoordinatorTopic:
    """See the module."""

    def __init__(
        self,
        name: str,
        replication_factor: int,
        controller: Controller,
        partitions: PartitionTable,
        settings: BrokerSettings,
    ) -> None:
        """`name` is that of one of `metadata.internal_topics`; `replication_factor` is what its config wants."""
        self.name = name
        self._replicas = min(replication_factor, 1)  # there is one broker to hold them
        self._controller = controller
        self._partitions = partitions
        self._settings = settings

    def find(self) -> TopicPartitions | None:
        """Return the topic, None if there is none yet."""
        return self._partitions.find(self.name)

    def find_or_create(self) -> TopicPartitions:
        """Return the topic.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE where it cannot be made.
        """
        found = self.find()
        if found is None:
            self._create()
            found = self.find()
        if found is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{self.name} cannot be created")
        return found

    def _create(self) -> None:
        made = internal_topics(self._settings)[self.name]
        wanted = NewTopic(self.name, made.partitions, self._replicas, configs=made.configs)
        try:
            (result,) = self._controller.create_topics([wanted])
        except KafkaError as failed:
            result = failed
        if isinstance(result, KafkaError):
            log.error("an internal topic cannot be created", topic=self.name, reason=str(result))
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(result))
