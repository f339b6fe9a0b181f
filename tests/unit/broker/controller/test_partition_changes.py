"""Elections, the ELR and the end of reassignments: what follows from a change of a partition."""

import pytest

from odradek.broker.controller.partition_changes import Election, PartitionTarget, plan_change
from odradek.broker.metadata.image import LOST_DIRECTORY, MetadataImage
from odradek.protocol.messages.metadata_records import FeatureLevelRecord, PartitionChangeRecord
from tests.unit.broker.controller.cluster import (
    NO_LEADER,
    change,
    cluster,
    directory_of,
    fenced,
    partition,
    place_of,
    view_of,
)


def planned(image: MetadataImage, target: PartitionTarget, **configs: str) -> PartitionChangeRecord | None:
    """Return the change of the first partition of `t`."""
    return plan_change(view_of(image, **configs), place_of(image), target)


def test_nothing_to_do_is_no_record() -> None:
    """A partition that is as it is to be costs nothing, whatever election is asked for."""
    image = cluster(partition([1, 2, 3]))
    assert [planned(image, PartitionTarget(election=election)) for election in Election] == [None] * 3


@pytest.mark.parametrize(
    ("election", "isr", "dead", "leader"),
    [
        (Election.PREFERRED, [1, 2, 3], [], 1),
        (Election.PREFERRED, [2, 3], [], None),
        (Election.PREFERRED, [2, 3], [2], 3),
        (Election.PREFERRED, [2, 3], [2, 3], NO_LEADER),
        (Election.ONLINE, [1, 2, 3], [], None),
        (Election.ONLINE, [1, 2, 3], [2], 1),
        (Election.ONLINE, [2, 3], [2], 3),
        (Election.ONLINE, [2], [2], NO_LEADER),
        (Election.UNCLEAN, [2, 3], [2], 3),
        (Election.UNCLEAN, [2], [2], 1),
        (Election.UNCLEAN, [2], [1, 2, 3], NO_LEADER),
    ],
)
def test_leader_is_the_first_that_may_lead(
    election: Election, isr: list[int], dead: list[int], leader: int | None
) -> None:
    """Who leads now goes on where he may; others come in the order of the replicas; out of sync only if asked for."""
    image = cluster(partition([1, 2, 3], isr=isr, leader=2), *map(fenced, dead))
    change_ = planned(image, PartitionTarget(election=election))
    assert (None if change_ is None else change_.leader) == leader


def test_unclean_leader_is_alone_in_sync_and_recovers() -> None:
    """What the others have counts for nothing any more (KIP-704)."""
    image = cluster(partition([1, 2], isr=[2], leader=2), fenced(2))
    assert planned(image, PartitionTarget(election=Election.UNCLEAN)) == change(
        leader=1, isr=[1], leader_recovery_state=1
    )


def test_replica_in_a_lost_directory_does_not_lead() -> None:
    """Its broker lives, but not its disk (KIP-858)."""
    lost = [directory_of(1), LOST_DIRECTORY, directory_of(3)]
    image = cluster(partition([1, 2, 3], directories=lost), fenced(1))
    assert planned(image, PartitionTarget(isr=(2, 3))) == change(leader=3, isr=[2, 3])


def test_without_elr_the_isr_never_gets_empty() -> None:
    """Its last member stays in it while nobody leads."""
    image = cluster(partition([1]), fenced(1))
    assert planned(image, PartitionTarget(isr=())) == change(leader=NO_LEADER)


def test_smaller_isr_begins_no_epoch() -> None:
    """Only a record that names the leader does; before metadata.version 12 it does."""
    image = cluster(partition([1, 2, 3]))
    assert planned(image, PartitionTarget(isr=(1, 2))) == change(isr=[1, 2])
    old = cluster(FeatureLevelRecord(name="metadata.version", feature_level=11), partition([1, 2, 3]))
    found = planned(old, PartitionTarget(isr=(1, 2)))
    assert found is not None
    assert (found.isr, found.leader) == ([1, 2], 1)


def test_members_that_leave_a_small_isr_stay_eligible() -> None:
    """Below min.insync.replicas nothing is acknowledged: who was in sync till then has everything (KIP-966)."""
    image = cluster(partition([1, 2, 3]), elr=True)
    assert planned(image, PartitionTarget(isr=(1,)), min_insync_replicas="2") == change(
        isr=[1], eligible_leader_replicas=[2, 3]
    )
    assert planned(image, PartitionTarget(isr=(1, 2)), min_insync_replicas="2") == change(isr=[1, 2])


