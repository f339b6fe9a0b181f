"""Questions about everything in a cluster, in few requests: to each leader one for the offsets of all its partitions,
to each coordinator one for what a hundred of its groups have committed. What a broker does not answer is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import Address, BrokerRequests
from odradek.protocol.codec import Message
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import MetadataResponseTopic
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

GROUPS_AT_ONCE: Final = 100
"""Groups that one request is about."""
FIRST_OF_SEVERAL: Final = 8
"""From this version of OffsetFetch on, a request may be about several groups."""
EARLIEST, LATEST = -2, -1
_TIMEOUT_MS: Final = 10_000

BulkAnswer = TypeVar("BulkAnswer", bound=Message)


def ask_each(
    requests: BrokerRequests, questions: Mapping[Address, Message], answer: type[BulkAnswer]
) -> dict[Address, BulkAnswer]:
    """Ask several brokers at once; returns the answers of those that gave one."""
    if not questions:
        return {}
    answers = requests.ask_each(questions, answer)
    return {address: one for address, one in answers.items() if not isinstance(one, ClientError)}


def offsets_of_leaders(
    requests: BrokerRequests,
    topics: Iterable[MetadataResponseTopic],
    addresses: Mapping[int, Address],
    timestamp: int,
) -> dict[tuple[str, int], int]:
    """Return where partitions begin (EARLIEST) or end (LATEST), by what their leaders say; `addresses` by broker id."""
    wanted: dict[int, list[ListOffsetsTopic]] = {}
    for topic in topics:
        by_leader: dict[int, list[ListOffsetsPartition]] = {}
        for partition in topic.partitions:
            asked = ListOffsetsPartition(partition_index=partition.partition_index, timestamp=timestamp)
            by_leader.setdefault(partition.leader_id, []).append(asked)
        for leader, partitions in by_leader.items():
            wanted.setdefault(leader, []).append(ListOffsetsTopic(name=topic.name or "", partitions=partitions))
    questions: dict[Address, Message] = {
        addresses[leader]: ListOffsetsRequest(replica_id=-1, topics=some, timeout_ms=_TIMEOUT_MS)
        for leader, some in wanted.items()
        if leader in addresses
    }
    return {
        (topic.name, one.partition_index): one.offset
        for answer in ask_each(requests, questions, ListOffsetsResponse).values()
        for topic in answer.topics
        for one in topic.partitions
        if one.error_code == 0
    }


def committed_offsets_of(
    requests: BrokerRequests, groups: Mapping[Address, Sequence[str]]
) -> list[OffsetFetchResponse]:
    """Return what groups have committed, asked of their coordinators, with the name of each group in its place."""
    questions: dict[Address, Message] = {}
    answers: list[OffsetFetchResponse] = []
    for address, names in groups.items():
        try:
            is_old = requests.newest_at(address, OffsetFetchRequest) < FIRST_OF_SEVERAL
        except ClientError:
            continue
        if not is_old:
            asked = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
            questions[address] = OffsetFetchRequest(groups=asked)
        for name in names if is_old else ():
            question: Mapping[Address, Message] = {address: OffsetFetchRequest(group_id=name, topics=None)}
            answers += [_named(name, one) for one in ask_each(requests, question, OffsetFetchResponse).values()]
    return [*answers, *ask_each(requests, questions, OffsetFetchResponse).values()]


def _named(group: str, answer: OffsetFetchResponse) -> OffsetFetchResponse:
    """Return the answer about one group, of an old version, in the form of those about several."""
    topics = [
        OffsetFetchResponseTopics(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartitions(
                    partition_index=one.partition_index,
                    committed_offset=one.committed_offset,
                    error_code=one.error_code,
                )
                for one in topic.partitions
            ],
        )
        for topic in answer.topics
    ]
    return OffsetFetchResponse(
        groups=[OffsetFetchResponseGroup(group_id=group, topics=topics, error_code=answer.error_code)]
    )
