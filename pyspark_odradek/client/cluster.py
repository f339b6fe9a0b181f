"""A cluster as a reader needs it: which topics there are, who leads their partitions, where these begin and end."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn, TypeVar
from uuid import UUID

from odradek.client.connection import NO_BUFFERS, BrokerConnection, Buffers
from odradek.client.errors import ConnectionLostError
from odradek.protocol.errors import RETRIABLE, ErrorCode
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from odradek.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.protocol.registry import ApiKey
from odradek.protocol.sasl import MakeExchange
from pyspark_odradek.client.backoff import Backoff
from pyspark_odradek.client.connection import call, source_errors
from pyspark_odradek.errors import BrokerUnreachableError, ClusterError, UnknownTopicError
from pyspark_odradek.offsets import Offsets, TopicPartition

FETCH_BYTES: Final = 4 * 1024 * 1024
FETCH_MAX_BYTES: Final = 50 * 1024 * 1024
RETRY_BACKOFF: Final = Backoff(0.1, 1.0)
RECONNECT_BACKOFF: Final = Backoff(0.05, 1.0)
_CONSUMER: Final = -1
_NO_ID: Final = UUID(int=0)
_FINAL: Final = frozenset({ErrorCode.CORRUPT_MESSAGE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
"""Errors that Kafka's clients try again after, and which do not go away while a reader waits."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How to reach a cluster, and how to read from it."""

    bootstrap: tuple[tuple[str, int], ...]
    client_id: str = "odradek-spark"
    request_timeout_s: float = 30.0
    """How long to wait for bytes of an answer."""
    retry_timeout_s: float = 60.0
    """For how long what fails is tried again: a broker that restarts must not end a job."""
    first_retry_timeout_s: float = 10.0
    """The same for a cluster that never answered before."""
    retries: int | None = None
    """How often what fails is tried again at most; None leaves that to the times."""
    retry_backoff: Backoff = RETRY_BACKOFF
    reconnect_backoff: Backoff = RECONNECT_BACKOFF
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 540.0
    """How long connections that nobody uses are kept for the next task."""
    buffers: Buffers = NO_BUFFERS
    read_committed: bool = False
    internal_topics: bool = False
    """Whether `topics` has internal ones, too."""
    rack: str = ""
    """Where this reader is: a replica there is read from rather than the leader (KIP-392)."""
    fetch_bytes: int = FETCH_BYTES
    """How much is asked for at a time."""
    fetch_max_bytes: int = FETCH_MAX_BYTES
    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    check_crcs: bool = True
    tls: ssl.SSLContext | None = None
    login: MakeExchange | None = None


class PartitionLeader(NamedTuple):
    """Who leads a partition, and in which epoch of leadership."""

    node: int
    epoch: int


