"""The metadata of partitions that were found without any."""

from collections.abc import Callable
from itertools import count
from uuid import UUID

import pytest

from odradek.broker.metadata.adoption import KEEP_EVERYTHING, Adoption, plan_adoption
from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.features import NEW_CLUSTER
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.internal_topics import internal_topics
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.takeover import check_takeover, plan_elections
from odradek.config.loading import load_settings
from odradek.storage.names import TopicPartition
from odradek.storage.opening.survey import PartitionSurvey

NODE = 3
ID = UUID(int=0xA)
INTERNAL = internal_topics(load_settings(None, ["offsets.topic.num.partitions=5"]))


def ids() -> Callable[[], UUID]:
    """Return what draws ids that can be told."""
    numbers = count(1000)
    return lambda: UUID(int=next(numbers))


def plan(**found: PartitionSurvey) -> Adoption:
    """Plan for partitions, named with an underscore before their number."""
    named = {
        TopicPartition(name.rpartition("_")[0], int(name.rpartition("_")[2])): each for name, each in found.items()
    }
    return plan_adoption(named, NODE, INTERNAL, NEW_CLUSTER, ids())


def image_of(adoption: Adoption) -> MetadataImage:
    """Return the metadata that comes of it."""
    return apply(MetadataImage(), adoption.records, len(adoption.records), 1)[0]


def test_topics_keep_their_ids_and_others_get_new_ones() -> None:
    """Kafka writes them to the directories since 2.8; one directory that says it speaks for all of the topic."""
    image = image_of(plan(t_0=PartitionSurvey(ID), t_1=PartitionSurvey(), old_0=PartitionSurvey()))
    assert image.topics_by_name["t"].topic_id == ID
    assert image.topics_by_name["old"].topic_id == UUID(int=1000)


def test_partitions_are_led_here_in_an_epoch_of_their_own() -> None:
    """Later than any that wrote to them, and with nothing left to elect."""
    image = image_of(plan(t_0=PartitionSurvey(ID, 6), t_1=PartitionSurvey(ID)))
    led = [(each.replicas, each.isr, each.leader, each.leader_epoch) for each in image.topics_by_name["t"].partitions]
    assert led == [((NODE,), (NODE,), NODE, 7), ((NODE,), (NODE,), NODE, 0)]
    check_takeover(image, NODE)
    assert not plan_elections(image, NODE)


def test_nothing_is_deleted_or_compacted_until_somebody_says_so() -> None:
    """The configs are the topic's own, so everybody sees them; Kafka's own topics get those that Kafka gives them."""
    image = image_of(plan(t_0=PartitionSurvey(), __consumer_offsets_0=PartitionSurvey()))
    assert image.topic_config("t") == KEEP_EVERYTHING
    assert image.topic_config("__consumer_offsets")["cleanup.policy"] == "compact"


def test_partition_that_was_elsewhere_stays_without_a_leader() -> None:
    """An empty one in its place would look as if its records had been deleted."""
    adoption = plan(t_0=PartitionSurvey(ID, 2), t_3=PartitionSurvey(ID, 2))
    assert adoption.leaderless == (TopicPartition("t", 1), TopicPartition("t", 2))
    assert (adoption.topics, adoption.partitions) == (1, 2)
    image = image_of(adoption)
    assert [each.leader for each in image.topics_by_name["t"].partitions] == [NODE, -1, -1, NODE]
    check_takeover(image, NODE)
    assert not plan_elections(image, NODE)


@pytest.mark.parametrize(("found", "partitions"), [([0, 1, 2], 3), ([0], 1), ([0, 2], 5), ([1], 5), ([6], 7)])
def test_missing_partitions_of_kafkas_own_topics_begin_empty(found: list[int], partitions: int) -> None:
    """Which partition a group is in depends on their number: that of the settings, where some are missing."""
    adoption = plan(**{f"__consumer_offsets_{index}": PartitionSurvey(ID, 4) for index in found})
    image = image_of(adoption)
    assert [each.leader for each in image.topics_by_name["__consumer_offsets"].partitions] == [NODE] * partitions
    assert len(adoption.begun) == partitions - len(found)
    assert not adoption.leaderless


@pytest.mark.parametrize(("largest", "following"), [(-1, 0), (0, 2000), (999, 2000), (1000, 3000), (5_500, 7_000)])
def test_producer_ids_that_were_given_out_are_not_given_again(largest: int, following: int) -> None:
    """Not those of the block after the one that was seen in use, either: another broker restart may have begun it."""
    image = image_of(plan(t_0=PartitionSurvey(ID, 0, largest), t_1=PartitionSurvey(ID, 0, -1)))
    assert image.next_producer_id == following


def test_directories_of_two_topics_of_one_name_are_refused() -> None:
    """A topic was deleted and made again while this broker was away: nobody can know what belongs together."""
    with pytest.raises(UnsupportedMetadataError, match=r"topic t have different topic ids.*Move those away"):
        plan(t_0=PartitionSurvey(ID), t_1=PartitionSurvey(UUID(int=0xB)))


def test_tiered_storage_is_refused() -> None:
    """Whether a topic has a part there stood in its configs, which are lost."""
    with pytest.raises(UnsupportedMetadataError, match="tiered storage"):
        plan(t_0=PartitionSurvey(ID), __remote_log_metadata_0=PartitionSurvey())
