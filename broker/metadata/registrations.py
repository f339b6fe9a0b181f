"""Applying the records of brokers: who registered, with which address, and whether it is fenced.

Pure functions on a dictionary in change. This node does not register itself; the records come from an Apache Kafka
that ran on the same directory, and must survive for it. Effects follow Kafka's `ClusterDelta` (KIP-631, KIP-858,
KIP-1066).
"""

from odradek.broker.metadata.errors import CorruptMetadataError
from odradek.broker.metadata.image import BrokerEndpoint, BrokerImage
from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

BrokerRecord = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | BrokerRegistrationChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
)


def apply_registration(brokers: dict[int, BrokerImage], record: BrokerRecord) -> None:
    """Change `brokers` as the record says; raise CorruptMetadataError if it is about a broker that is not there."""
    match record:
        case RegisterBrokerRecord():
            brokers[record.broker_id] = _registered(record)
        case UnregisterBrokerRecord():
            brokers.pop(record.broker_id, None)
        case BrokerRegistrationChangeRecord():
            brokers[record.broker_id] = _changed(_find(brokers, record.broker_id), record)
        case FenceBrokerRecord():
            brokers[record.id] = _find(brokers, record.id)._replace(fenced=True)
        case UnfenceBrokerRecord():
            brokers[record.id] = _find(brokers, record.id)._replace(fenced=False)


def _find(brokers: dict[int, BrokerImage], broker_id: int) -> BrokerImage:
    broker = brokers.get(broker_id)
    if broker is None:
        raise CorruptMetadataError(f"a record changes broker {broker_id}, which is not registered")
    return broker


def _registered(record: RegisterBrokerRecord) -> BrokerImage:
    return BrokerImage(
        broker_id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        endpoints=tuple(BrokerEndpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points),
        features=tuple(sorted((f.name, f.min_supported_version, f.max_supported_version) for f in record.features)),
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        log_dirs=tuple(record.log_dirs),
        cordoned_log_dirs=None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
    )


def _changed(broker: BrokerImage, record: BrokerRegistrationChangeRecord) -> BrokerImage:
    cordoned = record.cordoned_log_dirs
    return broker._replace(
        fenced=broker.fenced if record.fenced == 0 else record.fenced > 0,
        in_controlled_shutdown=broker.in_controlled_shutdown or record.in_controlled_shutdown > 0,
        log_dirs=tuple(record.log_dirs) or broker.log_dirs,
        cordoned_log_dirs=broker.cordoned_log_dirs if cordoned is None else tuple(cordoned),
    )
