"""All topics and groups of a cluster with what one compares them by: sizes, offsets, lag, replicas that are missing.

In few requests, however many there are: see `bulk_questions`. Of a large cluster they take seconds all the same; what
brokers know without looking at a log is told at once by `cluster_names`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from odradek.cluster.broker_requests import Address, BrokerRequests, check
from odradek.cluster.bulk_questions import (
    EARLIEST,
    GROUPS_AT_ONCE,
    LATEST,
    ask_each,
    committed_offsets_of,
    offsets_of_leaders,
)
from odradek.cluster.offsets import Offsets, Partition
from odradek.protocol.codec import Message
from odradek.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from odradek.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from odradek.protocol.messages.offset_fetch import OffsetFetchResponse

_NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True)
class TopicOverview:
    """One topic. What is summed over its partitions is None where one of them is not known."""

    name: str
    is_internal: bool
    partitions: int
    replication_factor: int
    under_replicated: int
    """Partitions with fewer replicas in sync than there are."""
    offline: int
    """Partitions without a leader."""
    offsets: int | None
    """From the first offset to the last, of all partitions: not more records than that."""
    size: int | None
    """Bytes of all replicas."""
    lag: int | None
    """Of the group that is behind most; None where none has committed anything."""
    groups: int
    """Groups that have committed something in it."""


@dataclass(frozen=True, slots=True)
class GroupOverview:
    """One group; `state` and `kind` are Kafka's names for them, `lags` are by topic."""

    name: str
    state: str
    kind: str
    protocol: str
    lags: Mapping[str, int]

    @property
    def lag(self) -> int | None:
        """The lag in all topics; None where it has committed nothing."""
        return sum(self.lags.values()) if self.lags else None


@dataclass(frozen=True, slots=True)
class ClusterOverview:
    """A cluster at about one moment, topics and groups by name."""

    topics: Sequence[TopicOverview]
    groups: Sequence[GroupOverview]
    silent: Sequence[str] = ()
    """Brokers, as host:port, that did not tell the sizes of their partitions or their groups."""
    is_whole: bool = True
    """False: nobody has asked for offsets, sizes and lags, which are not known then."""

    @property
    def amount(self) -> int:
        """How much there is to ask for: partitions, and groups, each of which may have offsets in many of them."""
        return sum(each.partitions for each in self.topics) + 10 * len(self.groups)


@dataclass(slots=True)
class _Sum:
    """What is known of a topic's partitions."""

    size: int | None = 0
    lags: dict[str, int] = field(default_factory=dict)


def cluster_overview(requests: BrokerRequests) -> ClusterOverview:
    """Ask for everything; CommandError where the cluster does not even tell its topics."""
    topics, addresses = _topics(requests)
    first = offsets_of_leaders(requests, topics, addresses, EARLIEST)
    end = offsets_of_leaders(requests, topics, addresses, LATEST)
    everywhere: dict[Address, Message] = dict.fromkeys(addresses.values(), DescribeLogDirsRequest(topics=None))
    directories = ask_each(requests, everywhere, DescribeLogDirsResponse)
    groups, silent = _groups(
        requests, list(addresses.values()), {each.topic_id: str(each.name) for each in topics}, end
    )
    sums = {str(each.name): _Sum() for each in topics}
    for answer in directories.values():
        _add_sizes(sums, answer)
    if len(directories) < len(addresses):
        for each in sums.values():
            each.size = None
    for group in groups:
        for topic, lag in group.lags.items():
            if topic in sums:
                sums[topic].lags[group.name] = lag
    silent |= addresses.values() - directories.keys()
    return ClusterOverview(
        topics=[
            _topic(each, sums[str(each.name)], first, end) for each in sorted(topics, key=lambda one: str(one.name))
        ],
        groups=sorted(groups, key=_name),
        silent=[f"{host}:{port}" for host, port in sorted(silent)],
    )


def cluster_names(requests: BrokerRequests) -> ClusterOverview:
    """Ask for topics with their replicas and for groups with their states, and for nothing that takes time.

    CommandError where the cluster does not even tell its topics.
    """
    topics, addresses = _topics(requests)
    listed = _listed(requests, list(addresses.values()))
    nothing = _Sum(size=None)
    return ClusterOverview(
        topics=[_topic(each, nothing, {}, {}) for each in sorted(topics, key=lambda one: str(one.name))],
        groups=sorted((_group(each, {}) for answer in listed.values() for each in answer.groups), key=_name),
        silent=[f"{host}:{port}" for host, port in sorted(_silent(addresses.values(), listed))],
        is_whole=False,
    )


