"""The records of the cluster metadata log `__cluster_metadata` and its snapshots (KIP-500, KIP-631).

The api key is the record's type number in the frame that precedes it. Every type is flexible in all its versions.
Types that this broker has no use for are declared too, so that a log which Apache Kafka wrote can be read and kept.
"""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import (
    Message,
    Struct,
    array,
    binary,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class BrokerEndpoint(Struct):
    """Where a listener of the broker can be reached."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class BrokerFeature(Struct):
    """The levels of a feature that the broker can run."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterBrokerRecord(Message, api_key=0, versions="0-4", flexible="0+"):
    """A broker has registered: its endpoints, features and log directories."""

    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean("2+")
    incarnation_id: UUID = uuid()
    broker_epoch: int = int64()
    end_points: list[BrokerEndpoint] = array(BrokerEndpoint)
    features: list[BrokerFeature] = array(BrokerFeature)
    rack: str | None = string(nullable="0+")
    fenced: bool = boolean(default=True)
    in_controlled_shutdown: bool = boolean("1+")
    log_dirs: list[UUID] = array(uuid, "3+", tag=0)
    cordoned_log_dirs: list[UUID] | None = array(uuid, "4+", nullable="4+", default=None, tag=1)


class UnregisterBrokerRecord(Message, api_key=1, versions="0", flexible="0+"):
    """A broker is gone for good."""

    broker_id: int = int32()
    broker_epoch: int = int64()


class TopicRecord(Message, api_key=2, versions="0", flexible="0+"):
    """A topic exists."""

    name: str = string()
    topic_id: UUID = uuid()


class PartitionRecord(Message, api_key=3, versions="0-2", flexible="0+"):
    """A partition exists, with this whole state."""

    partition_id: int = int32(default=-1)
    topic_id: UUID = uuid()
    replicas: list[int] = array(int32)
    isr: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    leader: int = int32(default=-1)
    leader_recovery_state: int = int8(tag=0)
    leader_epoch: int = int32(default=-1)
    partition_epoch: int = int32(default=-1)
    directories: list[UUID] = array(uuid, "1+")
    eligible_leader_replicas: list[int] | None = array(int32, "2+", nullable="2+", default=None, tag=1)
    last_known_elr: list[int] | None = array(int32, "2+", nullable="2+", default=None, tag=2)


class ConfigRecord(Message, api_key=4, versions="0", flexible="0+"):
    """A config of a resource is set, or with null removed."""

    resource_type: int = int8()
    """2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group."""
    resource_name: str = string()
    name: str = string()
    value: str | None = string(nullable="0+")


class PartitionChangeRecord(Message, api_key=5, versions="0-2", flexible="0+"):
    """A partition has changed: the fields that are given replace the old ones."""

    partition_id: int = int32(default=-1)
    topic_id: UUID = uuid()
    isr: list[int] | None = array(int32, nullable="0+", default=None, tag=0)
    leader: int = int32(default=-2, tag=1)
    """-1: no leader; -2: unchanged."""
    replicas: list[int] | None = array(int32, nullable="0+", default=None, tag=2)
    removing_replicas: list[int] | None = array(int32, nullable="0+", default=None, tag=3)
    adding_replicas: list[int] | None = array(int32, nullable="0+", default=None, tag=4)
    leader_recovery_state: int = int8(default=-1, tag=5)
    directories: list[UUID] | None = array(uuid, "1+", nullable="1+", default=None, tag=8)
    eligible_leader_replicas: list[int] | None = array(int32, "2+", nullable="2+", default=None, tag=6)
    last_known_elr: list[int] | None = array(int32, "2+", nullable="2+", default=None, tag=7)


class FenceBrokerRecord(Message, api_key=7, versions="0", flexible="0+"):
    """A broker is fenced: it leads nothing. Superseded by BrokerRegistrationChangeRecord."""

    id: int = int32()
    epoch: int = int64()


class UnfenceBrokerRecord(Message, api_key=8, versions="0", flexible="0+"):
    """A broker is no longer fenced. Superseded by BrokerRegistrationChangeRecord."""

    id: int = int32()
    epoch: int = int64()


class RemoveTopicRecord(Message, api_key=9, versions="0", flexible="0+"):
    """A topic is gone."""

    topic_id: UUID = uuid()


class DelegationTokenRecord(Message, api_key=10, versions="0", flexible="0+"):
    """A delegation token was issued or renewed."""

    owner: str = string()
    requester: str = string()
    renewers: list[str] = array(string)
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    expiration_timestamp: int = int64()
    token_id: str = string()


class UserScramCredentialRecord(Message, api_key=11, versions="0", flexible="0+"):
    """A user's SCRAM credential is set."""

    name: str = string()
    mechanism: int = int8()
    salt: bytes = binary()
    stored_key: bytes = binary()
    server_key: bytes = binary()
    iterations: int = int32()


class FeatureLevelRecord(Message, api_key=12, versions="0", flexible="0+"):
    """The cluster runs a feature at this level; 0 ends it."""

    name: str = string()
    feature_level: int = int16()


class EntityData(Struct):
    """A part of whom the quota is for; a null name is the default of its type."""

    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


class ClientQuotaRecord(Message, api_key=14, versions="0", flexible="0+"):
    """A quota is set or removed."""

    entity: list[EntityData] = array(EntityData)
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class ProducerIdsRecord(Message, api_key=15, versions="0", flexible="0+"):
    """A block of producer ids was given to a broker; the next block begins here."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    next_producer_id: int = int64()


class BrokerRegistrationChangeRecord(Message, api_key=17, versions="0-3", flexible="0+"):
    """A broker's state has changed."""

    broker_id: int = int32()
    broker_epoch: int = int64()
    fenced: int = int8(tag=0)
    """-1 unfenced, 0 unchanged, 1 fenced."""
    in_controlled_shutdown: int = int8("1+", tag=1)
    """0 unchanged, 1 in controlled shutdown."""
    log_dirs: list[UUID] = array(uuid, "2+", tag=2)
    cordoned_log_dirs: list[UUID] | None = array(uuid, "3+", nullable="3+", default=None, tag=3)


class AccessControlEntryRecord(Message, api_key=18, versions="0", flexible="0+"):
    """An ACL was added."""

    id: UUID = uuid()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8()
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class RemoveAccessControlEntryRecord(Message, api_key=19, versions="0", flexible="0+"):
    """An ACL was removed."""

    id: UUID = uuid()


class NoOpRecord(Message, api_key=20, versions="0", flexible="0+"):
    """Nothing; keeps the log moving."""


class ZkMigrationStateRecord(Message, api_key=21, versions="0", flexible="0+"):
    """Where the migration from ZooKeeper stands."""

    zk_migration_state: int = int8()


class RemoveUserScramCredentialRecord(Message, api_key=22, versions="0", flexible="0+"):
    """A user's SCRAM credential is gone."""

    name: str = string()
    mechanism: int = int8()


class BeginTransactionRecord(Message, api_key=23, versions="0", flexible="0+"):
    """The records up to the end or the abort count together (KIP-868)."""

    name: str | None = string(nullable="0+", default=None, tag=0)


class EndTransactionRecord(Message, api_key=24, versions="0", flexible="0+"):
    """The records since the beginning of the transaction take effect."""


class AbortTransactionRecord(Message, api_key=25, versions="0", flexible="0+"):
    """The records since the beginning of the transaction never happened."""

    reason: str | None = string(nullable="0+", default=None, tag=0)


class RemoveDelegationTokenRecord(Message, api_key=26, versions="0", flexible="0+"):
    """A delegation token is gone."""

    token_id: str = string()


class ControllerEndpoint(Struct):
    """Where a listener of the controller can be reached."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class ControllerFeature(Struct):
    """The levels of a feature that the controller can run."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterControllerRecord(Message, api_key=27, versions="0", flexible="0+"):
    """A controller has registered."""

    controller_id: int = int32()
    incarnation_id: UUID = uuid()
    zk_migration_ready: bool = boolean()
    end_points: list[ControllerEndpoint] = array(ControllerEndpoint)
    features: list[ControllerFeature] = array(ControllerFeature)


class ClearElrRecord(Message, api_key=28, versions="0", flexible="0+"):
    """The eligible leader replicas of a topic (no name: of all topics) are forgotten (KIP-966)."""

    topic_name: str = string()