def test_last_member_that_goes_leaves_an_empty_isr_and_is_remembered() -> None:
    """As eligible, and as the last that led; once it is back both are forgotten."""
    image = cluster(partition([1]), fenced(1), elr=True)
    gone = planned(image, PartitionTarget(isr=()))
    assert gone == change(isr=[], leader=NO_LEADER, eligible_leader_replicas=[1], last_known_elr=[1])
    back = cluster(partition([1], isr=[], leader=NO_LEADER, eligible_leader_replicas=[1], last_known_elr=[1]), elr=True)
    assert planned(back, PartitionTarget()) == change(isr=[1], leader=1, eligible_leader_replicas=[], last_known_elr=[])


def test_eligible_replica_leads_only_where_nobody_is_in_sync() -> None:
    """An ISR that is not empty has everything that was acknowledged since."""
    image = cluster(partition([1, 2, 3], isr=[1], leader=1, eligible_leader_replicas=[2]), fenced(1), elr=True)
    assert planned(image, PartitionTarget(), min_insync_replicas="2") == change(leader=NO_LEADER)
    found = planned(image, PartitionTarget(isr=()), min_insync_replicas="2")
    assert found == change(leader=2, isr=[2], eligible_leader_replicas=[1])


def test_broker_that_may_have_lost_records_is_not_eligible() -> None:
    """After an unclean stop of the last one the partition waits for a decision."""
    image = cluster(partition([1, 2], isr=[1], eligible_leader_replicas=[2]), elr=True)
    found = planned(image, PartitionTarget(isr=(), lost=1, is_active=lambda one: one == 3), min_insync_replicas="2")
    assert found == change(leader=NO_LEADER, isr=[], last_known_elr=[1])


def test_last_known_leader_leads_if_it_lives() -> None:
    """With neither ISR nor ELR it is the best there is, and recovers; fenced, it has to come back first."""
    alone = partition([1, 2], isr=[], leader=NO_LEADER, last_known_elr=[2])
    found = planned(cluster(alone, elr=True), PartitionTarget())
    assert found == change(leader=2, isr=[2], leader_recovery_state=1, last_known_elr=[])
    assert planned(cluster(alone, fenced(2), elr=True), PartitionTarget()) is None


def test_who_is_no_replica_any_more_is_not_eligible() -> None:
    """A reassignment that is called off takes back its replicas, in sync or not. An ELR of them alone would keep the
    last known leader from being elected, for ever."""
    image = cluster(partition([1, 2, 3], isr=[1, 3], leader=1, adding_replicas=[3]), elr=True)
    cancelled = PartitionTarget(replicas=(1, 2), isr=(1,), adding=(), removing=())
    found = planned(image, cancelled)
    assert found is not None
    assert (found.replicas, found.isr, found.eligible_leader_replicas) == ([1, 2], [1], None)
    stale = partition([1, 2], isr=[1], leader=1, eligible_leader_replicas=[3])
    found = planned(cluster(stale, fenced(1), elr=True), PartitionTarget(isr=(), lost=1))
    assert found is not None
    assert (found.leader, found.eligible_leader_replicas, found.last_known_elr) == (NO_LEADER, [], [1])


def test_reassignment_ends_once_all_new_replicas_are_in_sync() -> None:
    """The removed ones go, out of ISR and directories too, and an epoch begins."""
    moving = partition([3, 1, 2], isr=[1, 2], leader=1, removing_replicas=[1, 2], adding_replicas=[3])
    image = cluster(moving)
    assert planned(image, PartitionTarget(isr=(1, 2))) is None
    assert planned(image, PartitionTarget(isr=(1, 2, 3))) == change(
        leader=3, isr=[3], replicas=[3], removing_replicas=[], adding_replicas=[], directories=[directory_of(3)]
    )


def test_replica_that_goes_begins_an_epoch_though_the_leader_stays() -> None:
    """The removed replica must not be able to fetch as a follower of this epoch."""
    image = cluster(partition([1, 2, 3]))
    target = PartitionTarget(replicas=(1, 2, 3), removing=(3,))
    assert planned(image, target) == change(
        leader=1, isr=[1, 2], replicas=[1, 2], directories=[directory_of(1), directory_of(2)]
    )
