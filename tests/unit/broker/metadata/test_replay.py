"""What records do to an image, and what the delta says of it."""

from uuid import UUID

import pytest

from odradek.broker.metadata.errors import CorruptMetadataError, UnsupportedMetadataError
from odradek.broker.metadata.image import ConfigResource, ImageDelta, MetadataImage, PartitionName
from odradek.broker.metadata.records import Message
from odradek.broker.metadata.replay import apply
from odradek.broker.metadata.scram import ScramKey
from odradek.protocol.messages.metadata_records import (
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)
from odradek.protocol.scram import ScramCredential
from tests.unit.broker.metadata.support import image_of, record_of, topic_records

A, B = UUID(int=0xA), UUID(int=0xB)
EMPTY = MetadataImage()


def change(image: MetadataImage, *messages: Message) -> tuple[MetadataImage, ImageDelta]:
    """Apply messages to an image."""
    return apply(image, [record_of(message) for message in messages], image.offset + len(messages), 3)


def topic_config(name: str, key: str, value: str | None) -> ConfigRecord:
    """Return a topic's config record."""
    return ConfigRecord(resource_type=2, resource_name=name, name=key, value=value)


def test_created_topic_is_found_by_name_and_id_and_reported() -> None:
    """A topic and its partitions come in one change; the delta says created, not changed."""
    image, delta = change(EMPTY, *topic_records("t", A, 2))
    topic = image.topic("t")
    assert topic is not None
    assert topic is image.topic_by_id(A)
    assert [p.leader for p in topic.partitions] == [1, 1]
    assert (image.offset, image.epoch) == (3, 3)
    assert delta == ImageDelta(created_topics=(topic,))


def test_old_image_stays_as_it_was() -> None:
    """An image that a request holds never changes under it."""
    before = image_of(topic_records("t", A))
    change(before, RemoveTopicRecord(topic_id=A), *topic_records("u", B))
    assert list(before.topics_by_name) == ["t"]
    assert before.topic_by_id(A) is not None


def test_untouched_topics_are_shared_between_images() -> None:
    """What did not change is the same object, so that what was derived from it stays valid."""
    before = image_of(topic_records("t", A))
    after, _ = change(before, *topic_records("u", B), topic_config("u", "retention.ms", "1"))
    assert after.topic("t") is before.topic("t")
    assert change(before, ProducerIdsRecord(next_producer_id=1000))[0].topics_by_name is before.topics_by_name


def test_removed_topic_takes_its_configs_along() -> None:
    """Kafka writes no config records for a deletion; the topic record implies them."""
    image = image_of([*topic_records("t", A), topic_config("t", "retention.ms", "5")])
    after, delta = change(image, RemoveTopicRecord(topic_id=A))
    assert after.topic("t") is None
    assert after.topic_config("t") == {}
    assert delta == ImageDelta(deleted_topics=(image.topics_by_name["t"],))


def test_topic_made_again_in_one_change_is_another_topic() -> None:
    """Deleting and creating a name is two topics, and the old one's configs are gone."""
    image = image_of([*topic_records("t", A), topic_config("t", "retention.ms", "5")])
    after, delta = change(
        image, RemoveTopicRecord(topic_id=A), *topic_records("t", B), topic_config("t", "segment.ms", "9")
    )
    assert after.topics_by_name["t"].topic_id == B
    assert after.topic_by_id(A) is None
    assert after.topic_config("t") == {"segment.ms": "9"}
    assert ([t.topic_id for t in delta.deleted_topics], [t.topic_id for t in delta.created_topics]) == ([A], [B])
    assert not delta.changed_configs


def test_topic_that_comes_and_goes_in_one_change_leaves_no_trace() -> None:
    """Nobody has to act on it."""
    after, delta = change(EMPTY, *topic_records("t", A), topic_config("t", "a", "b"), RemoveTopicRecord(topic_id=A))
    assert (after.topics_by_id, after.configs) == ({}, {})
    assert not delta


def test_added_partitions_are_reported_as_created() -> None:
    """Only the new ones."""
    image = image_of(topic_records("t", A, 1))
    after, delta = change(image, *topic_records("t", A, 3)[2:])
    topic = after.topics_by_name["t"]
    assert len(topic.partitions) == 3
    assert delta == ImageDelta(created_partitions=(PartitionName(topic, 1), PartitionName(topic, 2)))


