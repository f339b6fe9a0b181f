"""A cluster as a reader needs it: which topics there are, who leads their partitions, where these begin and end."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, TypeVar

from odradek.client.connection import BrokerConnection
from odradek.protocol.errors import RETRIABLE, ErrorCode
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.protocol.registry import ApiKey
from odradek.protocol.sasl import MakeExchange
from pyspark_odradek.client.connection import call, source_errors
from pyspark_odradek.errors import BrokerUnreachableError, ClusterError, UnknownTopicError
from pyspark_odradek.offsets import Offsets, TopicPartition

FETCH_BYTES: Final = 4 * 1024 * 1024
_CONSUMER: Final = -1
_RETRY_WAIT_S: Final = 0.1
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
    read_committed: bool = False
    fetch_bytes: int = FETCH_BYTES
    """How much is asked for at a time."""
    check_crcs: bool = True
    tls: ssl.SSLContext | None = None
    login: MakeExchange | None = None


class ClusterConnections:
    """Connections to the brokers of a cluster, opened as they are needed."""

    def __init__(self, options: ClusterOptions) -> None:
        self.options = options
        self._addresses: dict[int, tuple[str, int]] = {}
        self._leaders: dict[TopicPartition, int] = {}
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
        began = time.monotonic()
        while True:
            try:
                return action()
            except BrokerUnreachableError:
                self.close()
                self._leaders.clear()
                timeout = self.options.retry_timeout_s if self._answered else self.options.first_retry_timeout_s
                if time.monotonic() - began > timeout:
                    raise
                time.sleep(_RETRY_WAIT_S)

    def topics(self) -> dict[str, list[int]]:
        """Return the topics of the cluster that are not internal, with their partitions. Raises ClusterError."""
        answer = self.retry(lambda: self._metadata(None))
        return {
            topic.name: sorted(partition.partition_index for partition in topic.partitions)
            for topic in answer.topics
            if topic.name and not topic.error_code and not topic.is_internal
        }

    def partitions(self, topics: Collection[str]) -> dict[str, list[int]]:
        """Return the partitions of those of these topics that exist. Raises ClusterError."""
        return self.retry(lambda: self._partitions(topics))

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
        if partition not in self._leaders and partition.partition not in self._partitions([partition.topic]).get(
            partition.topic, ()
        ):
            raise UnknownTopicError(f"there is no partition {partition.partition} of a topic {partition.topic}")
        node = self._leaders.get(partition)
        if node is None:
            raise BrokerUnreachableError(f"partition {partition} has no leader now")
        if node not in self._connections:
            self._connections[node] = self._connect(self._addresses[node])
        return self._connections[node]

    def _connect(self, address: tuple[str, int]) -> BrokerConnection:
        options = self.options
        with source_errors():
            return BrokerConnection(address, options.client_id, options.request_timeout_s, options.tls, options.login)

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
            for partition in topic.partitions:
                if topic.name and partition.leader_id in self._addresses:
                    self._leaders[TopicPartition(topic.name, partition.partition_index)] = partition.leader_id
        return answer

    def _any_broker(self, ask: Callable[[BrokerConnection], Result]) -> Result:
        """Return the answer of a broker that is connected, or of the first of those that were named."""
        for node, connection in list(self._connections.items()):
            try:
                return ask(connection)
            except BrokerUnreachableError:
                connection.close()
                del self._connections[node]
        failed: BrokerUnreachableError | None = None
        for address in random.sample(self.options.bootstrap, len(self.options.bootstrap)):
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
        for partition in wanted:
            by_leader.setdefault(self.leader(partition), []).append(partition)
        found: Offsets = {}
        for connection, partitions in by_leader.items():
            topics = [
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(partition_index=tp.partition, timestamp=wanted[tp]) for tp in of_topic
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
