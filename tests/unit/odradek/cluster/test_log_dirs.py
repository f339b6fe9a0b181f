"""Sizes of partitions, from a broker that may answer anything."""

import socket
import struct
import threading
from collections.abc import Callable

import pytest

from odradek.cluster.log_dirs import VERSION, SizesUnknownError, partition_sizes
from odradek.protocol.codec import encode
from odradek.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

Ask = Callable[[bytes], dict[tuple[str, int], int]]


@pytest.fixture
def ask() -> Ask:
    """Ask a broker that answers with the given bytes and closes the connection."""

    def asked(answer: bytes) -> dict[tuple[str, int], int]:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def serve() -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1024)
                    connection.sendall(answer)

            thread = threading.Thread(target=serve)
            thread.start()
            try:
                return partition_sizes("127.0.0.1", listener.getsockname()[1], {"t": [0, 1]})
            finally:
                thread.join(10)

    return asked


def _frame(body: bytes) -> bytes:
    return struct.pack(">ii", len(body) + 4, 1) + body


def test_sizes_of_all_directories(ask: Ask) -> None:
    """A partition's size is that of its replica, not of a copy on its way to another directory."""
    partitions = [
        DescribeLogDirsPartition(partition_index=0, partition_size=7, offset_lag=0, is_future_key=False),
        DescribeLogDirsPartition(partition_index=0, partition_size=3, offset_lag=5, is_future_key=True),
    ]
    other = [DescribeLogDirsPartition(partition_index=1, partition_size=9, offset_lag=0, is_future_key=False)]
    results = [
        DescribeLogDirsResult(error_code=0, log_dir=name, topics=[DescribeLogDirsTopic(name="t", partitions=each)])
        for name, each in (("a", partitions), ("b", other))
    ]
    answer = encode(DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=results), VERSION)
    assert ask(_frame(answer)) == {("t", 0): 7, ("t", 1): 9}


@pytest.mark.parametrize(
    "answer",
    [b"", b"\0\0", struct.pack(">i", 100) + b"x", struct.pack(">i", -1), b"\x7f\xff\xff\xff", _frame(b"\xff" * 9)],
    ids=["nothing", "half a size", "half a frame", "negative", "huge", "no such message"],
)
def test_a_broker_that_answers_nonsense(ask: Ask, answer: bytes) -> None:
    """The sizes are unknown; nothing is allocated for what is only claimed."""
    with pytest.raises(SizesUnknownError, match="does not tell the size of its partitions"):
        ask(answer)
