"""The cluster as its controller sees it when it decides: which brokers may lead and hold what, and the rules of topics.

Pure: made of one image, given away after the decision. Must not know: requests, records. Rules follow Kafka's
`ClusterControlManager` and KIP-858 (directories), KIP-966 (eligible leader replicas), KIP-1066 (cordoned directories).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.controller.placement import UsableBroker
from odradek.broker.metadata.features import ELIGIBLE_LEADER_REPLICAS, partition_record_version
from odradek.broker.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.uuids import ZERO_UUID

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION: Final = "unclean.leader.election.enable"

BrokersOf = Callable[[MetadataImage], Mapping[int, BrokerImage]]
"""Returns the brokers of an image: those that registered, or on a single node this one, which does not register."""


def registered_brokers(image: MetadataImage) -> Mapping[int, BrokerImage]:
    """Return the brokers of a cluster whose brokers all register (`BrokersOf`)."""
    return image.brokers


def single_broker(node_id: int, rack: str | None = None, log_dirs: Sequence[UUID] = ()) -> BrokersOf:
    """Return the one broker of a single node, which does not register itself and is active as long as it runs.

    What another broker left behind in its metadata takes no part.
    """
    broker = BrokerImage(
        broker_id=node_id,
        epoch=-1,
        incarnation_id=ZERO_UUID,
        endpoints=(),
        features=(),
        rack=rack,
        fenced=False,
        in_controlled_shutdown=False,
        log_dirs=tuple(log_dirs),
        cordoned_log_dirs=None,
    )
    only = {node_id: broker}
    return lambda _image: only


class PartitionPlace(NamedTuple):
    """A partition, and where in the image it stands."""

    topic: TopicImage
    number: int
    partition: PartitionImage


class ControllerView:
    """What decisions about partitions and brokers are based on."""

    def __init__(
        self, image: MetadataImage, brokers: Mapping[int, BrokerImage], configs: Callable[[], Mapping[str, str]]
    ) -> None:
        self.image = image
        self.brokers = brokers
        self.record_version = partition_record_version(image.features)
        """Of Partition and PartitionChange records."""
        self.has_elr = image.feature(ELIGIBLE_LEADER_REPLICAS) > 0
        self._find_configs = configs

    @cached_property
    def configs(self) -> Mapping[str, str]:
        """Values of the broker's configuration that topics fall back to."""
        return self._find_configs()

    def is_active(self, broker_id: int) -> bool:
        """Whether a broker is registered, not fenced, and not about to stop."""
        broker = self.brokers.get(broker_id)
        return broker is not None and not broker.fenced and not broker.in_controlled_shutdown

    def may_lead(self, partition: PartitionImage, broker_id: int) -> bool:
        """Whether a broker is active, and its directory with the replica works."""
        return self.is_active(broker_id) and self.has_online_replica(partition, broker_id)

    def has_online_replica(self, partition: PartitionImage, broker_id: int) -> bool:
        """Whether the directory with a broker's replica works; where none is known yet, it will."""
        broker = self.brokers.get(broker_id)
        if broker is None:
            return False
        for replica, directory in zip(partition.replicas, partition.directories, strict=False):
            if replica == broker_id:
                return is_online(broker, directory)
        return True

    def usable_brokers(self) -> list[UsableBroker]:
        """Return the brokers that new replicas may go to: not about to stop, and with a directory that takes them."""
        return [
            UsableBroker(broker.broker_id, broker.rack, broker.fenced)
            for broker in self.brokers.values()
            if not broker.in_controlled_shutdown and not _is_cordoned(broker)
        ]

    def default_directory(self, broker_id: int) -> UUID:
        """Return where a new replica of a broker goes: its only directory, else the broker chooses."""
        broker = self.brokers.get(broker_id)
        if broker is None or len(broker.log_dirs) != 1:
            return UNASSIGNED_DIRECTORY
        return broker.log_dirs[0]

    def min_isr(self, topic: TopicImage) -> int:
        """Return `min.insync.replicas` of a topic, at most as many as its partitions have replicas."""
        text = self._config(topic, MIN_INSYNC_REPLICAS, "1")
        return min(int(text), len(topic.partitions[0].replicas) if topic.partitions else 1)

    def allows_unclean(self, topic: TopicImage) -> bool:
        """Whether a replica out of sync may lead a topic's partition when there is no other."""
        return self._config(topic, UNCLEAN_LEADER_ELECTION, "false").strip().lower() == "true"

    def check_broker_epoch(self, broker_id: int, epoch: int) -> BrokerImage:
        """Return the broker; raise KafkaError STALE_BROKER_EPOCH unless it is registered with this epoch."""
        broker = self.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            known = "it is not registered" if broker is None else f"its epoch is {broker.epoch}"
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} came with epoch {epoch}, but {known}")
        return broker

    def places(self) -> Iterator[PartitionPlace]:
        """Yield every partition."""
        for topic in self.image.topics_by_name.values():
            for index, partition in enumerate(topic.partitions):
                yield PartitionPlace(topic, index, partition)

    def _config(self, topic: TopicImage, name: str, otherwise: str) -> str:
        return self.image.topic_config(topic.name).get(name) or self.configs.get(name) or otherwise


def _is_cordoned(broker: BrokerImage) -> bool:
    cordoned = broker.cordoned_log_dirs
    return bool(cordoned) and set(broker.log_dirs) <= set(cordoned or ())


def is_online(broker: BrokerImage, directory: UUID) -> bool:
    """Whether a directory of a broker works, as far as the controller was told."""
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
        return True
    if directory == LOST_DIRECTORY:
        return False
    return not broker.log_dirs or directory in broker.log_dirs


def count_partitions(image: MetadataImage) -> int:
    """Return how many partitions there are."""
    return sum(len(topic.partitions) for topic in image.topics_by_name.values())
