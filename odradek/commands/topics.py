"""`odradek topics`: list, create, describe, alter, delete."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewPartitions, NewTopic
from typer import Argument, Option

from odradek.cli.arguments import assignment, config_pairs, regular_expression, units_told
from odradek.cli.command import group, online
from odradek.cli.completion import topic_names
from odradek.cluster import configs
from odradek.cluster.connection import ClusterClients
from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer, failure
from odradek.cluster.offset_spec import SYNTAX, parse_offset_spec
from odradek.cluster.offsets import Partition, earliest, find, latest
from odradek.cluster.topics import (
    describe,
    facts,
    id_text,
    missing_topics,
    partitions_of,
    wait_until_known,
)
from odradek.commands.deletion import delete_each
from odradek.commands.topics_output import show_list, show_topic, topic_json
from odradek.documents import topics as documents
from odradek.terminal.errors import CommandError, WrongUsageError
from odradek.terminal.output import CommandOutput

app = group("topics", "List, create, describe, alter and delete topics, and find offsets in them.")

BROKER_DEFAULT = -1
USABLE_TIMEOUT_S = 2.0
"""For leaders to be elected and to know of it."""
USABLE_PAUSE_S = 0.1
PLACES_TRIED = 1_000

Names = Annotated[
    list[str], Argument(metavar="TOPIC...", help="Names of topics.", show_default=False, autocompletion=topic_names)
]


Pattern = Annotated[str | None, Option("--pattern", metavar="REGEX", help="Only topics of this form.")]


@online(
    app,
    "list",
    document=documents.LISTED,
    examples="""\
    odradek topics list
    odradek topics list --pattern 'orders-.*' --sizes
    odradek topics list --internal --json""",
)
def list_topics(
    cluster: ClusterClients,
    output: CommandOutput,
    pattern: Pattern = None,
    sizes: Annotated[
        bool, Option("--sizes", help="Also offsets that they hold and bytes at their leaders, the largest first.")
    ] = False,
    internal: Annotated[bool, Option("--internal", help="Also those that Kafka keeps for itself.")] = False,
) -> None:
    """List the topics with their number of partitions and replicas, and what all have together."""
    names = _of_form(sorted(cluster.metadata().topics), pattern)
    topics = [each for each in describe(cluster, names) if internal or not each.is_internal]
    held, problem = facts(cluster, [each.name for each in topics]) if sizes else ([], "")
    holding = {each.name: each for each in held}
    rows: list[dict[str, Any]] = [
        {
            "name": each.name,
            "partitions": len(each.partitions),
            "replication_factor": max((len(part.replicas) for part in each.partitions), default=0),
            "internal": each.is_internal,
            "topic_id": id_text(each),
            "offsets": holding[each.name].offsets if sizes else None,
            "size_bytes": holding[each.name].size if sizes else None,
        }
        for each in topics
    ]
    rows.sort(key=lambda row: (-(row["size_bytes"] or 0), str(row["name"])))
    totals = {
        "topics": len(rows),
        "partitions": sum(row["partitions"] for row in rows),
        "offsets": sum(row["offsets"] or 0 for row in rows) if sizes else None,
        "size_bytes": sum(row["size_bytes"] or 0 for row in rows) if sizes else None,
    }
    if output.json:
        output.document({"topics": rows, "totals": totals})
    elif rows:
        show_list(output, rows, totals)
        if problem:
            output.note(problem)
    elif pattern is not None:
        output.note(f"no topic is of the form {pattern}")
    else:
        output.note("there are no topics yet; `odradek topics create NAME` makes one")


@online(
    app,
    "create",
    document=documents.CREATED,
    examples="""\
    odradek topics create orders --partitions 6
    odradek topics create audit --config cleanup.policy=compact --config segment.ms=1d
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
        list[str] | None,
        Option("--config", "-c", metavar="NAME=VALUE", help="A config of the topic, also as 7d or 1GiB; repeatable."),
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
    settings = dict(config_pairs(config or (), "--config"))
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
    if created and not problems and (unusable := _unusable(cluster, [str(each["name"]) for each in created])):
        problems.append(unusable)
    if problems:
        with units_told(settings.items()):
            raise CommandError("; ".join(problems))


