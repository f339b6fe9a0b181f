"""Creating and deleting topics, adding partitions: what is allowed, and the records that do it.

Owns: Kafka's rules and sentences for these requests (`ReplicationControlManager`, `ControllerApis`). Pure: an image
and a wish in, records or a KafkaError out. Must not know: requests of any version, files.
"""

from collections.abc import Container, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.controller.configs import check_lengths
from odradek.broker.controller.controller_view import MIN_INSYNC_REPLICAS, ControllerView
from odradek.broker.controller.placement import place_in_turn, place_striped
from odradek.broker.metadata.image import ResourceType, TopicImage
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.metadata.topic_names import check_name, find_collision, names_by_metric
from odradek.config.errors import ConfigError
from odradek.config.topic import validate_overrides
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import (
    ClearElrRecord,
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.protocol.uuids import random_uuid
from odradek.storage.names import METADATA_TOPIC

DEFAULT: Final = -1
"""Number of partitions or replicas that stands for the broker's default."""
MAX_PARTITIONS_PER_REQUEST: Final = 10_000
_MORE_THAN_BROKERS = 10_000
"""Among so many replicas of one partition is one that is no broker, or comes twice."""
TOO_MANY = "Excessively large number of partitions per request."

Assignment = tuple[tuple[int, tuple[int, ...]], ...]
"""Partition index and its replicas, as a client gave them."""


class NewTopic(NamedTuple):
    """A topic that somebody wants; `assignments` empty means that the broker places the replicas."""

    name: str
    num_partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Assignment = ()
    configs: Mapping[str, str | None] | None = None


class NewPartitions(NamedTuple):
    """A topic that is to have `total` partitions; `assignments` has the replicas of each added one, None: placed."""

    name: str
    total: int
    assignments: tuple[tuple[int, ...], ...] | None = None


class PlannedTopic(NamedTuple):
    """A topic that can be created, and the records that do it."""

    name: str
    topic_id: UUID
    num_partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    records: tuple[MetadataRecord, ...]


class PlacementRules(NamedTuple):
    """What a new partition depends on beside the wish and the cluster."""

    num_partitions: int = 1
    replication_factor: int = 1
    random: Random | None = None
    """Chance for the placement over racks; None: brokers take turns, wherever they stand."""


def check_total(topics: Sequence[NewTopic], rules: PlacementRules) -> int:
    """Return how many partitions one request asks for; raise KafkaError POLICY_VIOLATION if Kafka does not create so
    many at once."""
    total = 0
    for topic in topics:
        if topic.assignments:
            total += len(topic.assignments)
        else:
            total += rules.num_partitions if topic.num_partitions == DEFAULT else max(0, topic.num_partitions)
    if total > MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, TOO_MANY)
    return total


class TopicPlanner:
    """Plans the topics of one request on one image."""

    def __init__(self, view: ControllerView, rules: PlacementRules) -> None:
        self._view = view
        self._image = view.image
        self._rules = rules
        self._taken = names_by_metric(view.image.topics_by_name)

    def plan(self, topic: NewTopic) -> PlannedTopic:
        """Return what creates the topic; raise KafkaError with Kafka's code for everything that forbids it."""
        self._check_name(topic.name)
        configs = _check_configs(topic.configs or {}, self._view.configs)
        replicas = _assigned(topic, self._view) if topic.assignments else _placed(topic, self._view, self._rules)
        topic_id = random_uuid()
        records = [make_record(TopicRecord(name=topic.name, topic_id=topic_id))]
        records += [
            make_record(
                ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=topic.name, name=name, value=value)
            )
            for name, value in configs.items()
        ]
        if self._view.has_elr and MIN_INSYNC_REPLICAS in configs:
            records.append(make_record(ClearElrRecord(topic_name=topic.name)))
        records += _partition_records(self._view, topic_id, 0, replicas, is_manual=bool(topic.assignments))
        return PlannedTopic(
            name=topic.name,
            topic_id=topic_id,
            num_partitions=len(replicas),
            replication_factor=len(replicas[0]),
            configs=configs,
            records=tuple(records),
        )

    def _check_name(self, name: str) -> None:
        if name == METADATA_TOPIC:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
        problem = check_name(name)
        if problem:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if self._image.topic(name):
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        other = find_collision(name, self._taken)
        if other:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")


