"""What follows when a broker comes, goes, or loses a directory: its registration, and the partitions it is in.

Owns: the records of fencing, unfencing, controlled shutdown, unregistering and failed directories, in Kafka's order.
Pure. Must not know: requests, sessions. Rules: Kafka's `ReplicationControlManager`, KIP-631, KIP-858, KIP-966,
KIP-1066.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from uuid import UUID

from odradek.broker.controller.controller_view import ControllerView, PartitionPlace
from odradek.broker.controller.partition_changes import Election, PartitionTarget, change_partition
from odradek.broker.metadata.image import NO_LEADER, BrokerImage
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.messages.metadata_records import BrokerRegistrationChangeRecord, UnregisterBrokerRecord

_FENCE, _UNFENCE, _SHUTS_DOWN = 1, -1, 1


def plan_fencing(view: ControllerView, broker: BrokerImage) -> list[MetadataRecord]:
    """Take a broker out of every ISR, have others lead, and fence it."""
    return [
        *plan_departure(view, broker.broker_id, in_isr(view, broker.broker_id)),
        _change(broker, BrokerRegistrationChangeRecord(fenced=_FENCE), 0),
    ]


def plan_unfencing(view: ControllerView, broker: BrokerImage) -> list[MetadataRecord]:
    """Unfence a broker, and elect leaders where there was nobody to lead."""

    def is_active(broker_id: int) -> bool:
        return broker_id == broker.broker_id or view.is_active(broker_id)

    leaderless = (place for place in view.places() if place.partition.leader == NO_LEADER)
    return [
        _change(broker, BrokerRegistrationChangeRecord(fenced=_UNFENCE), 0),
        *_elect(view, leaderless, lambda _place: PartitionTarget(is_active=is_active)),
    ]


def plan_controlled_shutdown(view: ControllerView, broker: BrokerImage) -> list[MetadataRecord]:
    """Note that a broker is about to stop, take it out of every ISR, and have others lead."""
    moved = plan_departure(view, broker.broker_id, in_isr(view, broker.broker_id))
    if broker.in_controlled_shutdown:
        return moved
    return [_change(broker, BrokerRegistrationChangeRecord(in_controlled_shutdown=_SHUTS_DOWN), 1), *moved]


def plan_unregistering(view: ControllerView, broker: BrokerImage) -> list[MetadataRecord]:
    """Take a broker that is gone for good out of every ISR, and forget it.

    Where it was one of the last in sync it stays eligible, until it registers anew (`plan_loss`).
    """
    record = UnregisterBrokerRecord(broker_id=broker.broker_id, broker_epoch=broker.epoch)
    return [*plan_departure(view, broker.broker_id, in_isr(view, broker.broker_id)), make_record(record)]


def plan_loss(view: ControllerView, broker_id: int) -> list[MetadataRecord]:
    """Take a broker that may have lost records out of every ISR, and out of every ELR."""

    def is_active(candidate: int) -> bool:
        return candidate != broker_id and view.is_active(candidate)

    def target(place: PartitionPlace) -> PartitionTarget:
        return PartitionTarget(isr=_without(place, broker_id), lost=broker_id, is_active=is_active)

    in_elr = (place for place in view.places() if broker_id in place.partition.eligible_leader_replicas)
    return [*_elect(view, in_isr(view, broker_id), target), *_elect(view, in_elr, target)]


def plan_directories(
    view: ControllerView, broker: BrokerImage, offline: Sequence[UUID], cordoned: Sequence[UUID] | None
) -> list[MetadataRecord]:
    """Take the replicas in directories that have failed by now out of every ISR, and note which are left and cordoned.

    `cordoned` is None where the broker does not say, or the cluster does not know of it.
    """
    gone = set(offline)
    failed = [directory for directory in broker.log_dirs if directory in gone]
    records: list[MetadataRecord] = []
    if failed:
        hit: dict[UUID, list[PartitionPlace]] = {directory: [] for directory in failed}
        for place in in_isr(view, broker.broker_id):
            directory = _directory_of(place, broker.broker_id)
            if directory in hit:
                hit[directory].append(place)
        records = plan_departure(view, broker.broker_id, chain.from_iterable(hit.values()))
    change = BrokerRegistrationChangeRecord()
    if failed:
        change.log_dirs = [directory for directory in broker.log_dirs if directory not in gone]
    if cordoned is not None and tuple(cordoned) != broker.cordoned_log_dirs:
        change.cordoned_log_dirs = list(cordoned)
    if failed or change.cordoned_log_dirs is not None:
        records.append(_change(broker, change, 2 if change.cordoned_log_dirs is None else 3))
    return records


def plan_departure(view: ControllerView, broker_id: int, places: Iterable[PartitionPlace]) -> list[MetadataRecord]:
    """Take a broker out of the ISRs of these partitions, and elect others where it led."""

    def is_active(candidate: int) -> bool:
        return candidate != broker_id and view.is_active(candidate)

    return _elect(view, places, lambda place: PartitionTarget(isr=_without(place, broker_id), is_active=is_active))


def in_isr(view: ControllerView, broker_id: int) -> Iterator[PartitionPlace]:
    """Yield the partitions in whose ISR a broker is."""
    return (place for place in view.places() if broker_id in place.partition.isr)


def leads(view: ControllerView, broker_id: int) -> bool:
    """Whether a broker leads any partition."""
    topics = view.image.topics_by_name.values()
    return any(partition.leader == broker_id for topic in topics for partition in topic.partitions)


def _elect(
    view: ControllerView, places: Iterable[PartitionPlace], target: Callable[[PartitionPlace], PartitionTarget]
) -> list[MetadataRecord]:
    records = []
    for place in places:
        wanted = target(place)
        wanted.election = Election.UNCLEAN if view.allows_unclean(place.topic) else Election.ONLINE
        record = change_partition(view, place, wanted)
        if record is not None:
            records.append(record)
    return records


def _without(place: PartitionPlace, broker_id: int) -> tuple[int, ...]:
    return tuple(one for one in place.partition.isr if one != broker_id)


def _directory_of(place: PartitionPlace, broker_id: int) -> UUID | None:
    for replica, directory in zip(place.partition.replicas, place.partition.directories, strict=False):
        if replica == broker_id:
            return directory
    return None


def _change(broker: BrokerImage, change: BrokerRegistrationChangeRecord, version: int) -> MetadataRecord:
    change.broker_id, change.broker_epoch = broker.broker_id, broker.epoch
    return make_record(change, version)