def test_election_raises_both_epochs_and_other_changes_only_the_partition_epoch() -> None:
    """Kafka's rule for PartitionChange: naming a leader raises the leader epoch, even the same one."""
    image = image_of(topic_records("t", A, 1, replicas=(1, 2)))
    shrunk, delta = change(image, PartitionChangeRecord(partition_id=0, topic_id=A, isr=[1]))
    partition = shrunk.topics_by_name["t"].partitions[0]
    assert (partition.isr, partition.leader, partition.leader_epoch, partition.partition_epoch) == ((1,), 1, 0, 1)
    assert delta.changed_partitions == (PartitionName(shrunk.topics_by_name["t"], 0),)
    elected, _ = change(shrunk, PartitionChangeRecord(partition_id=0, topic_id=A, leader=1))
    partition = elected.topics_by_name["t"].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (1, 1, 2)


def test_partition_whose_record_names_no_directories_is_migrating() -> None:
    """As in Kafka: records of before KIP-858 have none, which is not the same as none being chosen."""
    image = image_of(topic_records("t", A, 1, replicas=(1, 2)))
    assert image.topics_by_name["t"].partitions[0].directories == (UUID(int=0), UUID(int=0))


def test_partition_change_sets_every_field_it_names() -> None:
    """Replicas, reassignment, directories, recovery state and eligible leaders."""
    image = image_of(topic_records("t", A, 1, replicas=(1, 2)))
    directory = UUID(int=0xD)
    after, _ = change(
        image,
        PartitionChangeRecord(
            partition_id=0,
            topic_id=A,
            isr=[],
            leader=-1,
            replicas=[2, 3],
            removing_replicas=[1],
            adding_replicas=[3],
            leader_recovery_state=1,
            directories=[directory, directory],
            eligible_leader_replicas=[2],
            last_known_elr=[1],
        ),
    )
    partition = after.topics_by_name["t"].partitions[0]
    assert (partition.isr, partition.leader, partition.replicas) == ((), -1, (2, 3))
    assert (partition.removing_replicas, partition.adding_replicas) == ((1,), (3,))
    assert (partition.leader_recovery_state, partition.directories) == (1, (directory, directory))
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((2,), (1,))


@pytest.mark.parametrize("name", ["t", ""])
def test_clear_elr_forgets_eligible_leaders(name: str) -> None:
    """Of one topic, or of all of them."""
    records = topic_records("t", A, 2)
    first = records[1]
    assert isinstance(first, PartitionRecord)
    first.eligible_leader_replicas = [1]
    after, delta = change(image_of(records), ClearElrRecord(topic_name=name))
    partitions = after.topics_by_name["t"].partitions
    assert [(p.eligible_leader_replicas, p.partition_epoch) for p in partitions] == [((), 1), ((), 0)]
    assert len(delta.changed_partitions) == 1


def test_config_null_removes_and_equal_value_is_no_change() -> None:
    """The delta names a resource only if its configs differ."""
    image = image_of([*topic_records("t", A), topic_config("t", "retention.ms", "5")])
    same, delta = change(image, topic_config("t", "retention.ms", "5"))
    assert not delta
    after, delta = change(same, topic_config("t", "retention.ms", None))
    assert ConfigResource(2, "t") not in after.configs
    assert delta == ImageDelta(changed_configs=frozenset({ConfigResource(2, "t")}))


def test_broker_config_of_all_brokers_has_the_empty_name() -> None:
    """Cluster-wide defaults and one broker's own configs are two resources."""
    image = image_of(
        [ConfigRecord(resource_type=4, resource_name=name, name="x", value=name or "all") for name in ("", "1")]
    )
    assert (image.config(4, "")["x"], image.config(4, "1")["x"]) == ("all", "1")


def test_feature_levels_are_kept_and_level_zero_is_off() -> None:
    """A feature at level 0 is as one that was never set."""
    image = image_of([FeatureLevelRecord(name="metadata.version", feature_level=25)])
    image = image_of([FeatureLevelRecord(name="group.version", feature_level=1)], image)
    image = image_of([FeatureLevelRecord(name="group.version", feature_level=0)], image)
    assert dict(image.features) == {"metadata.version": 25}


