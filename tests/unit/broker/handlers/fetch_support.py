"""What the tests of fetch requests share."""

import itertools
from dataclasses import dataclass
from uuid import UUID

from odradek.broker.handlers.converting import Converter
from odradek.broker.handlers.fetch import FetchHandler
from odradek.broker.handlers.fetch_sessions import FINAL_EPOCH, FetchSessions
from odradek.broker.quotas.enforcement import ClientQuotaEnforcement
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from odradek.protocol.records.batch import iter_batches
from odradek.protocol.records.record import iter_records
from tests.support.partitions import Node, Reply, context, decoded

VERSION = 12
HEAD = b"\0\0\0\7\0"
ROOM = 1 << 20
Ref = str | UUID


@dataclass(frozen=True)
class Place:
    """Where to read."""

    ref: Ref = "t"
    partition: int = 0
    offset: int = 0
    max_bytes: int = ROOM
    epoch: int = -1
    last_epoch: int = -1


def at(offset: int = 0, partition: int = 0) -> Place:
    """Return a place in topic `t`."""
    return Place(partition=partition, offset=offset)


@dataclass(frozen=True)
class Ask:
    """The parts of a request that are not about one partition."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = ROOM
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = FINAL_EPOCH
    forget: tuple[tuple[Ref, int], ...] = ()
    version: int = VERSION


def request(places: tuple[Place, ...], ask: Ask) -> FetchRequest:
    """Return a request for these places, in this order."""
    topics: list[FetchTopic] = []
    for ref, group in itertools.groupby(places, lambda place: place.ref):
        partitions = [
            FetchPartition(
                partition=place.partition,
                fetch_offset=place.offset,
                partition_max_bytes=place.max_bytes,
                current_leader_epoch=place.epoch,
                last_fetched_epoch=place.last_epoch,
            )
            for place in group
        ]
        topics.append(
            FetchTopic(topic_id=ref, partitions=partitions)
            if isinstance(ref, UUID)
            else FetchTopic(topic=ref, partitions=partitions)
        )
    return FetchRequest(
        max_wait_ms=ask.max_wait_ms,
        min_bytes=ask.min_bytes,
        max_bytes=ask.max_bytes,
        isolation_level=ask.isolation_level,
        session_id=ask.session_id,
        session_epoch=ask.session_epoch,
        topics=topics,
        forgotten_topics_data=[
            ForgottenTopic(topic_id=ref, partitions=[index])
            if isinstance(ref, UUID)
            else ForgottenTopic(topic=ref, partitions=[index])
            for ref, index in ask.forget
        ],
    )


class Consumer:
    """Asks one handler, which keeps the sessions."""

    def __init__(
        self, node: Node, slots: int = 10, max_bytes: int = 1 << 30, quotas: ClientQuotaEnforcement | None = None
    ) -> None:
        self.sessions = FetchSessions(slots, itertools.count(1).__next__)
        self._handler = FetchHandler(
            node.loop,
            node.table,
            self.sessions,
            node.clock,
            max_bytes,
            Converter(node.loop, node.memory),
            node.memory,
            quotas=quotas,
        )

    def __call__(self, *places: Place, ask: Ask | None = None) -> Reply:
        ask = ask or Ask()
        return Reply(self._handler(context(ask.version), request(places, ask), HEAD))


def response(reply: Reply, version: int = VERSION) -> FetchResponse:
    """Return the answer."""
    assert reply.data.startswith(HEAD)
    return decoded(FetchResponse, reply.data[len(HEAD) :], version)


def results(reply: Reply, version: int = VERSION) -> list[PartitionData]:
    """Return what the answer says of every partition, in its order."""
    found = response(reply, version)
    assert found.error_code == 0
    return [partition for topic in found.responses for partition in topic.partitions]


def result(reply: Reply, version: int = VERSION) -> PartitionData:
    """Return what the answer says of its only partition."""
    [only] = results(reply, version)
    return only


def values(found: PartitionData) -> list[tuple[int, bytes | None]]:
    """Return offset and value of every record in whole batches."""
    if found.records is None:
        return []
    data = memoryview(found.records)
    return [
        (record.offset, record.value)
        for position, header in iter_batches(data)
        for record in iter_records(data[position : position + header.size])
        if not header.is_control
    ]


def size_of(found: PartitionData) -> int:
    """Return how many bytes of records there are."""
    return 0 if found.records is None else len(found.records)
