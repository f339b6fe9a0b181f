"""What the tests of the controller share: clusters of several brokers, short spellings, and records applied."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from odradek.broker.controller.controller_view import ControllerView, PartitionPlace, registered_brokers
from odradek.broker.metadata.features import NEW_CLUSTER
from odradek.broker.metadata.image import MetadataImage, PartitionImage
from odradek.broker.metadata.records import Message, MetadataRecord
from odradek.broker.metadata.replay import apply
from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from tests.unit.broker.metadata.support import image_of

TOPIC, TOPIC_ID = "t", UUID(int=0x70)
EVERY_LEVEL = {"metadata.version": (7, 30), "group.version": (0, 1), "transaction.version": (0, 2)}
ELR = "eligible.leader.replicas.version"
NO_LEADER = -1


def directory_of(broker_id: int) -> UUID:
    """Return the id of a broker's only directory."""
    return UUID(int=0xD000 + broker_id)


def incarnation_of(broker_id: int) -> UUID:
    """Return the id of a broker's process."""
    return UUID(int=0xA000 + broker_id)


def broker(broker_id: int, **changed: object) -> RegisterBrokerRecord:
    """Return the registration of a broker that is not fenced; its epoch is a hundred times its id."""
    record = RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=incarnation_of(broker_id),
        broker_epoch=broker_id * 100,
        fenced=False,
        rack=None,
        log_dirs=[directory_of(broker_id)],
    )
    for name, value in changed.items():
        setattr(record, name, value)
    return record


def partition(replicas: Sequence[int], number: int = 0, **changed: object) -> PartitionRecord:
    """Return a partition whose replicas are all in sync, led by the first, in leader epoch 5 and partition epoch 7."""
    record = PartitionRecord(
        partition_id=number,
        topic_id=TOPIC_ID,
        replicas=list(replicas),
        isr=list(replicas),
        leader=replicas[0],
        leader_epoch=5,
        partition_epoch=7,
        directories=[directory_of(one) for one in replicas],
    )
    for name, value in changed.items():
        setattr(record, name, value)
    return record


def cluster(*records: Message, brokers: Iterable[int] = (1, 2, 3), elr: bool = False) -> MetadataImage:
    """Return a cluster of these brokers, with a topic `t` and what the records say."""
    levels = {**NEW_CLUSTER, ELR: int(elr)}
    start: list[Message] = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]
    start += [broker(broker_id) for broker_id in brokers]
    start.append(TopicRecord(name=TOPIC, topic_id=TOPIC_ID))
    return image_of([*start, *records])


def fenced(broker_id: int) -> BrokerRegistrationChangeRecord:
    """Return the record that fences a broker."""
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_id * 100, fenced=1)


def view_of(image: MetadataImage, **configs: str) -> ControllerView:
    """Return what decisions on an image are based on; the keywords are the brokers' configs, with underscores."""
    values = {key.replace("_", "."): value for key, value in configs.items()}
    return ControllerView(image, registered_brokers(image), lambda: values)


def place_of(image: MetadataImage, number: int = 0) -> PartitionPlace:
    """Return where a partition of `t` stands."""
    topic = image.topics_by_name[TOPIC]
    return PartitionPlace(topic, number, topic.partitions[number])


def after(image: MetadataImage, records: Iterable[MetadataRecord]) -> MetadataImage:
    """Return the image after the records."""
    applied = list(records)
    return apply(image, applied, image.offset + len(applied), 1)[0]


def state_of(image: MetadataImage, number: int = 0) -> PartitionImage:
    """Return a partition of `t`."""
    return image.topics_by_name[TOPIC].partitions[number]


def messages_of(records: Iterable[MetadataRecord]) -> list[object]:
    """Return what the records say."""
    return [record.message for record in records]


def change(number: int = 0, **fields: object) -> PartitionChangeRecord:
    """Return a change of a partition of `t`."""
    record = PartitionChangeRecord(partition_id=number, topic_id=TOPIC_ID)
    for name, value in fields.items():
        setattr(record, name, value)
    return record