def plan_partitions(view: ControllerView, wish: NewPartitions, rules: PlacementRules) -> list[MetadataRecord]:
    """Return the records that add partitions to a topic; raise KafkaError with Kafka's code if it cannot be done."""
    topic = view.image.topic(wish.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    have = len(topic.partitions)
    if wish.total == have:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if wish.total < have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {wish.name} currently has {have} partition(s); {wish.total} would not be an increase.",
        )
    added = wish.total - have
    if added > MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, TOO_MANY)
    replication_factor = len(topic.partitions[0].replicas)
    if wish.assignments is None:
        replicas = _place(view, rules, replication_factor, have, added)
    elif len(wish.assignments) != added:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {added} additional partition(s), but only {len(wish.assignments)} assignment(s) were"
            " specified.",
        )
    else:
        replicas = list(wish.assignments)
        for assigned in replicas:
            check_assignment(assigned, replication_factor, view.brokers)
    return _partition_records(view, topic.topic_id, have, replicas, is_manual=wish.assignments is not None)


def plan_deletion(topic: TopicImage) -> MetadataRecord:
    """Return the record that deletes a topic, its partitions and its configs."""
    return make_record(RemoveTopicRecord(topic_id=topic.topic_id))


def _check_configs(configs: Mapping[str, str | None], broker: Mapping[str, str]) -> dict[str, str]:
    given = {name: value for name, value in configs.items() if value is not None}
    if len(given) < len(configs):
        names = ",".join(name for name in configs if name not in given)
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {names}")
    check_lengths(given)
    try:
        validate_overrides(given, broker)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from error
    return given


def _placed(topic: NewTopic, view: ControllerView, rules: PlacementRules) -> list[tuple[int, ...]]:
    if topic.replication_factor < DEFAULT or topic.replication_factor == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < DEFAULT or topic.num_partitions == 0:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    count = rules.num_partitions if topic.num_partitions == DEFAULT else topic.num_partitions
    factor = rules.replication_factor if topic.replication_factor == DEFAULT else topic.replication_factor
    return _place(view, rules, factor, 0, count)


def _place(view: ControllerView, rules: PlacementRules, factor: int, first: int, count: int) -> list[tuple[int, ...]]:
    brokers = view.usable_brokers()
    if rules.random is None:
        return place_in_turn(brokers, factor, first, count)
    return place_striped(brokers, factor, count, rules.random)


def _assigned(topic: NewTopic, view: ControllerView) -> list[tuple[int, ...]]:
    for what, value in (("replication factor", topic.replication_factor), ("numPartitions", topic.num_partitions)):
        if value != DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    by_index: dict[int, tuple[int, ...]] = {}
    factor: int | None = None
    for index, replicas in topic.assignments:
        if index in by_index:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {index}",
            )
        check_assignment(replicas, factor, view.brokers)
        factor = len(replicas)
        by_index[index] = replicas
    if any(index not in by_index for index in range(len(by_index))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return [by_index[index] for index in range(len(by_index))]


def check_assignment(replicas: tuple[int, ...], factor: int | None, brokers: Container[int]) -> None:
    """Raise KafkaError unless the replicas are distinct registered brokers, as many as the other partitions have."""
    problem = None
    if not replicas:
        problem = "The manual partition assignment includes an empty replica list."
    previous = None
    for broker in sorted(replicas[:_MORE_THAN_BROKERS]):
        if broker not in brokers:
            problem = f"The manual partition assignment includes broker {broker}, but no such broker is registered."
        elif broker == previous:
            problem = f"The manual partition assignment includes the broker {broker} more than once."
        if problem:
            break
        previous = broker
    if problem is None and factor is not None and len(replicas) != factor:
        problem = (
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not"
            f" consistent with previous partitions, which have {factor} replica(s)."
        )
    if problem:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)


def _partition_records(
    view: ControllerView, topic_id: UUID, first: int, replicas: Sequence[tuple[int, ...]], *, is_manual: bool
) -> list[MetadataRecord]:
    records = []
    for index, assigned in enumerate(replicas, first):
        isr = [broker for broker in assigned if view.is_active(broker)]
        if not isr:
            raise _nobody_to_lead(index, len(assigned), is_manual=is_manual)
        record = PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=list(assigned),
            isr=isr,
            leader=isr[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=[view.default_directory(broker) for broker in assigned],
        )
        records.append(make_record(record, view.record_version))
    return records


def _nobody_to_lead(index: int, factor: int, *, is_manual: bool) -> KafkaError:
    if is_manual:
        return KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers specified in the manual partition assignment for partition {index} are fenced or in"
            " controlled shutdown.",
        )
    return KafkaError(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition {factor} time(s): All brokers are currently fenced or in controlled"
        " shutdown.",
    )