def _topics(requests: BrokerRequests) -> tuple[list[MetadataResponseTopic], dict[int, Address]]:
    """Return the topics, and where the brokers are."""
    metadata = requests.ask(MetadataRequest(topics=None), MetadataResponse, "the topics")
    check(metadata.error_code, None, "the topics")
    topics = [each for each in metadata.topics if each.name and not each.error_code]
    return topics, {broker.node_id: (broker.host, broker.port) for broker in metadata.brokers}


def _topic(found: MetadataResponseTopic, known: _Sum, first: Offsets, end: Offsets) -> TopicOverview:
    name = str(found.name)
    places = [(name, each.partition_index) for each in found.partitions]
    ends, firsts = _total(end, places), _total(first, places)
    return TopicOverview(
        name=name,
        is_internal=found.is_internal,
        partitions=len(found.partitions),
        replication_factor=max((len(each.replica_nodes) for each in found.partitions), default=0),
        under_replicated=sum(len(each.isr_nodes) < len(each.replica_nodes) for each in found.partitions),
        offline=sum(each.leader_id == _NO_LEADER for each in found.partitions),
        offsets=None if ends is None or firsts is None else ends - firsts,
        size=known.size,
        lag=max(known.lags.values(), default=None),
        groups=len(known.lags),
    )


def _total(offsets: Offsets, places: Sequence[Partition]) -> int | None:
    if any(each not in offsets for each in places):
        return None
    return sum(offsets[each] for each in places)


def _add_sizes(sums: Mapping[str, _Sum], answer: DescribeLogDirsResponse) -> None:
    for directory in answer.results:
        for topic in directory.topics:
            known = sums.get(topic.name)
            if known is not None and known.size is not None:
                known.size += sum(each.partition_size for each in topic.partitions)


def _groups(
    requests: BrokerRequests, brokers: Sequence[Address], names: Mapping[UUID, str], ends: Offsets
) -> tuple[list[GroupOverview], set[Address]]:
    """Return the groups, and the brokers that did not tell theirs."""
    listed = _listed(requests, brokers)
    lags: dict[str, dict[str, int]] = {}
    longest = max((len(answer.groups) for answer in listed.values()), default=0)
    for begin in range(0, longest, GROUPS_AT_ONCE):
        portion = {
            address: [each.group_id for each in answer.groups[begin : begin + GROUPS_AT_ONCE]]
            for address, answer in listed.items()
        }
        for answer in committed_offsets_of(requests, {at: some for at, some in portion.items() if some}):
            _add_lags(lags, answer, names, ends)
    groups = [_group(each, lags.get(each.group_id, {})) for answer in listed.values() for each in answer.groups]
    return groups, _silent(brokers, listed)


def _listed(requests: BrokerRequests, brokers: Sequence[Address]) -> dict[Address, ListGroupsResponse]:
    questions: dict[Address, Message] = dict.fromkeys(brokers, ListGroupsRequest())
    return ask_each(requests, questions, ListGroupsResponse)


def _silent(brokers: Iterable[Address], listed: Mapping[Address, ListGroupsResponse]) -> set[Address]:
    return {at for at in brokers if at not in listed} | {at for at, answer in listed.items() if answer.error_code}


def _group(found: ListedGroup, lags: Mapping[str, int]) -> GroupOverview:
    state, kind = found.group_state or "unknown", found.group_type or "classic"
    return GroupOverview(found.group_id, state, kind, found.protocol_type, lags)


def _name(group: GroupOverview) -> str:
    return group.name


def _add_lags(
    lags: dict[str, dict[str, int]], answer: OffsetFetchResponse, names: Mapping[UUID, str], ends: Offsets
) -> None:
    for group in answer.groups:
        of_group = lags.setdefault(group.group_id, {})
        for topic in group.topics if not group.error_code else ():
            name = topic.name or names.get(topic.topic_id, "")
            for one in topic.partitions:
                end = ends.get((name, one.partition_index))
                if end is not None and not one.error_code and one.committed_offset >= 0:
                    of_group[name] = of_group.get(name, 0) + max(0, end - one.committed_offset)
