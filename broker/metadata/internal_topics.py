"""Kafka's own topics as Kafka makes them: how many partitions, and with which configs.

Pure. Follows `AutoTopicCreationManager` and the settings `offsets.topic.*` and `transaction.state.log.*`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.config.settings import BrokerSettings

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"


class InternalTopic(NamedTuple):
    """What an internal topic is made with."""

    partitions: int
    configs: Mapping[str, str]


def internal_topics(settings: BrokerSettings, replicas: int = 1) -> Mapping[str, InternalTopic]:
    """Return the internal topics that Apache Kafka of any version has, as these settings want them with so many
    replicas: more of them in sync than there are would make a topic that nobody can write to."""
    return {
        OFFSETS_TOPIC: InternalTopic(
            settings.offsets_topic_num_partitions,
            {
                "compression.type": "producer",
                "cleanup.policy": "compact",
                "segment.bytes": str(settings.offsets_topic_segment_bytes),
            },
        ),
        TRANSACTIONS_TOPIC: InternalTopic(
            settings.transaction_state_log_num_partitions,
            {
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "segment.bytes": str(settings.transaction_state_log_segment_bytes),
                "min.insync.replicas": str(min(settings.transaction_state_log_min_isr, replicas)),
                "unclean.leader.election.enable": "false",
            },
        ),
    }
