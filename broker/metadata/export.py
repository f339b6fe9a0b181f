"""An image as records: what a snapshot holds.

Owns: the inverse of `replay`. Pure. Applying the records to an empty image gives the image again, and Apache Kafka
reads them as its own: the order is Kafka's (features first), and versions are those that the `metadata.version`
allows.
"""

from collections.abc import Iterator
from typing import Final

from odradek.broker.metadata.acls import acl_record
from odradek.broker.metadata.client_quotas import quota_records
from odradek.broker.metadata.delegation_tokens import token_records
from odradek.broker.metadata.features import METADATA_VERSION, partition_record_version
from odradek.broker.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from odradek.broker.metadata.records import Message, MetadataRecord, make_record, read_record
from odradek.broker.metadata.scram import scram_records
from odradek.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

_REGISTRATION_VERSIONS: Final = ((30, 4), (17, 3), (8, 2), (7, 1), (0, 0))
"""From which metadata.version on a registration has which record version."""


def image_records(image: MetadataImage, node_id: int) -> Iterator[MetadataRecord]:
    """Yield the records that rebuild the image; producer ids are recorded in the name of this node."""
    # metadata.version comes first, since Kafka reads all that follows by it.
    for name, level in sorted(image.features.items(), key=lambda item: (item[0] != METADATA_VERSION, item[0])):
        yield make_record(FeatureLevelRecord(name=name, feature_level=level))
    version = _registration_version(image.feature(METADATA_VERSION))
    for broker in image.brokers.values():
        yield make_record(_registration(broker), version)
    version = partition_record_version(image.features)
    for topic in image.topics_by_id.values():
        yield make_record(TopicRecord(name=topic.name, topic_id=topic.topic_id))
        for index, partition in enumerate(topic.partitions):
            yield make_record(_partition(topic, index, partition), version)
    for resource, entries in image.configs.items():
        for name, value in entries.items():
            yield make_record(
                ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
            )
    if image.next_producer_id:
        yield make_record(ProducerIdsRecord(broker_id=node_id, next_producer_id=image.next_producer_id))
    for acl_id, acl in image.acls.items():
        yield make_record(acl_record(acl_id, acl))
    for credential in scram_records(image.scram_credentials):
        yield make_record(credential)
    yield from map(make_record, quota_records(image.client_quotas))
    for token in token_records(image.delegation_tokens):
        yield make_record(token)
    for record in image.kept.values():
        yield MetadataRecord(_read(record), record)


def _registration_version(metadata_version: int) -> int:
    return next(version for since, version in _REGISTRATION_VERSIONS if metadata_version >= since)


def _registration(broker: BrokerImage) -> RegisterBrokerRecord:
    cordoned = broker.cordoned_log_dirs
    return RegisterBrokerRecord(
        broker_id=broker.broker_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol)
            for one in broker.endpoints
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=oldest, max_supported_version=newest)
            for name, oldest, newest in broker.features
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
        cordoned_log_dirs=None if cordoned is None else list(cordoned),
    )


def _partition(topic: TopicImage, index: int, partition: PartitionImage) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic.topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.eligible_leader_replicas) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def _read(value: bytes) -> Message:
    record = read_record(value, -1)
    assert record is not None
    return record.message
