"""The cluster's metadata at one moment: topics, configs, features, brokers, producer-id blocks.

Owns: the immutable values that handlers read, and look-ups in them. Must not know: records, files, requests. A newer
image shares with the older one whatever did not change, so holding on to an image is cheap and always consistent.
Fields follow Kafka's metadata records (KIP-500, KIP-631, KIP-858, KIP-966).
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar
from uuid import UUID

from odradek.broker.metadata.acls import NO_ACLS, AclImage
from odradek.broker.metadata.client_quotas import NO_QUOTAS, ClientQuotas
from odradek.broker.metadata.delegation_tokens import DelegationTokens
from odradek.broker.metadata.scram import ScramCredentials

NO_LEADER = -1
"""Leader of a partition that nobody leads at present."""
MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, LOST_DIRECTORY = UUID(int=0), UUID(int=1), UUID(int=2)
"""A replica of which a record of before log directories had ids (KIP-858) says nothing, one whose directory has not
been chosen yet, and one whose directory is lost."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics that Kafka marks as internal in its answers."""

K = TypeVar("K")
V = TypeVar("V")


def _nothing() -> Mapping[K, V]:
    return MappingProxyType({})


class ResourceType(IntEnum):
    """What a config belongs to, with Kafka's numbers."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """One thing that has configs; `type` is kept as a number since a log may hold types that we do not know."""

    type: int
    name: str


class RecoveryState(IntEnum):
    """Whether a leader was elected from the replicas in sync, or without them and has yet to recover (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class PartitionImage(NamedTuple):
    """One partition: who holds it, who leads it. Broker ids and, for directories, ids of log directories."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = RecoveryState.RECOVERED
    directories: tuple[UUID, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    def directory_of(self, replica: int) -> UUID:
        """Return the directory of one of the replicas; that of before directories had ids where none is recorded."""
        index = self.replicas.index(replica)
        return self.directories[index] if index < len(self.directories) else MIGRATING_DIRECTORY


class TopicImage(NamedTuple):
    """One topic; partition `i` stands at index `i`."""

    name: str
    topic_id: UUID
    partitions: tuple[PartitionImage, ...]

    @property
    def is_internal(self) -> bool:
        """Whether clients are told that the topic is Kafka's own."""
        return self.name in INTERNAL_TOPICS


class BrokerEndpoint(NamedTuple):
    """An address that a broker or controller registered."""

    name: str
    host: str
    port: int
    security_protocol: int


class BrokerImage(NamedTuple):
    """A broker as Kafka's controller registered it. The `epoch` is the offset of its registration."""

    broker_id: int
    epoch: int
    incarnation_id: UUID
    endpoints: tuple[BrokerEndpoint, ...]
    features: tuple[tuple[str, int, int], ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[UUID, ...]
    cordoned_log_dirs: tuple[UUID, ...] | None


class MetadataImage(NamedTuple):
    """Everything the cluster has agreed on up to (not including) `offset` of the metadata log."""

    topics_by_name: Mapping[str, TopicImage] = _nothing()
    topics_by_id: Mapping[UUID, TopicImage] = _nothing()
    configs: Mapping[ConfigResource, Mapping[str, str]] = _nothing()
    features: Mapping[str, int] = _nothing()
    brokers: Mapping[int, BrokerImage] = _nothing()
    acls: AclImage = NO_ACLS
    scram_credentials: ScramCredentials = _nothing()
    """What users of SCRAM prove themselves by, by user and mechanism."""
    client_quotas: ClientQuotas = NO_QUOTAS
    delegation_tokens: DelegationTokens = _nothing()
    kept: Mapping[tuple[object, ...], bytes] = _nothing()
    """Records that nothing here reads yet (tokens, controllers): what they are about -> the record."""
    next_producer_id: int = 0
    """First producer id that no block has been given of."""
    offset: int = 0
    epoch: int = 0
    """Raft epoch of the newest batch."""

    def topic(self, name: str) -> TopicImage | None:
        """Return the topic of that name, if there is one."""
        return self.topics_by_name.get(name)

    def topic_by_id(self, topic_id: UUID) -> TopicImage | None:
        """Return the topic of that id, if there is one."""
        return self.topics_by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        """Return a partition by topic name and index, if there is one."""
        found = self.topics_by_name.get(topic)
        if found is None or not 0 <= index < len(found.partitions):
            return None
        return found.partitions[index]

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return what was set for a resource; empty if nothing was. Brokers: `""` is the default for all of them."""
        return self.configs.get(ConfigResource(resource_type, name)) or {}

    def topic_config(self, name: str) -> Mapping[str, str]:
        """Return the configs that were set on a topic."""
        return self.config(ResourceType.TOPIC, name)

    def feature(self, name: str) -> int:
        """Return the finalized level of a feature, 0 if it is off."""
        return self.features.get(name, 0)


class PartitionName(NamedTuple):
    """A partition by topic (as it is after the change) and index."""

    topic: TopicImage
    partition: int


class ImageDelta(NamedTuple):
    """What is different between two images, for those who act on changes."""

    created_topics: tuple[TopicImage, ...] = ()
    deleted_topics: tuple[TopicImage, ...] = ()
    created_partitions: tuple[PartitionName, ...] = ()
    """Partitions added to topics that were there before."""
    changed_partitions: tuple[PartitionName, ...] = ()
    """Partitions that were there before, with another leader, epoch, ISR, replicas or directory."""
    changed_configs: frozenset[ConfigResource] = frozenset()
    """Resources whose configs differ; neither created nor deleted topics are among them."""

    def __bool__(self) -> bool:
        return bool(
            self.created_topics
            or self.deleted_topics
            or self.created_partitions
            or self.changed_partitions
            or self.changed_configs
        )