@online(
    app,
    "describe",
    document=documents.DESCRIBED,
    examples="""\
    odradek topics describe orders
    odradek topics describe --pattern 'orders-.*'
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
    pattern: Pattern = None,
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
    if pattern is not None:
        if names:
            raise WrongUsageError("name topics, or say with --pattern which are meant")
        names = [each for each in _of_form(sorted(cluster.metadata().topics), pattern) if not each.startswith("__")]
        if not names:
            raise CommandError(f"no topic is of the form {pattern}; `odradek topics list` shows what there is")
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
        output.document({"topics": [topic_json(each, only) for each in topics]})
    else:
        for number, topic in enumerate(topics):
            if number:
                output.line()
            show_topic(output, topic, only)
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
    odradek topics alter orders --config retention.ms=7d --delete-config segment.bytes""",
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
        list[str] | None,
        Option("--config", "-c", metavar="NAME=VALUE", help="Set a config, also as 7d or 1GiB; repeatable."),
    ] = None,
    delete_config: Annotated[
        list[str] | None, Option("--delete-config", metavar="NAME", help="Go back to its default; repeatable.")
    ] = None,
) -> None:
    """Add partitions to a topic, and change its configs."""
    changes, deletions = config_pairs(config or (), "--config"), delete_config or []
    if partitions is None and not changes and not deletions:
        raise WrongUsageError("nothing to change; give --partitions, --config or --delete-config")
    if partitions is not None:
        more = [NewPartitions(name, partitions)]
        answer(cluster.admin.create_partitions(more, request_timeout=ANSWER_TIMEOUT_S)[name], f"topic {name}")
    if changes or deletions:
        with units_told(changes):
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


@online(
    app,
    "offsets",
    document=documents.OFFSETS,
    details=f"Places for --at: {SYNTAX}.",
    examples="""\
    odradek topics offsets orders
    odradek topics offsets orders --at 2026-11-21T10:00
    odradek topics offsets orders audit --at 2h --json""",
)
def show_offsets(
    cluster: ClusterClients,
    output: CommandOutput,
    names: Names,
    at: Annotated[str | None, Option("--at", metavar="WHERE", help="A time or another place to look for.")] = None,
) -> None:
    """Show where partitions begin and end, and which offset a time or another place is in each."""
    spec = None
    if at is not None:
        try:
            spec = parse_offset_spec(at, time.time_ns() // 1_000_000)
        except ValueError as wrong:
            raise WrongUsageError(f"--at: {wrong}") from None
    places = [(name, number) for name in names for number in sorted(partitions_of(cluster, name))]
    first, end = earliest(cluster.admin, places), latest(cluster.admin, places)
    found = {} if spec is None else find(cluster.admin, places, spec)
    rows = [
        {"topic": each[0], "partition": each[1], "beginning": first[each], "end": end[each], "at": found.get(each)}
        for each in places
    ]
    if output.json:
        output.document({"partitions": rows})
        return
    columns = ["TOPIC", ">PARTITION", ">BEGINNING", ">END", *([f">AT {at}"] if spec is not None else [])]
    output.table(columns, [list(row.values())[: len(columns)] for row in rows])


def _unusable(cluster: ClusterClients, names: Sequence[str]) -> str | None:
    """Return why new topics take no records, as on a full disk; None where they do after a moment at most.

    Each question may go to another broker, which may not have heard of them.
    """
    deadline = time.monotonic() + USABLE_TIMEOUT_S
    while True:
        try:
            places = [(name, number) for name in names for number in partitions_of(cluster, name)]
            latest(cluster.admin, places[:PLACES_TRIED])
        except CommandError as refused:
            if time.monotonic() < deadline:
                time.sleep(USABLE_PAUSE_S)
                continue
            from odradek.cluster.writability import why_not_writable  # only now: mostly nothing is wrong

            return f"created, but not usable: {why_not_writable(cluster.requests, names) or refused}"
        return None


def _of_form(names: Sequence[str], pattern: str | None) -> list[str]:
    if pattern is None:
        return list(names)
    expression = regular_expression("--pattern", pattern)
    return [name for name in names if expression.fullmatch(name)]


def _troubled_partitions(
    cluster: ClusterClients, names: Sequence[str] | None, judgements: Sequence[str]
) -> set[Partition]:
    """Return the partitions of which one of the judgements is true."""
    from odradek.cluster.topology import describe_partitions, troubled  # only now: no other command here needs it

    found = describe_partitions(cluster.requests, names, with_min_isr="under_min_isr" in judgements)
    return {each.key for each in troubled(found, judgements)}


def _missing(names: Sequence[str]) -> str:
    does = "does" if len(names) == 1 else "do"
    return f"topic {', '.join(names)} {does} not exist; `odradek topics list` shows what does"
