"""Moving replicas between the log directories of their brokers (KIP-113), and how far they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from odradek.client.errors import ClientError
from odradek.cluster.broker_requests import Address, BrokerRequests
from odradek.cluster.log_dirs import LogDirFacts, describe_log_dirs, error_name
from odradek.cluster.moving import MoveState
from odradek.cluster.offsets import Partition
from odradek.cluster.placement import Assignment
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from odradek.terminal.errors import CommandError

_COMES_LATER: Final = ErrorCode.REPLICA_NOT_AVAILABLE
"""The broker has no such replica, and makes it in the directory if it gets one."""


class Replica(NamedTuple):
    """What one broker has of a partition."""

    partition: Partition
    broker: int


Directories: TypeAlias = Mapping[Replica, str]
"""Absolute paths of log directories, as their brokers call them."""


def begin_directory_moves(
    requests: BrokerRequests, addresses: Mapping[int, Address], wanted: Directories, present: Assignment
) -> dict[Partition, str]:
    """Have replicas move to directories, or come to them once they are made; returns what brokers refused.

    `present` are the brokers of each partition that have it now. Raises CommandError where a broker does not answer.
    """
    refused: dict[Partition, str] = {}
    answers = requests.ask_each(
        {_address(addresses, broker): request for broker, request in _requests(wanted).items()},
        AlterReplicaLogDirsResponse,
    )
    brokers = {addresses[broker]: broker for broker in {each.broker for each in wanted}}
    for address, answer in answers.items():
        if isinstance(answer, ClientError):
            raise CommandError(f"broker {brokers[address]} does not move replicas between its directories: {answer}")
        for topic in answer.results:
            for result in topic.partitions:
                key = (topic.topic_name, result.partition_index)
                has_it = brokers[address] in present[key]
                if result.error_code and (has_it or result.error_code != _COMES_LATER):
                    path = wanted[Replica(key, brokers[address])]
                    refused[key] = f"to {path} on broker {brokers[address]}: {error_name(result.error_code)}"
    return refused


def directory_states(
    requests: BrokerRequests, addresses: Mapping[int, Address], wanted: Directories
) -> dict[Replica, MoveState]:
    """Return what has become of moves to directories; what a broker does not tell is `OTHERWISE`."""
    asked: dict[Address, dict[str, list[int]]] = {}
    for (topic, number), broker in wanted:
        if broker in addresses:
            asked.setdefault(addresses[broker], {}).setdefault(topic, []).append(number)
    told = describe_log_dirs(requests, asked)
    return {
        replica: _state(told.get(addresses.get(replica.broker, ("", 0)), []), replica.partition, path)
        for replica, path in wanted.items()
    }


def _state(directories: list[LogDirFacts] | ClientError, partition: Partition, path: str) -> MoveState:
    if isinstance(directories, ClientError):
        return MoveState.OTHERWISE
    target = next((each for each in directories if each.path == path), None)
    if target is None:
        return MoveState.OTHERWISE
    if partition in target.coming:
        return MoveState.MOVING
    return MoveState.DONE if partition in target.sizes else MoveState.OTHERWISE


def _address(addresses: Mapping[int, Address], broker: int) -> Address:
    if broker not in addresses:
        raise CommandError(f"broker {broker}, which is to put replicas into certain directories, is not there")
    return addresses[broker]


def _requests(wanted: Directories) -> dict[int, AlterReplicaLogDirsRequest]:
    by_broker: dict[int, dict[str, dict[str, list[int]]]] = {}
    for ((topic, number), broker), path in wanted.items():
        by_broker.setdefault(broker, {}).setdefault(path, {}).setdefault(topic, []).append(number)
    return {
        broker: AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=path,
                    topics=[AlterReplicaLogDirTopic(name=name, partitions=numbers) for name, numbers in topics.items()],
                )
                for path, topics in paths.items()
            ]
        )
        for broker, paths in by_broker.items()
    }
