"""`odradek records copy`: a topic into another one, on the same cluster or elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated

from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic
from typer import Argument, Option

from odradek.cli.command import online, part
from odradek.cli.completion import topic_names
from odradek.cli.other_cluster import ToBootstrapServer, ToCommandConfig, ToProfile, other_cluster
from odradek.cluster.connection import ClusterClients
from odradek.cluster.consuming import ConsumerRun, batches, consumed, read_partitions
from odradek.cluster.disconnects import Disconnects
from odradek.cluster.errors import ANSWER_TIMEOUT_S, answer, failure, sentence
from odradek.cluster.offset_spec import SYNTAX, Earliest, Latest, parse_offset_spec
from odradek.cluster.producing import SendRate, Tally, finish, producer_defaults, send
from odradek.cluster.topics import facts, missing_topics, partitions_of, wait_until_known
from odradek.documents import deleted_records as documents
from odradek.records.reading import NewRecord
from odradek.terminal.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, CommandError, WrongUsageError, complain
from odradek.terminal.human import duration_text, plural, size_text
from odradek.terminal.interrupts import asked_to_stop
from odradek.terminal.output import CommandOutput

app = part()


@dataclass(frozen=True, slots=True)
class _Target:
    """Where records go: without `keeps_partitions` their keys say which partition."""

    cluster: ClusterClients
    topic: str
    keeps_partitions: bool


@online(
    app,
    "copy",
    document=documents.COPIED,
    details=f"Places for --from: {SYNTAX}.",
    examples="""\
    odradek records copy orders --to orders-test --create
    odradek records copy orders --to-profile staging --from 1d
    odradek records copy orders --to-bootstrap-server other:9092 --to-command-config other.properties --follow""",
)
def copy(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Annotated[
        str, Argument(metavar="TOPIC", help="What to copy.", show_default=False, autocompletion=topic_names)
    ],
    to: Annotated[str | None, Option("--to", metavar="TOPIC", help="Where to; the same name if not given.")] = None,
    to_bootstrap_server: ToBootstrapServer = None,
    to_command_config: ToCommandConfig = None,
    to_profile: ToProfile = None,
    start: Annotated[
        str | None, Option("--from", metavar="WHERE", help="Where to start; the beginning if not given.")
    ] = None,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    create: Annotated[
        bool, Option("--create", help="Make the other topic, with as many partitions and the same configs.")
    ] = False,
    by_key: Annotated[
        bool, Option("--by-key", help="Partitions by the keys, instead of the same numbers as they had.")
    ] = False,
) -> int:
    """Copy the records of a topic with keys, headers and times into another topic, also of another cluster.

    Each partition stays in order. What is committed by transactions is copied; offsets become others where some are
    missing. A copy that is ended begins anew the next time, unless --from says where; `odradek pipeline relay` goes on
    by itself.
    """
    try:
        spec = Earliest() if start is None else parse_offset_spec(start, time.time_ns() // 1_000_000)
    except ValueError as wrong:
        raise WrongUsageError(f"--from: {wrong}") from None
    is_elsewhere = to_bootstrap_server or to_command_config or to_profile
    if not is_elsewhere and to in (None, topic):
        raise WrongUsageError("the copy would go into the topic itself; give --to, or another cluster")
    numbers = partitions_of(cluster, topic)
    with closing(other_cluster(cluster, to_bootstrap_server, to_command_config, to_profile, output)) as other:
        target = _Target(other, to or topic, keeps_partitions=not by_key)
        _prepare(cluster, topic, target, create=create, partitions=len(numbers))
        places = [(topic, number) for number in numbers]
        reading = read_partitions(cluster, places, spec, None if follow else Latest(), output.note)
        return _copy(output, topic, reading, target)


def _prepare(source: ClusterClients, topic: str, target: _Target, *, create: bool, partitions: int) -> None:
    """See that the target can take the records, and make it where that is wanted."""
    other = target.cluster
    if missing_topics(other, [target.topic]):
        if not create:
            raise CommandError(f"topic {target.topic} does not exist on {other.bootstrap}; --create makes it")
        [found], _ = facts(source, [topic])
        configs = {name: value for name, value in found.configs.items() if value is not None}
        new = NewTopic(target.topic, partitions, -1, config=configs)
        created = other.admin.create_topics([new], request_timeout=ANSWER_TIMEOUT_S)
        answer(created[target.topic], f"topic {target.topic}")
        wait_until_known(other, [target.topic])
    there = len(partitions_of(other, target.topic))
    if target.keeps_partitions and there < partitions:
        raise CommandError(
            f"topic {target.topic} on {other.bootstrap} has {plural(there, 'partition')}, and {topic} {partitions}; "
            f"`odradek topics alter {target.topic} --partitions {partitions}` adds the rest, --by-key does without"
        )


def _copy(output: CommandOutput, topic: str, reading: ConsumerRun, target: _Target) -> int:
    disconnects = Disconnects(target.cluster.bootstrap, output.note)
    settings = {"error_cb": disconnects.on_error}
    producer = target.cluster.producer(settings, defaults=producer_defaults(target.cluster.settings))
    tally, began = Tally(disconnects=disconnects), time.monotonic()
    try:
        with asked_to_stop() as asked:
            send(producer, target.topic, _records(reading, target, asked), tally, None, SendRate(None))
            finish(producer, tally)
            was_stopped = asked()
    except KafkaException as raised:
        raise failure(raised, f"topic {topic}") from raised
    finally:
        reading.consumer.close()
    seconds = time.monotonic() - began
    if output.json:
        failed = len(tally.failed)
        counts = {"records": tally.records, "bytes": tally.bytes, "failed": failed, "seconds": round(seconds, 3)}
        output.document({"topic": topic, "to": target.topic, **counts})
    else:
        done = f"{plural(tally.records, 'record')} ({size_text(tally.bytes)})"
        output.note(f"{done} of {topic} to {target.topic} of {target.cluster.bootstrap} in {duration_text(seconds)}")
    if tally.error is not None:
        lost = plural(len(tally.failed), "record")
        complain(f"{lost} not acknowledged, and none after: {sentence(tally.error, f'topic {target.topic}')}")
        return EXIT_FAILED
    return EXIT_INTERRUPTED if was_stopped else EXIT_OK


def _records(reading: ConsumerRun, target: _Target, asked: Callable[[], bool]) -> Iterator[NewRecord]:
    for batch in batches(reading, asked):
        for message in batch:
            record = consumed(message)
            partition = record.partition if target.keeps_partitions else None
            yield NewRecord(record.key, record.value, record.headers, partition, record.timestamp_ms)
