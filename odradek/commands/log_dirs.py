"""`odradek log-dirs`: where brokers keep what they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from typer import Option

from odradek.cli.arguments import broker_ids
from odradek.cli.command import online
from odradek.cli.completion import topic_names
from odradek.client.errors import ClientError
from odradek.cluster.connection import ClusterClients
from odradek.cluster.log_dirs import LogDirFacts, describe_log_dirs
from odradek.cluster.topology import ClusterBroker, describe_brokers, describe_partitions
from odradek.commands.log_dirs_output import DIRECTORY_COLUMNS, directory_json, directory_rows
from odradek.documents import log_dirs as documents
from odradek.terminal.errors import EXIT_FAILED, EXIT_OK, CommandError
from odradek.terminal.human import size_text
from odradek.terminal.output import CommandOutput

app = typer.Typer()


@online(
    app,
    "log-dirs",
    document=documents.LOG_DIRS,
    examples="""\
    odradek log-dirs
    odradek log-dirs --brokers 1,2 --replicas
    odradek log-dirs --topic orders --json""",
)
def log_dirs(
    cluster: ClusterClients,
    output: CommandOutput,
    brokers: Annotated[
        str | None, Option("--brokers", metavar="1,2", help="Of these brokers; of all that are there if not given.")
    ] = None,
    topics: Annotated[
        list[str] | None,
        Option(
            "--topic", "-t", metavar="NAME", help="Only replicas of this topic; repeatable.", autocompletion=topic_names
        ),
    ] = None,
    replicas: Annotated[bool, Option("--replicas", help="Also each replica, the largest first.")] = False,
) -> int:
    """Show the log directories of brokers: whether they can be used, their replicas, and what is free.

    The exit code is 1 where a broker does not tell, a directory has failed, or a disk is full.
    """
    asked = _asked(describe_brokers(cluster.requests).brokers, brokers)
    wanted = None if topics is None else _partitions(cluster, topics)
    told = describe_log_dirs(cluster.requests, {each.address: wanted for each in asked if not each.is_fenced})
    found = {each: told.get(each.address) for each in asked}
    if output.json:
        output.document({"brokers": [_broker_json(each, directories) for each, directories in found.items()]})
    else:
        _show(output, found, replicas)
    well = all(isinstance(each, list) and not any(one.error or one.is_full for one in each) for each in found.values())
    return EXIT_OK if well else EXIT_FAILED


def _asked(known: Mapping[int, ClusterBroker], given: str | None) -> list[ClusterBroker]:
    if given is None:
        return list(known.values())
    numbers = broker_ids(given, "--brokers")
    for each in numbers:
        if each not in known:
            raise CommandError(f"there is no broker {each}; the cluster has {', '.join(map(str, known))}")
    return [known[each] for each in numbers]


def _partitions(cluster: ClusterClients, topics: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in describe_partitions(cluster.requests, dict.fromkeys(topics)):
        found.setdefault(each.topic, []).append(each.number)
    return found


def _show(
    output: CommandOutput, found: Mapping[ClusterBroker, list[LogDirFacts] | ClientError | None], replicas: bool
) -> None:
    directories = [
        (broker.broker_id, each) for broker, told in found.items() if isinstance(told, list) for each in told
    ]
    if directories:
        output.table(DIRECTORY_COLUMNS, [row for broker, each in directories for row in directory_rows(broker, [each])])
    if replicas:
        rows = [
            (size, broker, each.path, *partition)
            for broker, each in directories
            for partition, size in each.sizes.items()
        ]
        rows.sort(key=lambda row: (-row[0], row[3:5], row[1]))
        output.line()
        output.table(
            [">BROKER", "DIRECTORY", "TOPIC", ">PARTITION", ">SIZE"],
            [[broker, path, topic, number, size_text(size)] for size, broker, path, topic, number in rows],
        )
    for broker, told in found.items():
        if not isinstance(told, list):
            output.note(f"broker {broker.broker_id} does not tell its directories: {_problem(told)}")


def _problem(told: ClientError | None) -> str:
    return "it is fenced: the controller does not hear of it" if told is None else str(told)


def _broker_json(broker: ClusterBroker, told: list[LogDirFacts] | ClientError | None) -> dict[str, object]:
    directories = told if isinstance(told, list) else []
    return {
        "broker": broker.broker_id,
        "directories": [
            {
                **directory_json(each),
                "partitions": [
                    {"topic": topic, "partition": number, "size_bytes": size}
                    for (topic, number), size in sorted(each.sizes.items())
                ],
                "coming": [{"topic": topic, "partition": number} for topic, number in sorted(each.coming)],
            }
            for each in directories
        ],
        "problem": None if isinstance(told, list) else _problem(told),
    }
