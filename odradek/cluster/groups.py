"""Consumer groups: members, committed offsets, lag, and moving the offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)

from odradek.cluster.connection import ClusterClients
from odradek.cluster.coordinators import ask_coordinator
from odradek.cluster.errors import ANSWER_TIMEOUT_S, failure, sentence
from odradek.cluster.offsets import Offsets, Partition, latest
from odradek.terminal.errors import CommandError


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member; `instance_id` is None unless it is static."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: Sequence[Partition]


@dataclass(frozen=True, slots=True)
class CommittedPosition:
    """How far a group has come in one partition; None for what is not known: no commit, no topic, no member."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    member: GroupMember | None

    @property
    def lag(self) -> int | None:
        """How many offsets the group is behind."""
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """One group; `state` and `kind` are Kafka's names for them."""

    name: str
    state: str
    kind: str
    assignor: str
    coordinator: int | None
    members: Sequence[GroupMember]
    positions: Sequence[CommittedPosition]


def list_groups(cluster: ClusterClients) -> list[ConsumerGroupListing]:
    """Return all groups that any broker knows, by name."""
    found: ListConsumerGroupsResult = ask_coordinator(
        lambda: cluster.admin.list_consumer_groups(request_timeout=ANSWER_TIMEOUT_S),
        "listing groups",
        refused=lambda some: next((each.args[0] for each in some.errors or ()), None),
    )
    for each in found.errors or ():
        if isinstance(each, KafkaException):
            raise failure(each, "listing groups") from each
    return sorted(found.valid or (), key=lambda each: each.group_id)


def describe_group(cluster: ClusterClients, name: str) -> GroupDescription:
    """Return everything of a group; CommandError where it does not exist."""
    found = _description(cluster, name)
    members = [_member(each) for each in found.members]
    committed = committed_offsets(cluster, name)
    if found.state.name == "DEAD" and not members and not committed:
        raise CommandError(f"group {name} does not exist; `odradek groups list` shows those that do")
    return GroupDescription(
        name=name,
        state=found.state.name,
        kind=found.type.name,
        assignor=found.partition_assignor,
        coordinator=found.coordinator.id,
        members=members,
        positions=_positions(cluster, members, committed),
    )


def committed_offsets(cluster: ClusterClients, name: str) -> dict[Partition, int]:
    """Return what a group has committed; empty for a group that has not, or does not exist."""
    asked = [ConsumerGroupTopicPartitions(name)]
    found: ConsumerGroupTopicPartitions = ask_coordinator(
        lambda: cluster.admin.list_consumer_group_offsets(asked, request_timeout=ANSWER_TIMEOUT_S)[name],
        f"group {name}",
    )
    return {
        (each.topic, each.partition): each.offset
        for each in found.topic_partitions or ()
        if each.error is None and each.offset >= 0
    }


def check_empty(cluster: ClusterClients, name: str) -> None:
    """Return where a group has no members, or does not exist; CommandError otherwise."""
    members = _description(cluster, name).members
    if members:
        count = f"{len(members)} member{'s' if len(members) > 1 else ''}"
        raise CommandError(f"group {name} has {count}; stop its consumers first")


def move_offsets(cluster: ClusterClients, name: str, offsets: Offsets) -> None:
    """Commit offsets for a group; CommandError where it has members, or the broker refuses one."""
    wanted = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
    asked = [ConsumerGroupTopicPartitions(name, wanted)]
    done: ConsumerGroupTopicPartitions = ask_coordinator(
        lambda: cluster.admin.alter_consumer_group_offsets(asked, request_timeout=ANSWER_TIMEOUT_S)[name],
        f"group {name}",
        refused=lambda some: next((each.error for each in some.topic_partitions or () if each.error), None),
    )
    for each in done.topic_partitions or ():
        if each.error is not None:
            raise CommandError(sentence(each.error, f"group {name}, partition {each.partition} of {each.topic}"))


def delete_group(cluster: ClusterClients, name: str) -> None:
    """Delete a group with its offsets; CommandError where it has members or does not exist."""
    ask_coordinator(
        lambda: cluster.admin.delete_consumer_groups([name], request_timeout=ANSWER_TIMEOUT_S)[name], f"group {name}"
    )


def group_lags(cluster: ClusterClients, names: Sequence[str]) -> dict[str, int]:
    """Return how many offsets each group is behind in all partitions that it has committed."""
    committed = {name: committed_offsets(cluster, name) for name in names}
    topics = cluster.metadata().topics
    places = {
        (topic, number)
        for offsets in committed.values()
        for topic, number in offsets
        if topic in topics and number in topics[topic].partitions
    }
    ends = latest(cluster.admin, places)
    return {
        name: sum(max(0, ends[place] - offset) for place, offset in offsets.items() if place in ends)
        for name, offsets in committed.items()
    }


def forget_offsets(cluster: ClusterClients, name: str, partitions: Sequence[Partition]) -> None:
    """Delete what a group has committed for partitions; CommandError where a member of it reads one of their topics."""
    from odradek.client.errors import ClientError  # only now: no other command here asks by itself
    from odradek.cluster.broker_requests import check
    from odradek.protocol.messages.offset_delete import (
        OffsetDeleteRequest,
        OffsetDeleteRequestPartition,
        OffsetDeleteRequestTopic,
        OffsetDeleteResponse,
    )

    coordinator = _description(cluster, name).coordinator
    topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(OffsetDeleteRequestPartition(partition_index=number))
    request = OffsetDeleteRequest(
        group_id=name,
        topics=[OffsetDeleteRequestTopic(name=topic, partitions=numbers) for topic, numbers in topics.items()],
    )
    try:
        told = cluster.requests.ask_at((str(coordinator.host), coordinator.port), request, OffsetDeleteResponse)
    except ClientError as refused:
        raise CommandError(f"group {name}: {refused}") from refused
    check(told.error_code, None, f"group {name}")
    for each in told.topics:
        for part in each.partitions:
            check(part.error_code, None, f"group {name}, partition {part.partition_index} of {each.name}")


def _description(cluster: ClusterClients, name: str) -> ConsumerGroupDescription:
    found: ConsumerGroupDescription = ask_coordinator(
        lambda: cluster.admin.describe_consumer_groups([name], request_timeout=ANSWER_TIMEOUT_S)[name],
        f"group {name}",
    )
    return found


def _member(found: MemberDescription) -> GroupMember:
    assignment: MemberAssignment | None = found.assignment  # None while a rebalance is on, whatever is declared
    assigned = assignment.topic_partitions if assignment is not None else ()
    return GroupMember(
        member_id=found.member_id,
        instance_id=found.group_instance_id or None,
        client_id=found.client_id,
        host=found.host.removeprefix("/"),
        partitions=[(each.topic, each.partition) for each in assigned],
    )


def _positions(
    cluster: ClusterClients, members: Sequence[GroupMember], committed: Mapping[Partition, int]
) -> list[CommittedPosition]:
    owners = {partition: member for member in members for partition in member.partitions}
    partitions = sorted({*owners, *committed})
    topics = cluster.metadata().topics
    existing = [(name, number) for name, number in partitions if name in topics and number in topics[name].partitions]
    ends = latest(cluster.admin, existing)
    return [
        CommittedPosition(
            topic=each[0],
            partition=each[1],
            committed=committed.get(each),
            end=ends.get(each),
            member=owners.get(each),
        )
        for each in partitions
    ]
