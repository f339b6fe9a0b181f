"""From what a partition is to become to the record that makes it so: ISR, leader, ELR, end of a reassignment.

Owns: the elections and what follows from a change, in Kafka's order. Pure. Must not know: requests, brokers other than
through `ControllerView`. Rules: Kafka's `PartitionChangeBuilder`, KIP-455 (reassignment), KIP-704 (recovery), KIP-966
(eligible leader replicas, ELR).

- A record that names a leader raises the leader epoch, whoever it is; every record raises the partition epoch.
- A valid leader is active, its directory works, and it is in the ISR; or, where that is empty, in the ELR.
- Without the ELR the ISR never gets empty: its last members stay in it while nobody leads.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final
from uuid import UUID

from odradek.broker.controller.controller_view import ControllerView, PartitionPlace
from odradek.broker.metadata.features import METADATA_VERSION
from odradek.broker.metadata.image import NO_LEADER, RecoveryState
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.messages.metadata_records import PartitionChangeRecord

NO_LEADER_CHANGE: Final = -2
_NO_EPOCH_AT_SHRINK: Final = 12
"""The metadata.version (3.6-IV0) from which on a smaller ISR alone begins no new leader epoch."""

Ids = tuple[int, ...]


class Election(Enum):
    """Who is looked for."""

    PREFERRED = "preferred"
    """The first replica, where it is in sync."""
    ONLINE = "online"
    """The present leader where it may go on, else any replica in sync."""
    UNCLEAN = "unclean"
    """The same, and where there is none any replica that lives."""


@dataclass(slots=True)
class PartitionTarget:
    """What a partition is to become; None: as it is."""

    isr: Ids | None = None
    replicas: Ids | None = None
    removing: Ids | None = None
    adding: Ids | None = None
    recovery_state: int | None = None
    election: Election = Election.ONLINE
    lost: int | None = None
    """A broker that may have lost records: it is in sync no more, and no eligible leader either."""
    directories: Mapping[int, UUID] = field(default_factory=dict)
    """Directories of replicas, where they have others than before."""
    is_active: Callable[[int], bool] | None = None
    """Which brokers may lead, where that is not what the view says; their directory must work all the same."""


def change_partition(view: ControllerView, place: PartitionPlace, target: PartitionTarget) -> MetadataRecord | None:
    """Return the record that leads to the target and all that follows from it; None if nothing changes."""
    change = plan_change(view, place, target)
    return None if change is None else make_record(change, view.record_version)


def plan_change(view: ControllerView, place: PartitionPlace, target: PartitionTarget) -> PartitionChangeRecord | None:
    """Return the change that leads to the target; None if nothing changes."""
    return _Planner(view, place, target).plan()


class _Planner:
    """One change in the making; the fields are the partition as it is to be."""

    def __init__(self, view: ControllerView, place: PartitionPlace, target: PartitionTarget) -> None:
        before = place.partition
        self._view = view
        self._place = place
        self._target = target
        self._before = before
        self._isr = before.isr if target.isr is None else target.isr
        self._replicas = before.replicas if target.replicas is None else target.replicas
        self._removing = before.removing_replicas if target.removing is None else target.removing
        self._adding = before.adding_replicas if target.adding is None else target.adding
        self._elr = before.eligible_leader_replicas
        self._record = PartitionChangeRecord(partition_id=place.number, topic_id=place.topic.topic_id)

    def plan(self) -> PartitionChangeRecord | None:
        record, before = self._record, self._before
        self._complete_reassignment()
        self._collect_elr()
        self._elect()
        if record.leader == NO_LEADER_CHANGE and not set(before.replicas) <= set(self._replicas):
            record.leader = before.leader
        self._record_isr_and_elr()
        self._record_last_known_leader()
        self._record_assignment()
        recovery = self._target.recovery_state
        if recovery is not None and recovery != before.leader_recovery_state:
            record.leader_recovery_state = recovery
        nothing = PartitionChangeRecord(partition_id=record.partition_id, topic_id=record.topic_id)
        return None if record == nothing else record

    def _complete_reassignment(self) -> None:
        if not self._removing and not self._adding:
            return
        isr = _without(self._isr, self._removing)
        replicas = _without(self._replicas, self._removing)
        if isr and set(replicas) <= set(isr):
            self._isr, self._replicas = isr, replicas
            self._removing = self._adding = ()

    def _collect_elr(self) -> None:
        """Members that leave an ISR that is too small stay eligible: they have all that was acknowledged.

        Unless they are no replicas any more, after a reassignment was called off: an ELR of those alone would keep the
        last known leader from being elected, for ever, as it does in Kafka.
        """
        if not self._view.has_elr:
            return
        if len(self._isr) >= self._view.min_isr(self._place.topic):
            self._elr = ()
        else:
            eligible = {*self._elr, *self._before.isr}.intersection(self._replicas).difference(self._isr)
            self._elr = tuple(sorted(one for one in eligible if one != self._target.lost))

    def _elect(self) -> None:
        leader, is_unclean = self._find_leader()
        if leader == self._before.leader:
            return
        self._record.leader = leader
        if leader in self._elr:
            self._isr = (leader,)
            self._elr = _without(self._elr, (leader,))
        elif is_unclean:
            self._record.isr = [leader]
            if self._before.leader_recovery_state != RecoveryState.RECOVERING:
                self._record.leader_recovery_state = RecoveryState.RECOVERING

    def _find_leader(self) -> tuple[int, bool]:
        """Return who is to lead, and whether he may lack records that were acknowledged."""
        present, election = self._before.leader, self._target.election
        first = (self._replicas[0], present) if election is Election.PREFERRED else (present,)
        for candidate in (*first, *self._replicas):
            if self._is_valid(candidate):
                return candidate, False
        last = self._before.last_known_elr
        if self._view.has_elr and not self._isr and not self._elr and len(last) == 1 and self._is_acceptable(last[0]):
            return last[0], True
        if election is Election.UNCLEAN:
            for candidate in self._replicas:
                if self._is_acceptable(candidate):
                    return candidate, True
        return NO_LEADER, False

    def _is_valid(self, broker_id: int) -> bool:
        in_sync = broker_id in self._isr or (not self._isr and broker_id in self._elr)
        return in_sync and self._is_acceptable(broker_id)

    def _is_acceptable(self, broker_id: int) -> bool:
        only = self._target.is_active
        if only is None:
            return self._view.may_lead(self._before, broker_id)
        return only(broker_id) and self._view.has_online_replica(self._before, broker_id)

    def _record_isr_and_elr(self) -> None:
        record, before = self._record, self._before
        if record.isr is not None or not self._view.has_elr:
            self._elr = ()
        if self._elr != before.eligible_leader_replicas:
            record.eligible_leader_replicas = list(self._elr)
        if record.isr is None and (self._isr or self._view.has_elr) and self._isr != before.isr:
            record.isr = list(self._isr)
        if (
            record.isr is not None
            and record.leader == NO_LEADER_CHANGE
            and self._view.image.feature(METADATA_VERSION) < _NO_EPOCH_AT_SHRINK
            and not set(before.isr) <= set(record.isr)
        ):
            record.leader = before.leader

    def _record_last_known_leader(self) -> None:
        """Remember who led last, where nobody is left, and forget it once somebody leads."""
        record, before = self._record, self._before
        if not self._view.has_elr:
            return
        if record.isr == [] and before.leader != NO_LEADER and before.last_known_elr != (before.leader,):
            record.last_known_elr = [before.leader]
        elif before.last_known_elr and (
            record.leader >= 0 or (before.leader != NO_LEADER and record.leader != NO_LEADER)
        ):
            record.last_known_elr = []

    def _record_assignment(self) -> None:
        record, before = self._record, self._before
        if self._view.record_version > 0:
            known = {**dict(zip(before.replicas, before.directories, strict=False)), **self._target.directories}
            directories = [known[one] if one in known else self._view.default_directory(one) for one in self._replicas]
            if tuple(directories) != before.directories:
                record.directories = directories
        if self._replicas != before.replicas:
            record.replicas = list(self._replicas)
        if self._removing != before.removing_replicas:
            record.removing_replicas = list(self._removing)
        if self._adding != before.adding_replicas:
            record.adding_replicas = list(self._adding)


def _without(ids: Ids, gone: Ids) -> Ids:
    return tuple(one for one in ids if one not in gone) if gone else ids
