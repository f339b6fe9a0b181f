"""The size of partitions on disk, which librdkafka cannot ask for: DescribeLogDirs over a socket of our own.

Version 1 of the request, which every broker since Apache Kafka 1.0 serves. PLAINTEXT listeners only.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from struct import Struct

from protocol.codec import DecodeError, decode, encode
from protocol.headers import RequestHeader, encode_request_header
from protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest, DescribeLogDirsResponse
from protocol.registry import ApiKey

VERSION = 1
TIMEOUT_S = 5.0
MAX_ANSWER_BYTES = 256 << 20

_SIZE = Struct(">i")
_CORRELATION_ID_BYTES = 4


class SizesUnknownError(Exception):
    """The broker cannot be asked for sizes; says why."""


def can_ask(settings: Mapping[str, str]) -> bool:
    """Tell whether a broker that clients with these settings talk to can be asked."""
    return settings.get("security.protocol", "plaintext").lower() == "plaintext"


def partition_sizes(host: str, port: int, topics: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], int]:
    """Return the bytes that partitions take on one broker, for those it has; SizesUnknownError where it does not say.

    `topics` are the names and partitions to ask for.
    """
    wanted = [DescribableLogDirTopic(topic=name, partitions=list(numbers)) for name, numbers in topics.items()]
    try:
        with socket.create_connection((host, port), TIMEOUT_S) as connection:
            answer = _ask(connection, DescribeLogDirsRequest(topics=wanted))
    except (OSError, DecodeError) as failed:
        raise SizesUnknownError(f"{host}:{port} does not tell the size of its partitions: {failed}") from None
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for directory in answer.results
        for topic in directory.topics
        for partition in topic.partitions
        if not partition.is_future_key
    }


def _ask(connection: socket.socket, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    header = encode_request_header(RequestHeader(ApiKey.DESCRIBE_LOG_DIRS, VERSION, 1, "odradek"))
    frame = header + encode(request, VERSION)
    connection.sendall(_SIZE.pack(len(frame)) + frame)
    with connection.makefile("rb") as incoming:
        start = incoming.read(_SIZE.size)
        if len(start) < _SIZE.size:
            raise OSError("it closed the connection")
        [size] = _SIZE.unpack(start)
        if not _CORRELATION_ID_BYTES <= size <= MAX_ANSWER_BYTES:
            raise OSError(f"its answer claims {size} bytes")
        frame = incoming.read(size)
    if len(frame) < size:
        raise OSError("its answer ends early")
    return decode(DescribeLogDirsResponse, frame, VERSION, _CORRELATION_ID_BYTES)[0]
