"""The topic `__consumer_offsets`: made when it is first needed, with the configs that Kafka gives it.

Must not know: what is in it.
"""

from __future__ import annotations

from odradek.broker.metadata.controller import Controller
from odradek.broker.metadata.internal_topics import OFFSETS_TOPIC, internal_topics
from odradek.broker.metadata.topics import NewTopic
from odradek.broker.partitions.table import PartitionTable, TopicPartitions
from odradek.broker.runtime.logging import get_logger
from odradek.config.settings import BrokerSettings
from odradek.protocol.errors import ErrorCode, KafkaError

log = get_logger("groups")


class OffsetsTopic:
    """See the module."""

    def __init__(self, controller: Controller, partitions: PartitionTable, settings: BrokerSettings) -> None:
        self._controller = controller
        self._partitions = partitions
        self._settings = settings

    def find(self) -> TopicPartitions | None:
        """Return the topic, None if there is none yet."""
        return self._partitions.find(OFFSETS_TOPIC)

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
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC} cannot be created")
        return found

    def _create(self) -> None:
        made = internal_topics(self._settings)[OFFSETS_TOPIC]
        replicas = min(self._settings.offsets_topic_replication_factor, 1)  # there is one broker to hold them
        wanted = NewTopic(OFFSETS_TOPIC, made.partitions, replicas, configs=made.configs)
        try:
            (result,) = self._controller.create_topics([wanted])
        except KafkaError as failed:
            result = failed
        if isinstance(result, KafkaError):
            log.error("the topic of committed offsets cannot be created", topic=OFFSETS_TOPIC, reason=str(result))
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(result))
