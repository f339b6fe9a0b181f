"""Planning topics and partitions: Kafka's rules, codes and records."""

from uuid import UUID

import pytest

from odradek.broker.controller.controller_view import ControllerView
from odradek.broker.controller.topics import (
    NewPartitions,
    NewTopic,
    PlacementRules,
    PlannedTopic,
    TopicPlanner,
    check_total,
    plan_deletion,
    plan_partitions,
)
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import (
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.unit.broker.metadata.support import RULES, image_of, topic_records, view_of

A, DIRECTORY = UUID(int=0xA), UUID(int=0xD)
EXISTING = image_of([*topic_records("old.name", A, 2), *topic_records("plain", UUID(int=0xB))])


ONE_BROKER = view_of(EXISTING)


def plan(topic: NewTopic, view: ControllerView = ONE_BROKER, rules: PlacementRules = RULES) -> PlannedTopic:
    """Plan one topic."""
    return TopicPlanner(view, rules).plan(topic)


def refusal(topic: NewTopic, view: ControllerView = ONE_BROKER) -> tuple[ErrorCode, str]:
    """Return why a topic is not created."""
    with pytest.raises(KafkaError) as caught:
        plan(topic, view)
    return caught.value.code, caught.value.message


def test_topic_is_a_topic_record_then_configs_then_partitions() -> None:
    """In Kafka's order; a new partition is led by its first replica, everything in sync, all epochs 0."""
    planned = plan(NewTopic("t", 2, 1, configs={"retention.ms": "5"}), view_of(EXISTING, (1,), {1: DIRECTORY}))
    topic, config, first, second = [record.message for record in planned.records]
    assert topic == TopicRecord(name="t", topic_id=planned.topic_id)
    assert config == ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="5")
    assert first == PartitionRecord(
        partition_id=0,
        topic_id=planned.topic_id,
        replicas=[1],
        isr=[1],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[DIRECTORY],
    )
    assert isinstance(second, PartitionRecord)
    assert second.partition_id == 1
    assert (planned.num_partitions, planned.replication_factor, planned.configs) == (2, 1, {"retention.ms": "5"})


def test_replica_whose_directory_is_not_chosen_has_kafkas_id_for_that() -> None:
    """1 is UNASSIGNED; all zeros would mean MIGRATING: that a record of old times says nothing of it."""
    (_, partition) = [record.message for record in plan(NewTopic("t", 1, 1), ONE_BROKER).records]
    assert isinstance(partition, PartitionRecord)
    assert partition.directories == [UUID(int=1)]


def test_minus_one_means_the_brokers_defaults() -> None:
    """num.partitions and default.replication.factor."""
    planned = plan(NewTopic("t"), view_of(EXISTING, (1, 2)), PlacementRules(num_partitions=3, replication_factor=2))
    assert (planned.num_partitions, planned.replication_factor) == (3, 2)


def test_manual_assignment_is_taken_as_it_is() -> None:
    """The first replica leads; partitions may come in any order."""
    planned = plan(NewTopic("t", assignments=((1, (3, 1)), (0, (2, 3)))), view_of(EXISTING, (1, 2, 3)))
    partitions = [r.message for r in planned.records if isinstance(r.message, PartitionRecord)]
    assert [(p.partition_id, p.replicas, p.leader) for p in partitions] == [(0, [2, 3], 2), (1, [3, 1], 3)]


