"""A connection of the data sources to a broker: which versions they speak, and what they say where it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from odradek.client import errors
from odradek.client.connection import DEFAULT_ANSWER_LIMIT, BrokerConnection
from odradek.protocol.codec import Message
from odradek.protocol.codec.fields import Versions
from odradek.protocol.registry import ApiKey
from pyspark_odradek.errors import BrokerUnreachableError, ClusterError

VERSIONS: Final = {
    ApiKey.METADATA: 7,
    ApiKey.LIST_OFFSETS: 5,
    ApiKey.FETCH: 11,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 3,
}
"""The versions that are spoken: old enough for every broker since Kafka 2.3, and known to all that came later."""
METADATA_VERSIONS: Final = Versions(7, 12)
"""Of Metadata the newest that a broker serves: from version 10 on it tells topic ids."""

Answer = TypeVar("Answer", bound=Message)


@contextmanager
def source_errors() -> Iterator[None]:
    """Turn errors of a connection into those of a query: ConnectionLostError, or ClusterError."""
    try:
        yield
    except errors.ConnectionLostError as lost:
        raise BrokerUnreachableError(str(lost)) from lost
    except errors.ClientError as refused:
        raise ClusterError(str(refused)) from refused


def send(connection: BrokerConnection, key: ApiKey, request: Message) -> None:
    """Send a request whose answer is received later. Raises ConnectionLostError."""
    with source_errors():
        connection.send(key, VERSIONS[key], request)


def receive(connection: BrokerConnection, answer: type[Answer], limit: int, buffer: bytearray) -> Answer:
    """Receive an answer of at most `limit` bytes into a buffer; see `BrokerConnection.receive`.

    Raises:
        ConnectionLostError: the connection broke, or no answer came in time.
        ClusterError: the answer cannot be understood.
    """
    with source_errors():
        return connection.receive(answer, limit, buffer)


def call(
    connection: BrokerConnection,
    key: ApiKey,
    request: Message,
    answer: type[Answer],
    limit: int = DEFAULT_ANSWER_LIMIT,
) -> Answer:
    """Send a request and receive its answer; raises what `send` and `receive` raise."""
    with source_errors():
        version = connection.newest(key, METADATA_VERSIONS) if key == ApiKey.METADATA else VERSIONS[key]
        return connection.call(key, version, request, answer, limit)
