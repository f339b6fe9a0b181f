"""Feature levels: what the cluster's brokers have agreed to write.

Owns: the features and levels that this version understands, those a new cluster begins with, and which record
versions a `metadata.version` allows. Must not know: images, files. Levels are Kafka's (KIP-584, `MetadataVersion`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

METADATA_VERSION: Final = "metadata.version"
ELIGIBLE_LEADER_REPLICAS: Final = "eligible.leader.replicas.version"
TRANSACTION_VERSION: Final = "transaction.version"
KRAFT_VERSION: Final = "kraft.version"
"""The one feature whose level stands in a control record of the log; that of a static quorum is 0."""

SUPPORTED: Mapping[str, int] = MappingProxyType(
    {
        METADATA_VERSION: 30,  # Kafka 4.3-IV0
        ELIGIBLE_LEADER_REPLICAS: 1,
        "group.version": 1,
        KRAFT_VERSION: 1,
        "share.version": 1,
        "streams.version": 1,
        TRANSACTION_VERSION: 2,
    }
)
"""Newest level of each feature that is understood here."""

NEW_CLUSTER: Mapping[str, int] = MappingProxyType(
    {
        METADATA_VERSION: 25,  # Kafka 4.0-IV3: every Kafka 4 opens the directory, an older one does not have our APIs
        ELIGIBLE_LEADER_REPLICAS: 1,
        "group.version": 1,
        TRANSACTION_VERSION: 2,
    }
)
"""Levels of a directory that starts here. Kafka 4.0 knows no share and streams groups, so those stay off."""

OLDEST: Mapping[str, int] = MappingProxyType(
    {
        METADATA_VERSION: 7,  # 3.3-IV3, the oldest that Kafka 4 reads
        ELIGIBLE_LEADER_REPLICAS: 0,
        "group.version": 0,
        KRAFT_VERSION: 0,
        TRANSACTION_VERSION: 0,
    }
)
"""Lowest level of each feature that clients are told of: those whose behaviour is here. Not share and streams groups,
whatever the metadata has."""

_DIRECTORY_ASSIGNMENT: Final = 17  # Kafka 3.7-IV2
_ELIGIBLE_LEADERS: Final = 23  # Kafka 4.0-IV1
CORDONED_DIRECTORIES: Final = 30
"""The metadata.version (4.3-IV0) from which on brokers tell which directories take no new replicas (KIP-1066)."""


def check_level(name: str, level: int) -> str | None:
    """Return why a finalized feature level cannot be served here, or None if it can."""
    newest = SUPPORTED.get(name, 0)
    if level <= newest:
        return None
    return (
        f"the metadata has feature {name} at level {level}, and this version of odradek knows it up to level {newest};"
        " a newer Kafka wrote the metadata: go on with that one, or set the level back with its kafka-features.sh first"
    )


def partition_record_version(features: Mapping[str, int]) -> int:
    """Return the version of Partition and PartitionChange records that the cluster's features allow.

    Those with eligible leaders depend on what brokers can read, not on whether the feature is in use.
    """
    if features.get(METADATA_VERSION, 0) >= _ELIGIBLE_LEADERS:
        return 2
    return 1 if records_directories(features) else 0


def records_directories(features: Mapping[str, int]) -> bool:
    """Return whether the metadata says in which directories replicas lie."""
    return features.get(METADATA_VERSION, 0) >= _DIRECTORY_ASSIGNMENT