class ClusterConnections:
    """Connections to the brokers of a cluster, opened as they are needed."""

    def __init__(self, options: ClusterOptions) -> None:
        self.options = options
        self._addresses: dict[int, tuple[str, int]] = {}
        self._leaders: dict[TopicPartition, PartitionLeader] = {}
        self._epochs: dict[TopicPartition, int] = {}
        """The newest epochs of leadership that were heard of: who knows only an older one is not believed."""
        self._topic_ids: dict[str, UUID] = {}
        self._nearest: dict[TopicPartition, int] = {}
        """Which replicas leaders have told to read from."""
        self._connections: dict[int, BrokerConnection] = {}
        self._answered = False

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def retry(self, action: Callable[[], Result]) -> Result:
        """Return what `action` returns, tried again while brokers cannot be reached, with fresh connections.

        Raises:
            ClusterError: it failed otherwise, or for as long as is tried.
        """
        began, failures, options = time.monotonic(), 0, self.options
        while True:
            try:
                return action()
            except BrokerUnreachableError as failed:
                self.close()
                self._leaders.clear()
                self._nearest.clear()
                failures += 1
                timeout = options.retry_timeout_s if self._answered else options.first_retry_timeout_s
                if time.monotonic() - began > timeout or (options.retries is not None and failures > options.retries):
                    raise
                is_lost = isinstance(failed.__cause__, ConnectionLostError)
                time.sleep((options.reconnect_backoff if is_lost else options.retry_backoff).wait_s(failures))

    def topics(self) -> dict[str, list[int]]:
        """Return the topics of the cluster with their partitions, internal ones only if wanted. Raises ClusterError."""
        answer = self.retry(lambda: self._metadata(None))
        return {
            topic.name: sorted(partition.partition_index for partition in topic.partitions)
            for topic in answer.topics
            if topic.name and not topic.error_code and (self.options.internal_topics or not topic.is_internal)
        }

    def partitions(self, topics: Collection[str]) -> dict[str, list[int]]:
        """Return the partitions of those of these topics that exist. Raises ClusterError."""
        return self.retry(lambda: self._partitions(topics))

    def topic_ids(self, topics: Collection[str]) -> dict[str, UUID]:
        """Return the ids of those of these topics that were asked for before; none where brokers do not tell them."""
        return {name: self._topic_ids[name] for name in topics if name in self._topic_ids}

    def offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """Return the offset for a timestamp in ms, LATEST or EARLIEST, of each partition; NO_OFFSET if there is none.

        Readers of committed records only get the last stable offset as the latest. Raises UnknownTopicError or another
        ClusterError.
        """
        return self.retry(lambda: self._offsets(wanted))

    def leader(self, partition: TopicPartition) -> BrokerConnection:
        """Return the connection to the leader of a partition.

        Raises:
            ConnectionLostError: the leader is not known now, or cannot be reached.
            UnknownTopicError: there is no such topic or partition.
        """
        return self._connected(self._leader(partition).node)

    def leader_epoch(self, partition: TopicPartition) -> int:
        """Return the epoch of leadership of a partition, -1 where it is not known. Raises what `leader` raises."""
        return self._leader(partition).epoch

    def nearest(self, partition: TopicPartition) -> BrokerConnection:
        """Return the connection to who is read from: the leader, or who it has told. Raises what `leader` raises."""
        node = self._nearest.get(partition)
        return self.leader(partition) if node not in self._addresses else self._connected(node)

    def read_from(self, partition: TopicPartition, node: int | None) -> None:
        """Read a partition from this replica from now on; None for the leader."""
        if node is None:
            self._nearest.pop(partition, None)
        else:
            self._nearest[partition] = node

    def is_read_from_leader(self, partition: TopicPartition) -> bool:
        """Return whether a partition is read from its leader."""
        return partition not in self._nearest

    def end_of_epoch(self, partition: TopicPartition, epoch: int) -> int | None:
        """Return where the records of an epoch of leadership end in the log of the leader (KIP-320), as it is now.

        None where it knows nothing of that epoch and of those before. Raises what `leader` raises, and ClusterError.
        """
        wanted = OffsetForLeaderPartition(
            partition=partition.partition, current_leader_epoch=self.leader_epoch(partition), leader_epoch=epoch
        )
        topic = OffsetForLeaderTopic(topic=partition.topic, partitions=[wanted])
        request = OffsetForLeaderEpochRequest(replica_id=_CONSUMER, topics=[topic])
        answer = call(self.leader(partition), ApiKey.OFFSET_FOR_LEADER_EPOCH, request, OffsetForLeaderEpochResponse)
        for of_topic in answer.topics:
            for one in of_topic.partitions:
                if (of_topic.topic, one.partition) == partition:
                    check(one.error_code, f"the epochs of partition {partition}")
                    return one.end_offset if one.end_offset >= 0 else None
        raise ClusterError(f"the broker does not answer for partition {partition}")

    def _leader(self, partition: TopicPartition) -> PartitionLeader:
        if partition not in self._leaders and partition.partition not in self._partitions([partition.topic]).get(
            partition.topic, ()
        ):
            raise UnknownTopicError(f"there is no partition {partition.partition} of a topic {partition.topic}")
        leader = self._leaders.get(partition)
        if leader is None:
            raise BrokerUnreachableError(f"partition {partition} has no leader now")
        return leader

    def _connected(self, node: int) -> BrokerConnection:
        if node not in self._connections:
            self._connections[node] = self._connect(self._addresses[node])
        return self._connections[node]

    def _connect(self, address: tuple[str, int]) -> BrokerConnection:
        options = self.options
        with source_errors():
            return BrokerConnection(
                address,
                options.client_id,
                options.request_timeout_s,
                options.tls,
                options.login,
                options.connect_timeout_s,
                options.buffers,
            )

    def _partitions(self, topics: Collection[str]) -> dict[str, list[int]]:
        found = {}
        for topic in self._metadata(topics).topics:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            check(topic.error_code, f"topic {topic.name}")
            found[topic.name or ""] = sorted(partition.partition_index for partition in topic.partitions)
        return found

    def _metadata(self, topics: Collection[str] | None) -> MetadataResponse:
        """Ask any broker for topics and leaders."""
        names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        answer = self._any_broker(lambda connection: call(connection, ApiKey.METADATA, request, MetadataResponse))
        self._answered = True
        self._addresses = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        for topic in answer.topics:
            if topic.name and not topic.error_code:
                self._learn(topic.name, topic)
        return answer

    def _learn(self, name: str, topic: MetadataResponseTopic) -> None:
        """Note who leads a topic's partitions, but not what a broker tells who is behind the others."""
        if topic.topic_id != self._topic_ids.get(name, topic.topic_id) or topic.topic_id == _NO_ID:
            for known in [each for each in self._epochs if each.topic == name]:
                del self._epochs[known]  # made anew; or nothing tells whether it was
        if topic.topic_id != _NO_ID:
            self._topic_ids[name] = topic.topic_id
        for partition in topic.partitions:
            tp, epoch = TopicPartition(name, partition.partition_index), partition.leader_epoch
            if epoch >= self._epochs.get(tp, epoch) and partition.leader_id in self._addresses:
                self._epochs[tp] = epoch
                self._leaders[tp] = PartitionLeader(partition.leader_id, epoch)

    def _any_broker(self, ask: Callable[[BrokerConnection], Result]) -> Result:
        """Return the answer of a broker that is connected, or else of one that was named or that others told of."""
        for node, connection in list(self._connections.items()):
            try:
                return ask(connection)
            except BrokerUnreachableError:
                connection.close()
                del self._connections[node]
        failed: BrokerUnreachableError | None = None
        named = self.options.bootstrap
        told = [each for each in self._addresses.values() if each not in named]
        for address in (*random.sample(named, len(named)), *random.sample(told, len(told))):
            try:
                connection = self._connect(address)
            except BrokerUnreachableError as error:
                failed = error
                continue
            try:
                return ask(connection)
            except BrokerUnreachableError as error:
                failed = error
            finally:
                connection.close()
        raise failed or BrokerUnreachableError("no broker is named")

    def _offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        by_leader: dict[BrokerConnection, list[TopicPartition]] = {}
        epochs: dict[TopicPartition, int] = {}
        for partition in wanted:
            by_leader.setdefault(self.leader(partition), []).append(partition)
            epochs[partition] = self.leader_epoch(partition)
        found: Offsets = {}
        for connection, partitions in by_leader.items():
            topics = [
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=tp.partition, current_leader_epoch=epochs[tp], timestamp=wanted[tp]
                        )
                        for tp in of_topic
                    ],
                )
                for topic, of_topic in _by_topic(partitions).items()
            ]
            request = ListOffsetsRequest(
                replica_id=_CONSUMER, isolation_level=int(self.options.read_committed), topics=topics
            )
            answer = call(connection, ApiKey.LIST_OFFSETS, request, ListOffsetsResponse)
            for topic in answer.topics:
                for one in topic.partitions:
                    partition = TopicPartition(topic.name, one.partition_index)
                    if partition not in wanted:
                        continue
                    check(one.error_code, f"the offsets of partition {partition}")
                    found[partition] = one.offset
        if missing := wanted.keys() - found.keys():
            raise ClusterError(f"the broker does not answer for partition {min(missing)}")
        return found


def check(error_code: int, what: str) -> None:
    """Raise for an error code of a broker; return for code 0.

    Raises:
        ConnectionLostError: trying again may help.
        UnknownTopicError: the topic or partition does not exist.
        ClusterError: anything else.
    """
    if error_code:
        _refuse(error_code, what)


def _refuse(error_code: int, what: str) -> NoReturn:
    try:
        code = ErrorCode(error_code)
    except ValueError:
        raise ClusterError(f"{what} cannot be read: the broker answers with error {error_code}") from None
    error: type[ClusterError] = ClusterError
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        error = UnknownTopicError
    elif code in RETRIABLE - _FINAL:
        error = BrokerUnreachableError
    raise error(f"{what} cannot be read: the broker answers {code.name}")


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics
