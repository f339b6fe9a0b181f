"""How topics are shown: tables for people, documents for programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from odradek.cluster.offsets import Partition
from odradek.cluster.topics import PartitionFacts, TopicFacts
from odradek.terminal.human import count_text, plural, size_text
from odradek.terminal.output import CommandOutput


def show_list(output: CommandOutput, rows: Sequence[Mapping[str, Any]], totals: Mapping[str, Any]) -> None:
    """Show topics a line each; where sizes are known, those and what all have together."""
    if totals["size_bytes"] is None:
        names = ("name", "partitions", "replication_factor", "topic_id")
        output.table(["TOPIC", ">PARTITIONS", ">REPLICAS", "ID"], [[row[name] for name in names] for row in rows])
        return
    shown = [
        [
            row["name"],
            row["partitions"],
            row["replication_factor"],
            count_text(row["offsets"]),
            _size(row["size_bytes"]),
        ]
        for row in rows
    ]
    output.table(["TOPIC", ">PARTITIONS", ">REPLICAS", ">OFFSETS", ">SIZE"], shown)
    counts = plural(totals["topics"], "topic"), plural(totals["partitions"], "partition")
    output.heading(", ".join([*counts, plural(totals["offsets"], "offset"), size_text(totals["size_bytes"])]))


def _size(size: int | None) -> str | None:
    return None if size is None else size_text(size)


def show_topic(output: CommandOutput, topic: TopicFacts, only: Collection[Partition] | None) -> None:
    """Show a topic with its partitions, or only some of them."""
    replicas = max((len(part.replicas) for part in topic.partitions), default=0)
    output.heading(topic.name)
    told = [f"id {topic.topic_id}", plural(len(topic.partitions), "partition"), f"replication factor {replicas}"]
    told.append(plural(topic.offsets, "offset"))
    if topic.size is not None:
        told.append(size_text(topic.size))
    output.line(", ".join(told))
    for name, value in topic.configs.items():
        output.line(f"{name}={value}")
    output.table(
        [">PARTITION", ">LEADER", "REPLICAS", "ISR", ">BEGINNING", ">END", ">SIZE"],
        [
            [
                part.number,
                part.leader,
                _list(part.replicas),
                _list(part.isr),
                part.beginning,
                part.end,
                _size(part.size),
            ]
            for part in _shown(topic, only)
        ],
    )


def _shown(topic: TopicFacts, only: Collection[Partition] | None) -> list[PartitionFacts]:
    return [each for each in topic.partitions if only is None or (topic.name, each.number) in only]


def _list(numbers: Sequence[int]) -> str:
    return ",".join(str(each) for each in numbers)


def topic_json(topic: TopicFacts, only: Collection[Partition] | None) -> dict[str, object]:
    """Return the same as a document."""
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "internal": topic.internal,
        "configs": dict(topic.configs),
        "offsets": topic.offsets,
        "size_bytes": topic.size,
        "partitions": [_partition_json(each) for each in _shown(topic, only)],
    }


def _partition_json(partition: PartitionFacts) -> dict[str, object]:
    return {
        "partition": partition.number,
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "beginning": partition.beginning,
        "end": partition.end,
        "size_bytes": partition.size,
    }