@pytest.mark.parametrize(
    ("topic", "code", "part"),
    [
        (NewTopic("__cluster_metadata"), ErrorCode.INVALID_REQUEST, "prohibited"),
        (NewTopic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "a b"),
        (NewTopic("plain"), ErrorCode.TOPIC_ALREADY_EXISTS, "plain"),
        (NewTopic("old_name"), ErrorCode.INVALID_TOPIC_EXCEPTION, "collides with existing topic: old.name"),
        (NewTopic("t", 0, 1), ErrorCode.INVALID_PARTITIONS, "non-positive"),
        (NewTopic("t", -2, 1), ErrorCode.INVALID_PARTITIONS, "non-positive"),
        (NewTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR, "larger than 0"),
        (NewTopic("t", 0, -2), ErrorCode.INVALID_REPLICATION_FACTOR, "larger than 0"),
        (NewTopic("t", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR, "cannot be reached"),
        (NewTopic("t", configs={"no.such": "1"}), ErrorCode.INVALID_CONFIG, "no.such"),
        (NewTopic("t", configs={"retention.ms": "soon"}), ErrorCode.INVALID_CONFIG, "retention.ms"),
        (NewTopic("t", configs={"cleanup.policy": "é," * 15_000}), ErrorCode.INVALID_CONFIG, "has 45000 bytes"),
        (NewTopic("t", configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG, "Null value"),
        (NewTopic("t", 1, assignments=((0, (1,)),)), ErrorCode.INVALID_REQUEST, "numPartitions"),
        (NewTopic("t", -1, 1, assignments=((0, (1,)),)), ErrorCode.INVALID_REQUEST, "replication factor"),
        (NewTopic("t", assignments=((1, (1,)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "consecutive"),
        (NewTopic("t", assignments=((0, (1,)), (0, (1,)))), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "multiple"),
        (NewTopic("t", assignments=((0, ()),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "empty replica list"),
        (NewTopic("t", assignments=((0, (7,)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "broker 7"),
        (NewTopic("t", assignments=((0, (1, 1)),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "more than once"),
    ],
)
def test_topic_is_refused_with_kafkas_code(topic: NewTopic, code: ErrorCode, part: str) -> None:
    """Each rule has its own code and a sentence that names what is wrong."""
    found, message = refusal(topic)
    assert found is code
    assert part in message


def test_assignments_need_equal_numbers_of_replicas() -> None:
    """A topic has one replication factor."""
    topic = NewTopic("t", assignments=((0, (1, 2)), (1, (1,))))
    code, message = refusal(topic, view_of(EXISTING, (1, 2)))
    assert code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "not consistent" in message


def test_configs_are_judged_with_the_brokers_values() -> None:
    """A topic's min.compaction.lag.ms may contradict what the broker says of the maximum."""
    planner = TopicPlanner(view_of(EXISTING, log_cleaner_max_compaction_lag_ms="5"), RULES)
    with pytest.raises(KafkaError) as caught:
        planner.plan(NewTopic("t", configs={"min.compaction.lag.ms": "10"}))
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_more_than_ten_thousand_partitions_at_once_are_refused() -> None:
    """Counted over the whole request, defaults and assignments included."""
    fine = [NewTopic("a", 9_998, 1), NewTopic("b"), NewTopic("c", assignments=((0, (1,)),))]
    check_total(fine, RULES)
    with pytest.raises(KafkaError) as caught:
        check_total([*fine, NewTopic("d", 1, 1)], RULES)
    assert caught.value.code is ErrorCode.POLICY_VIOLATION


def test_added_partitions_are_numbered_on() -> None:
    """Their replicas are as many as the others have."""
    records = plan_partitions(ONE_BROKER, NewPartitions("old.name", 4), RULES)
    messages = [record.message for record in records]
    assert [(m.partition_id, m.topic_id, m.replicas) for m in messages if isinstance(m, PartitionRecord)] == [
        (2, A, [1]),
        (3, A, [1]),
    ]


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (NewPartitions("none", 4), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (NewPartitions("old.name", 2), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("old.name", 1), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("old.name", -1), ErrorCode.INVALID_PARTITIONS),
        (NewPartitions("old.name", 20_000), ErrorCode.POLICY_VIOLATION),
        (NewPartitions("old.name", 4, ((1,),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewPartitions("old.name", 3, ()), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewPartitions("old.name", 3, ((9,),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewPartitions("old.name", 3, ((1, 2),)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_partitions_are_refused_with_kafkas_code(wish: NewPartitions, code: ErrorCode) -> None:
    """Counts only grow, and assignments are as for new topics."""
    with pytest.raises(KafkaError) as caught:
        plan_partitions(view_of(EXISTING, (1, 2)), wish, RULES)
    assert caught.value.code is code


def test_deletion_is_one_record() -> None:
    """Configs and partitions go with the topic."""
    assert plan_deletion(EXISTING.topics_by_name["plain"]).message == RemoveTopicRecord(topic_id=UUID(int=0xB))


def test_min_isr_of_a_new_topic_clears_the_eligible_leaders() -> None:
    """Between configs and partitions, as Kafka writes it where eligible leader replicas are on (KIP-966)."""
    image = image_of([FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)], EXISTING)
    planned = plan(NewTopic("t", configs={"min.insync.replicas": "1"}), view_of(image))
    assert [type(record.message) for record in planned.records] == [
        TopicRecord,
        ConfigRecord,
        ClearElrRecord,
        PartitionRecord,
    ]


def test_fenced_broker_holds_a_replica_and_is_not_in_sync() -> None:
    """It comes back some day; where nobody can lead, nothing is created."""
    view = view_of(EXISTING, (1, 2))
    away = {**view.brokers, 1: view.brokers[1]._replace(fenced=True)}
    half = ControllerView(EXISTING, away, dict)
    planned = plan(NewTopic("t", assignments=((0, (1, 2)),)), half)
    partition = planned.records[-1].message
    assert isinstance(partition, PartitionRecord)
    assert (partition.replicas, partition.isr, partition.leader) == ([1, 2], [2], 2)
    code, message = refusal(NewTopic("t", assignments=((0, (1,)),)), half)
    assert code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "fenced or in controlled shutdown" in message
