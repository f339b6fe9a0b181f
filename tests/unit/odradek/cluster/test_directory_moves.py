"""Moves between log directories: what brokers are asked, and what is made of their answers."""

from __future__ import annotations

from contextlib import closing

import pytest

from odradek.cluster.broker_requests import BrokerRequests
from odradek.cluster.directory_moves import Replica, begin_directory_moves, directory_states
from odradek.cluster.moving import MoveState
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from odradek.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.protocol.registry import ApiKey
from odradek.terminal.errors import CommandError
from tests.support.ports import free_ports
from tests.support.scripted_broker import ScriptedBroker

FIRST, SECOND, THIRD = ("t", 0), ("t", 1), ("t", 2)


def test_replicas_that_are_yet_to_come_are_no_refusals() -> None:
    """A broker that does not have one makes it in the directory; one that has it and does not move it is told."""

    def answer(request: Message) -> Message:
        assert isinstance(request, AlterReplicaLogDirsRequest)
        assert {(one.path, tuple(one.topics[0].partitions)) for one in request.dirs} == {("/a", (0, 1)), ("/b", (2,))}
        codes = {0: ErrorCode.NONE, 1: ErrorCode.REPLICA_NOT_AVAILABLE, 2: ErrorCode.LOG_DIR_NOT_FOUND}
        results = [AlterReplicaLogDirPartitionResult(partition_index=at, error_code=code) for at, code in codes.items()]
        return AlterReplicaLogDirsResponse(results=[AlterReplicaLogDirTopicResult(topic_name="t", partitions=results)])

    wanted = {Replica(FIRST, 1): "/a", Replica(SECOND, 1): "/a", Replica(THIRD, 1): "/b"}
    present = {FIRST: (1,), SECOND: (2,), THIRD: (1,)}
    with (
        ScriptedBroker({ApiKey.ALTER_REPLICA_LOG_DIRS: (1, 2)}, answer) as broker,
        closing(BrokerRequests({}, list, timeout_s=5)) as requests,
    ):
        refused = begin_directory_moves(requests, {1: broker.address}, wanted, present)
    assert refused == {THIRD: "to /b on broker 1: LOG_DIR_NOT_FOUND"}


def test_brokers_that_are_not_there() -> None:
    """Nothing can be put into a directory of theirs."""
    wanted = {Replica(FIRST, 7): "/a"}
    with closing(BrokerRequests({}, list, timeout_s=5)) as requests:
        with pytest.raises(CommandError, match="broker 7, which is to put"):
            begin_directory_moves(requests, {}, wanted, {FIRST: (7,)})
        away = {7: ("127.0.0.1", free_ports(1)[0])}
        with pytest.raises(
            CommandError, match="broker 7 does not move replicas between its directories: no connection"
        ):
            begin_directory_moves(requests, away, wanted, {FIRST: (7,)})
        assert directory_states(requests, {}, wanted) == {Replica(FIRST, 7): MoveState.OTHERWISE}


def test_what_has_become_of_moves() -> None:
    """The copy in the new directory is on its way; the replica itself is there."""

    def directory(path: str, *partitions: tuple[int, bool]) -> DescribeLogDirsResult:
        there = [
            DescribeLogDirsPartition(partition_index=number, partition_size=1, offset_lag=0, is_future_key=is_future)
            for number, is_future in partitions
        ]
        return DescribeLogDirsResult(log_dir=path, topics=[DescribeLogDirsTopic(name="t", partitions=there)])

    results = [directory("/a", (0, False), (1, False)), directory("/b", (1, True), (2, False))]
    wanted = {Replica(FIRST, 1): "/b", Replica(SECOND, 1): "/b", Replica(THIRD, 1): "/b"}
    with (
        ScriptedBroker(
            {ApiKey.DESCRIBE_LOG_DIRS: (1, 4)}, lambda _: DescribeLogDirsResponse(results=results)
        ) as broker,
        closing(BrokerRequests({}, list, timeout_s=5)) as requests,
    ):
        states = directory_states(requests, {1: broker.address}, wanted)
        elsewhere = directory_states(requests, {1: broker.address}, {Replica(FIRST, 1): "/c"})
    assert list(states.values()) == [MoveState.OTHERWISE, MoveState.MOVING, MoveState.DONE]
    assert list(elsewhere.values()) == [MoveState.OTHERWISE]
