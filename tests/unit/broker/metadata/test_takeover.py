"""Taking over what another broker left."""

from uuid import UUID

import pytest

from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.image import MetadataImage, PartitionImage, RecoveryState
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.takeover import check_not_tiered, check_takeover, plan_elections
from odradek.protocol.messages.metadata_records import ConfigRecord
from tests.unit.broker.metadata.support import image_of, topic_records

A = UUID(int=0xA)
LED = PartitionImage(replicas=(1,), isr=(1,), leader=1, leader_epoch=4, partition_epoch=6)


def with_partition(partition: PartitionImage) -> MetadataImage:
    """Return an image with one topic of one partition."""
    image = image_of(topic_records("t", A))
    topic = image.topics_by_name["t"]._replace(partitions=(partition,))
    return image._replace(topics_by_name={"t": topic}, topics_by_id={A: topic})


def elected(partition: PartitionImage) -> PartitionImage:
    """Return the partition after the elections of node 1."""
    image = with_partition(partition)
    after, _ = apply(image, plan_elections(image, 1), 99, 1)
    return after.topics_by_name["t"].partitions[0]


def test_partition_that_this_node_leads_alone_is_left_as_it_is() -> None:
    """A restart of our own changes nothing, and writes nothing."""
    assert plan_elections(with_partition(LED), 1) == []


@pytest.mark.parametrize(
    "left",
    [
        LED._replace(leader=-1),
        LED._replace(leader=-1, isr=(), eligible_leader_replicas=(1,), last_known_elr=(1,)),
        LED._replace(leader=-1, isr=(), last_known_elr=(1,), leader_recovery_state=RecoveryState.RECOVERING),
        LED._replace(leader=2, isr=(1, 2), replicas=(2, 1)),
        LED._replace(leader=1, isr=(1, 2), replicas=(1, 2)),
    ],
)
def test_node_elects_itself_where_it_has_everything(left: PartitionImage) -> None:
    """In sync, or eligible, or the last leader of a partition that nobody is in sync with."""
    now = elected(left)
    assert (now.leader, now.isr, now.leader_epoch, now.partition_epoch) == (1, (1,), 5, 7)
    assert (now.eligible_leader_replicas, now.last_known_elr) == ((), ())
    assert now.leader_recovery_state == RecoveryState.RECOVERED
    assert now.replicas == left.replicas


@pytest.mark.parametrize(
    "left",
    [
        LED._replace(leader=2, isr=(2,), replicas=(1, 2)),
        LED._replace(leader=-1, isr=(), eligible_leader_replicas=(2,), last_known_elr=(1,), replicas=(1, 2)),
        LED._replace(leader=-1, isr=(), last_known_elr=(2,), replicas=(1, 2)),
    ],
)
def test_node_does_not_lead_where_another_broker_has_more(left: PartitionImage) -> None:
    """Data that was acknowledged elsewhere would be lost."""
    assert plan_elections(with_partition(left), 1) == []


def test_partition_on_other_brokers_only_is_refused() -> None:
    """The sentence names the partition, its brokers and this node."""
    image = with_partition(LED._replace(replicas=(2, 3), isr=(2,), leader=2))
    with pytest.raises(UnsupportedMetadataError, match=r"t-0 is on broker\(s\) 2, 3 and not on this node \(1\)"):
        check_takeover(image, 1)


def test_tiered_storage_is_refused() -> None:
    """A part of the data would be missing; of topics that are on other brokers that is their affair."""
    tiered = ConfigRecord(resource_type=2, resource_name="t", name="remote.storage.enable", value="true")
    with pytest.raises(UnsupportedMetadataError, match="topic t has remote"):
        check_not_tiered(image_of([*topic_records("t", A), tiered]), 1)
    check_not_tiered(image_of([*topic_records("t", A), tiered]), 2)
    check_not_tiered(image_of(topic_records("t", A)), 1)
