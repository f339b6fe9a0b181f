"""`odradek topics`: list, create, describe, alter, delete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewPartitions, NewTopic
from typer import Argument, Option

from odradek.cli.arguments import assignment, pairs
from odradek.cli.command import group, online
from odradek.cli.completion import topic_names
from odradek.cluster import configs
from odradek.cluster.connection import ClusterClients
from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer, failure
from odradek.cluster.offsets import Partition
from odradek.cluster.topics import (
    PartitionFacts,
    TopicFacts,
    describe,
    facts,
    id_text,
    missing_topics,
    wait_until_known,
)
from odradek.commands.deletion import delete_each
from odradek.documents import topics as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.human import plural, size_text
from odradek.terminal.output import CommandOutput

app = group("topics", "List, create, describe, alter and delete topics.")

BROKER_DEFAULT = -1

Names = Annotated[
    list[str], Argument(metavar="TOPIC...", help="Names of topics.", show_default=False, autocompletion=topic_names)
]


@online(app, "list", document=documents.LISTED, examples="odradek topics list\nodradek topics list --internal --json")
def list_topics(
    cluster: ClusterClients,
    output: CommandOutput,
    internal: Annotated[bool, Option("--internal", help="Also those that Kafka keeps for itself.")] = False,
) -> None:
    """List the topics with their number of partitions and replicas."""
    topics = [each for each in describe(cluster, sorted(cluster.metadata().topics)) if internal or not each.is_internal]
    rows = [
        {
            "name": each.name,
            "partitions": len(each.partitions),
            "replication_factor": max((len(part.replicas) for part in each.partitions), default=0),
            "internal": each.is_internal,
            "topic_id": id_text(each),
        }
        for each in topics
    ]
    if output.json:
        output.document({"topics": rows})
    elif rows:
        columns = ("name", "partitions", "replication_factor", "topic_id")
        output.table(["TOPIC", ">PARTITIONS", ">REPLICAS", "ID"], [[row[name] for name in columns] for row in rows])
    else:
        output.note("there are no topics yet; `odradek topics create NAME` makes one")


@online(
    app,
    "create",
    document=documents.CREATED,
    examples="""\
    odradek topics create orders --partitions 6
    odradek topics create audit --config cleanup.policy=compact
    odradek topics create placed --replica-assignment 1:2,2:3""",
)
def create_topics(
    cluster: ClusterClients,
    output: CommandOutput,
    names: Names,
    partitions: Annotated[
        int | None, Option("--partitions", "-p", min=1, help="How many; num.partitions of the broker if not given.")
    ] = None,
    replication_factor: Annotated[
        int | None,
        Option("--replication-factor", "-r", min=1, help="Replicas of each; the broker's default if not given."),
    ] = None,
    config: Annotated[
        list[str] | None, Option("--config", "-c", metavar="NAME=VALUE", help="A config of the topic; repeatable.")
    ] = None,
    replica_assignment: Annotated[
        str | None,
        Option("--replica-assignment", metavar="1:2,2:3", help="Brokers of each partition, instead of the two above."),
    ] = None,
    if_not_exists: Annotated[
        bool, Option("--if-not-exists", help="A topic that exists is no error, and left as it is.")
    ] = False,
) -> None:
    """Create topics."""
    settings = dict(pairs(config or (), "--config"))
    if replica_assignment is not None:
        if partitions is not None or replication_factor is not None:
            raise WrongUsageError("--replica-assignment says how many partitions and replicas there are")
        replicas = assignment(replica_assignment)
        new = [NewTopic(name, len(replicas), replica_assignment=replicas, config=settings) for name in names]
    else:
        counts = partitions or BROKER_DEFAULT, replication_factor or BROKER_DEFAULT
        new = [NewTopic(name, *counts, config=settings) for name in names]
    created: list[dict[str, object]] = []
    problems: list[str] = []
    for name, future in cluster.admin.create_topics(new, request_timeout=ANSWER_TIMEOUT_S).items():
        try:
            future.result(ANSWER_TIMEOUT_S)
            created.append({"name": name, "created": True})
        except KafkaException as refused:
            if not if_not_exists or refused.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                problems.append(str(failure(refused, f"topic {name}")))
            else:
                created.append({"name": name, "created": False})
    wait_until_known(cluster, [str(each["name"]) for each in created])
    if created or not problems:
        if output.json:
            output.document({"topics": created})
        else:
            for each in created:
                output.line(f"topic {each['name']} " + ("created" if each["created"] else "exists already"))
    if problems:
        raise CommandError("; ".join(problems))


@online(
    app,
    "describe",
    document=documents.DESCRIBED,
    examples="""\
    odradek topics describe orders
    odradek topics describe --json
    odradek topics describe --under-replicated --under-min-isr""",
)
def describe_topics(
    cluster: ClusterClients,
    output: CommandOutput,
    names: Annotated[
        list[str] | None,
        Argument(
            metavar="[TOPIC...]", help="Names of topics; all but internal ones if none.", autocompletion=topic_names
        ),
    ] = None,
    under_replicated: Annotated[
        bool, Option("--under-replicated", help="Only partitions of which a replica is not in sync; of all topics.")
    ] = False,
    unavailable: Annotated[
        bool, Option("--unavailable", help="Only partitions without a leader; of all topics.")
    ] = False,
    under_min_isr: Annotated[
        bool,
        Option("--under-min-isr", help="Only partitions with fewer replicas in sync than min.insync.replicas."),
    ] = False,
) -> None:
    """Show leader, replicas, in-sync replicas, offsets and size on disk of each partition.

    With several of --under-replicated, --unavailable and --under-min-isr, partitions of each kind; internal topics are
    among them then.
    """
    kinds = {"under_replicated": under_replicated, "offline": unavailable, "under_min_isr": under_min_isr}
    judgements = [name for name, is_wanted in kinds.items() if is_wanted]
    only = _troubled_partitions(cluster, names, judgements) if judgements else None
    if only is not None:
        wanted = sorted({topic for topic, _ in only})
    else:
        wanted = names or [
            each.name for each in describe(cluster, sorted(cluster.metadata().topics)) if not each.is_internal
        ]
    missing = [] if only is not None or not names else missing_topics(cluster, names)
    topics, problem = facts(cluster, [name for name in wanted if name not in missing])
    if missing and not topics:
        raise CommandError(_missing(missing))
    if output.json:
        output.document({"topics": [_topic_json(each, only) for each in topics]})
    else:
        for number, topic in enumerate(topics):
            if number:
                output.line()
            _show_topic(output, topic, only)
        if judgements and not topics:
            output.note(f"no partition is {' or '.join(name.replace('_', ' ') for name in judgements)}")
        if problem:
            output.note(problem)
    if missing:
        raise CommandError(_missing(missing))


@online(
    app,
    "alter",
    document=documents.ALTERED,
    examples="""\
    odradek topics alter orders --partitions 12
    odradek topics alter orders --config retention.ms=86400000 --delete-config segment.bytes""",
)
def alter_topic(
    cluster: ClusterClients,
    output: CommandOutput,
    name: Annotated[
        str, Argument(metavar="TOPIC", help="Name of the topic.", show_default=False, autocompletion=topic_names)
    ],
    partitions: Annotated[
        int | None, Option("--partitions", "-p", min=1, help="How many there are to be; never fewer than there are.")
    ] = None,
    config: Annotated[
        list[str] | None, Option("--config", "-c", metavar="NAME=VALUE", help="Set a config; repeatable.")
    ] = None,
    delete_config: Annotated[
        list[str] | None, Option("--delete-config", metavar="NAME", help="Go back to its default; repeatable.")
    ] = None,
) -> None:
    """Add partitions to a topic, and change its configs."""
    changes, deletions = pairs(config or (), "--config"), delete_config or []
    if partitions is None and not changes and not deletions:
        raise WrongUsageError("nothing to change; give --partitions, --config or --delete-config")
    if partitions is not None:
        more = [NewPartitions(name, partitions)]
        answer(cluster.admin.create_partitions(more, request_timeout=ANSWER_TIMEOUT_S)[name], f"topic {name}")
    if changes or deletions:
        configs.alter_configs(cluster, configs.ConfigResourceType.TOPIC, name, changes, deletions)
    if output.json:
        output.document({"name": name, "partitions": partitions, "set": dict(changes), "deleted": deletions})
    else:
        output.line(f"topic {name} changed")


@online(
    app,
    "delete",
    document=documents.DELETED,
    examples="odradek topics delete orders\nodradek topics delete orders audit",
)
def delete_topics(cluster: ClusterClients, output: CommandOutput, names: Names) -> None:
    """Delete topics with everything in them."""
    futures = cluster.admin.delete_topics(names, request_timeout=ANSWER_TIMEOUT_S)
    delete_each(output, "topic", futures, lambda name: answer(futures[name], f"topic {name}"))


def _troubled_partitions(
    cluster: ClusterClients, names: Sequence[str] | None, judgements: Sequence[str]
) -> set[Partition]:
    """Return the partitions of which one of the judgements is true."""
    from odradek.cluster.topology import describe_partitions, troubled  # only now: no other command here needs it

    found = describe_partitions(cluster.requests, names, with_min_isr="under_min_isr" in judgements)
    return {each.key for each in troubled(found, judgements)}


def _show_topic(output: CommandOutput, topic: TopicFacts, only: Collection[Partition] | None) -> None:
    replicas = max((len(part.replicas) for part in topic.partitions), default=0)
    output.heading(topic.name)
    output.line(f"id {topic.topic_id}, {plural(len(topic.partitions), 'partition')}, replication factor {replicas}")
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
                None if part.size is None else size_text(part.size),
            ]
            for part in _shown(topic, only)
        ],
    )


def _shown(topic: TopicFacts, only: Collection[Partition] | None) -> list[PartitionFacts]:
    return [each for each in topic.partitions if only is None or (topic.name, each.number) in only]


def _list(numbers: Sequence[int]) -> str:
    return ",".join(str(each) for each in numbers)


def _topic_json(topic: TopicFacts, only: Collection[Partition] | None) -> dict[str, object]:
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "internal": topic.internal,
        "configs": dict(topic.configs),
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


def _missing(names: Sequence[str]) -> str:
    does = "does" if len(names) == 1 else "do"
    return f"topic {', '.join(names)} {does} not exist; `odradek topics list` shows what does"