@pytest.mark.parametrize(("name", "level"), [("metadata.version", 31), ("transaction.version", 3), ("new.thing", 1)])
def test_newer_feature_level_is_refused(name: str, level: int) -> None:
    """A cluster that has agreed on something newer must be served by something newer."""
    with pytest.raises(UnsupportedMetadataError, match=f"{name} at level {level}"):
        image_of([FeatureLevelRecord(name=name, feature_level=level)])


def test_broker_registrations_follow_their_records() -> None:
    """Registered fenced, unfenced, in shutdown, fenced again, gone."""
    directory = UUID(int=0xD)
    image = image_of([RegisterBrokerRecord(broker_id=1, broker_epoch=11, log_dirs=[directory], rack="r")])
    broker = image.brokers[1]
    assert (broker.fenced, broker.epoch, broker.rack, broker.log_dirs) == (True, 11, "r", (directory,))
    image = image_of([BrokerRegistrationChangeRecord(broker_id=1, fenced=-1)], image)
    assert not image.brokers[1].fenced
    image = image_of(
        [BrokerRegistrationChangeRecord(broker_id=1, in_controlled_shutdown=1, cordoned_log_dirs=[directory])], image
    )
    assert image.brokers[1].in_controlled_shutdown
    assert image.brokers[1].cordoned_log_dirs == (directory,)
    assert image.brokers[1].log_dirs == (directory,)
    image = image_of([FenceBrokerRecord(id=1), UnfenceBrokerRecord(id=1), FenceBrokerRecord(id=1)], image)
    assert image.brokers[1].fenced
    assert image_of([UnregisterBrokerRecord(broker_id=1)], image).brokers == {}


def test_tokens_are_those_of_the_last_record_until_they_are_removed() -> None:
    """A renewal is the same record with another time."""
    token = DelegationTokenRecord(
        owner="User:a", requester="User:b", renewers=["User:c"], max_timestamp=9, expiration_timestamp=5, token_id="t"
    )
    image = image_of([token])
    assert image.delegation_tokens["t"].people == ("User:a", "User:b", "User:c")
    token.expiration_timestamp = 7
    after = image_of([token], image)
    assert (after.delegation_tokens["t"].expires_ms, image.delegation_tokens["t"].expires_ms) == (7, 5)
    assert image_of([RemoveDelegationTokenRecord(token_id="t")], after).delegation_tokens == {}


def test_scram_credentials_are_those_of_the_last_record_until_they_are_removed() -> None:
    """One for each user and mechanism; an image without a change shares them with the one before."""
    first = UserScramCredentialRecord(name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=1)
    image = image_of([first, UserScramCredentialRecord(name="u", mechanism=2, iterations=5)])
    assert image.scram_credentials[ScramKey("u", 1)] == ScramCredential(b"s", b"k", b"v", 1)
    after = image_of([UserScramCredentialRecord(name="u", mechanism=1, iterations=7)], image)
    assert after.scram_credentials[ScramKey("u", 1)].iterations == 7
    assert image_of([ProducerIdsRecord()], after).scram_credentials is after.scram_credentials
    gone = image_of([RemoveUserScramCredentialRecord(name="u", mechanism=one) for one in (1, 2)], after)
    assert gone.scram_credentials == {}
    assert len(image.scram_credentials) == 2


def test_producer_ids_go_on_where_the_last_block_ended() -> None:
    """The record says the first id of the next block."""
    assert image_of([ProducerIdsRecord(broker_id=1, next_producer_id=3000)]).next_producer_id == 3000


@pytest.mark.parametrize(
    "message",
    [
        RemoveTopicRecord(topic_id=B),
        PartitionRecord(partition_id=0, topic_id=B),
        PartitionChangeRecord(partition_id=0, topic_id=B),
        PartitionChangeRecord(partition_id=7, topic_id=A),
        PartitionRecord(partition_id=5, topic_id=A),
        TopicRecord(name="t", topic_id=B),
        FenceBrokerRecord(id=4),
        BrokerRegistrationChangeRecord(broker_id=4),
        BeginTransactionRecord(),
    ],
)
def test_record_that_contradicts_the_image_is_corrupt(message: Message) -> None:
    """Unknown ids, a gap in the partitions, a second topic of one name, a stray transaction mark."""
    with pytest.raises(CorruptMetadataError):
        change(image_of(topic_records("t", A)), message)
