"""Kafka's own topics as Kafka makes them: how many partitions, and with which configs.

Pure. Follows `AutoTopicCreationManager` and the settings `offsets.topic.*` and `transaction.state.log.*`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.config.definitions import broker_definitions
from odradek.config.settings import BrokerSettings

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"


class InternalTopic(NamedTuple):
    """What an internal topic is made with."""

    partitions: int
    configs: Mapping[str, str]


def internal_topics(settings: BrokerSettings) -> Mapping[str, InternalTopic]:
    """Return the internal topics that Apache Kafka of any version has, as these settings want them."""
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
            _integer(settings, "transaction.state.log.num.partitions"),
            {
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "segment.bytes": str(_integer(settings, "transaction.state.log.segment.bytes")),
                "min.insync.replicas": "1",  # there is one broker to hold them
                "unclean.leader.election.enable": "false",
            },
        ),
    }


def _integer(settings: BrokerSettings, key: str) -> int:
    definition = broker_definitions()[key]
    value = definition.parse(settings.values.get(key, definition.default or ""))
    assert isinstance(value, int)
    return value
