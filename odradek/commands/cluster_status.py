"""How `odradek cluster status` shows a cluster: tables for people, a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from odradek.cluster.quorum import QuorumFacts, QuorumMember
from odradek.cluster.status import BrokerStatus, ClusterStatus, FollowerStatus
from odradek.cluster.topology import JUDGEMENTS, PartitionState, troubled
from odradek.commands.log_dirs_output import DIRECTORY_COLUMNS, directory_json, directory_rows
from odradek.terminal.human import plural, time_text
from odradek.terminal.output import CommandOutput

ROWS: Final = 20
"""Of a table of partitions that may have thousands."""


def show_status(output: CommandOutput, status: ClusterStatus) -> None:
    """Print the tables."""
    output.line(f"cluster {status.cluster_id}, {_controller_text(status)}")
    output.line(_partitions_text(status.partitions))
    for each in status.brokers:
        for full in filter(lambda one: one.is_full, each.directories):
            output.line(f"broker {each.broker.broker_id} can write nothing to {full.path}: the disk is full")
    _section(
        output,
        "Brokers",
        [">BROKER", "ADDRESS", "RACK", "STATE", ">LEADERS", ">REPLICAS", ">IN SYNC", ">LAG"],
        [_broker_row(each) for each in status.brokers],
    )
    _section(
        output,
        "Directories",
        DIRECTORY_COLUMNS,
        [row for each in status.brokers for row in directory_rows(each.broker.broker_id, each.directories)],
    )
    if status.quorum is not None:
        rows = [*_quorum_rows(status.quorum, "voter"), *_quorum_rows(status.quorum, "observer")]
        _section(output, "Metadata quorum", [">NODE", "ROLE", ">END", ">LAG", "LAST CAUGHT UP", "LISTENERS"], rows)
    _section(
        output,
        "Partitions in trouble",
        ["TOPIC", ">PARTITION", ">LEADER", "REPLICAS", "ISR", ">MIN ISR", "TROUBLE"],
        [_partition_row(each) for each in troubled(status.partitions)],
        "odradek topics describe --under-replicated",
    )
    _section(
        output,
        "Followers behind",
        ["TOPIC", ">PARTITION", ">BROKER", ">LAG", "ISR"],
        [_follower_row(each) for each in status.followers],
        "odradek cluster status --json",
    )
    for each in status.brokers:
        if each.problem:
            output.note(f"broker {each.broker.broker_id} does not tell all of its replicas: {each.problem}")


def status_json(status: ClusterStatus) -> dict[str, object]:
    """Return the document."""
    return {
        "cluster_id": status.cluster_id,
        "controller": _controller(status),
        "quorum": None if status.quorum is None else _quorum_json(status.quorum),
        "brokers": [_broker_json(each) for each in status.brokers],
        "partitions": {
            "total": len(status.partitions),
            **{name: sum(map(is_so, status.partitions)) for name, is_so in JUDGEMENTS.items()},
            "reassigning": sum(each.reassignment is not None for each in status.partitions),
        },
        "troubled": [_partition_json(each) for each in troubled(status.partitions)],
        "followers": [
            {
                "topic": each.partition[0],
                "partition": each.partition[1],
                "broker": each.broker_id,
                "lag": each.lag,
                "in_sync": each.is_in_sync,
            }
            for each in status.followers
        ],
    }


def _section(
    output: CommandOutput, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], rest: str = ""
) -> None:
    """Print a table under its title, nothing where it is empty; of long ones the beginning, and what shows the rest."""
    if not rows:
        return
    output.line()
    output.heading(title)
    output.table(columns, rows[:ROWS] if rest else rows)
    if rest and len(rows) > ROWS:
        output.line(f"and {len(rows) - ROWS:,} more; `{rest}` shows all")


def _controller(status: ClusterStatus) -> int | None:
    if status.quorum is not None:
        return status.quorum.leader
    return status.controller_id if status.controller_id >= 0 else None


def _controller_text(status: ClusterStatus) -> str:
    controller = _controller(status)
    return "no active controller" if controller is None else f"active controller {controller}"


def _partitions_text(partitions: Sequence[PartitionState]) -> str:
    counts = [(sum(map(is_so, partitions)), name.replace("_", " ")) for name, is_so in JUDGEMENTS.items()]
    moving = sum(each.reassignment is not None for each in partitions)
    if moving:
        counts.append((moving, "being reassigned"))
    wrong = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"{plural(len(partitions), 'partition')}, {wrong or 'all replicas in sync'}"


def _broker_row(each: BrokerStatus) -> list[object]:
    broker = each.broker
    state = "fenced" if broker.is_fenced else "silent" if each.problem else "up"
    address = f"{broker.host}:{broker.port}"
    return [broker.broker_id, address, broker.rack, state, each.leaders, each.replicas, each.in_sync, each.lag]


def _quorum_rows(quorum: QuorumFacts, role: str) -> list[list[object]]:
    members = quorum.voters if role == "voter" else quorum.observers
    return [
        [
            each.node_id,
            "leader" if each.node_id == quorum.leader else role,
            each.log_end_offset,
            each.lag,
            None if each.last_caught_up_ms is None else time_text(each.last_caught_up_ms),
            ", ".join(each.listeners) or None,
        ]
        for each in members
    ]


def _partition_row(each: PartitionState) -> list[object]:
    trouble = ", ".join(name.replace("_", " ") for name, is_so in JUDGEMENTS.items() if is_so(each))
    return [each.topic, each.number, each.leader, _list(each.replicas), _list(each.isr), each.min_isr, trouble]


def _follower_row(each: FollowerStatus) -> list[object]:
    return [*each.partition, each.broker_id, each.lag, "in" if each.is_in_sync else "out"]


def _list(numbers: Sequence[int]) -> str | None:
    return ",".join(map(str, numbers)) or None


def _quorum_json(quorum: QuorumFacts) -> dict[str, object]:
    return {
        "leader": quorum.leader,
        "epoch": quorum.epoch,
        "high_watermark": quorum.high_watermark,
        "voters": [_member_json(each) for each in quorum.voters],
        "observers": [_member_json(each) for each in quorum.observers],
    }


def _member_json(each: QuorumMember) -> dict[str, object]:
    return {
        "node": each.node_id,
        "log_end_offset": each.log_end_offset,
        "lag": each.lag,
        "last_fetch_ms": each.last_fetch_ms,
        "last_caught_up_ms": each.last_caught_up_ms,
        "listeners": list(each.listeners),
    }


def _broker_json(each: BrokerStatus) -> dict[str, object]:
    return {
        "broker": each.broker.broker_id,
        "host": each.broker.host,
        "port": each.broker.port,
        "rack": each.broker.rack,
        "fenced": each.broker.is_fenced,
        "leaders": each.leaders,
        "replicas": each.replicas,
        "in_sync": each.in_sync,
        "lag": each.lag,
        "directories": [directory_json(one) for one in each.directories],
        "problem": each.problem,
    }


def _partition_json(each: PartitionState) -> dict[str, object]:
    return {
        "topic": each.topic,
        "partition": each.number,
        "leader": each.leader,
        "replicas": list(each.replicas),
        "isr": list(each.isr),
        "offline_replicas": list(each.offline),
        "min_isr": each.min_isr,
        **{name: is_so(each) for name, is_so in JUDGEMENTS.items()},
    }
