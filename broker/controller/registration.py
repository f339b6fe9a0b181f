"""Whether a broker may register, and the records that register it.

Pure. Must not know: sessions (it is told whether the broker that has the id still lives), answers. Order of the checks
and codes are those of Kafka 4.3's `ClusterControlManager` (KIP-631, KIP-858, KIP-866, KIP-966).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.broker.controller.broker_changes import in_isr, plan_departure, plan_loss
from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.metadata.features import KRAFT_VERSION, METADATA_VERSION
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.broker_registration import BrokerRegistrationRequest
from odradek.protocol.messages.metadata_records import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord

_RECORD_VERSIONS = ((30, 4), (17, 3), (8, 2), (7, 1))
"""From which metadata.version on which version of the record is written."""
_LAST_RESERVED_DIRECTORY = 99
_SECURITY_PROTOCOLS = range(4)
MAX_OF_A_BROKER: Final = 1_000
"""Listeners, features or log directories of one broker: all of it is in the metadata of every node for good."""


class PlannedRegistration(NamedTuple):
    """What registers a broker; the record of the registration is the last."""

    epoch: int
    records: tuple[MetadataRecord, ...]


def plan_registration(
    view: ControllerView, cluster_id: str, request: BrokerRegistrationRequest, *, is_alive: bool, next_offset: int
) -> PlannedRegistration:
    """Return what registers the broker; raise KafkaError with Kafka's code for everything that forbids it.

    `is_alive`: whether the broker that has the id has sent a heartbeat within its session. `next_offset` is where the
    records go: the epoch of a new incarnation.
    """
    if request.cluster_id != cluster_id:
        raise KafkaError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Expected cluster ID {cluster_id}, but got cluster ID {request.cluster_id}",
        )
    known = view.brokers.get(request.broker_id)
    is_same = known is not None and known.incarnation_id == request.incarnation_id
    if is_alive and not is_same:
        raise KafkaError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"Another broker is registered with that broker id {request.broker_id}.",
        )
    if request.is_migrating_zk_broker:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, "Brokers of a cluster with ZooKeeper cannot join")
    check_amounts(request.listeners, request.features, request.log_dirs)
    _check_directories(view, request)
    for listener in request.listeners:
        if listener.security_protocol not in _SECURITY_PROTOCOLS:  # whoever reads the record would fail
            raise KafkaError(ErrorCode.INVALID_REGISTRATION, f"Unknown protocol {listener.security_protocol}")
    _check_features(view.image, request)
    records: list[MetadataRecord] = []
    if not is_same:
        if view.has_elr and (known is None or request.previous_broker_epoch != known.epoch):
            records += plan_loss(view, request.broker_id)
        else:
            records += plan_departure(view, request.broker_id, in_isr(view, request.broker_id))
    record = RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=known.epoch if known and is_same else next_offset,
        end_points=[
            BrokerEndpoint(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol)
            for one in {one.name: one for one in request.listeners}.values()  # the last of a name counts
        ],
        features=[
            BrokerFeature(
                name=one.name,
                min_supported_version=one.min_supported_version,
                max_supported_version=one.max_supported_version,
            )
            for one in request.features
        ],
        rack=request.rack,
        fenced=known.fenced if known and is_same else True,
        in_controlled_shutdown=known.in_controlled_shutdown if known and is_same else False,
        log_dirs=list(request.log_dirs),
    )
    return PlannedRegistration(
        record.broker_epoch, (*records, make_record(record, _record_version(view.image.feature(METADATA_VERSION))))
    )


def check_amounts(*lists: Sequence[object]) -> None:
    """Raise KafkaError INVALID_REGISTRATION where a node that registers names more than `MAX_OF_A_BROKER` of a kind."""
    if any(len(one) > MAX_OF_A_BROKER for one in lists):
        message = f"A registration names more than {MAX_OF_A_BROKER} listeners, features or log directories."
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, message)


def _record_version(level: int) -> int:
    return next((version for least, version in _RECORD_VERSIONS if level >= least), 0)


def _check_directories(view: ControllerView, request: BrokerRegistrationRequest) -> None:
    problem = None
    if not request.log_dirs:
        problem = "No directories specified in request"
    elif len(set(request.log_dirs)) < len(request.log_dirs):
        problem = "Duplicate directory specified in request"
    elif any(directory.int <= _LAST_RESERVED_DIRECTORY for directory in request.log_dirs):
        problem = "Reserved directory ID in request"
    else:
        for other in view.brokers.values():
            if other.broker_id != request.broker_id and not set(other.log_dirs).isdisjoint(request.log_dirs):
                problem = f"Broker {other.broker_id} is already registered with one of the directories"
    if problem:
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, problem)


def _check_features(image: MetadataImage, request: BrokerRegistrationRequest) -> None:
    """Refuse a broker that cannot run what the cluster has agreed on."""
    offered = {one.name: (one.min_supported_version, one.max_supported_version) for one in request.features}
    if METADATA_VERSION not in offered:
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, f"The broker does not say which {METADATA_VERSION} it can run")
    for name, (least, most) in offered.items():
        if least > most:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"The broker's range of {name} is none: {least} to {most}")
    # Nobody need know of quorums that change; who does must know of one that does not, as this one.
    levels = {**image.features, **({KRAFT_VERSION: 0} if KRAFT_VERSION in offered else {})}
    for name, level in sorted(levels.items()):
        least, most = offered.get(name, (0, 0))
        if not least <= level <= most:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Unable to register because the broker does not support finalized version {level} of {name}. The"
                f" broker wants a version between {least} and {most}, inclusive.",
            )
