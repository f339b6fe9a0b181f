"""Log directories, from brokers that may answer or not."""

from contextlib import closing

from odradek.client.errors import ConnectionLostError
from odradek.cluster.broker_requests import BrokerRequests
from odradek.cluster.log_dirs import LogDirFacts, describe_log_dirs, sizes_in
from odradek.protocol.codec import Message
from odradek.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.protocol.registry import ApiKey
from tests.support.ports import free_ports
from tests.support.scripted_broker import ScriptedBroker


def _directory(
    path: str, *partitions: DescribeLogDirsPartition, total: int = -1, usable: int = -1
) -> DescribeLogDirsResult:
    topics = [DescribeLogDirsTopic(name="t", partitions=[*partitions])]
    return DescribeLogDirsResult(log_dir=path, topics=topics, total_bytes=total, usable_bytes=usable)


def _replica(number: int, size: int, *, is_future: bool = False) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(partition_index=number, partition_size=size, offset_lag=0, is_future_key=is_future)


def test_directories_of_several_brokers() -> None:
    """A replica's size is that of itself, not of a copy on its way; one that fails and one that is away are told."""
    results = [
        _directory("a", _replica(0, 7), _replica(0, 3, is_future=True), total=100, usable=40),
        _directory("b", _replica(1, 9)),
        DescribeLogDirsResult(log_dir="c", error_code=56, topics=[]),
    ]
    away = "127.0.0.1", free_ports(1)[0]
    answer = DescribeLogDirsResponse(results=results)
    with ScriptedBroker({ApiKey.DESCRIBE_LOG_DIRS: (1, 5)}, lambda _: answer) as broker:
        with closing(BrokerRequests({}, list, timeout_s=5)) as requests:
            found = describe_log_dirs(requests, {broker.address: {"t": [0, 1]}, away: None})
        directories = found[broker.address]
    assert directories == [
        LogDirFacts("a", None, 100, 40, sizes={("t", 0): 7}, coming=frozenset({("t", 0)})),
        LogDirFacts("b", None, sizes={("t", 1): 9}),
        LogDirFacts("c", "KAFKA_STORAGE_ERROR"),
    ]
    assert sizes_in(directories) == {("t", 0): 7, ("t", 1): 9}
    assert isinstance(found[away], ConnectionLostError)
    asked: list[Message] = [request for _, request in broker.asked]
    assert asked == [DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic="t", partitions=[0, 1])])]
