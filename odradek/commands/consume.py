"""`odradek consume`: records become lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from typer import Argument, Option

from odradek.cli.command import online
from odradek.cluster.connection import ClusterClients
from odradek.cluster.consuming import ConsumerRun, batches, consumed, join_group, read_partitions, store
from odradek.cluster.disconnects import ignore
from odradek.cluster.errors import failure
from odradek.cluster.groups import committed_offsets
from odradek.cluster.offset_spec import SYNTAX, AtOffset, Earliest, Latest, OffsetSpecification, parse_offset_spec
from odradek.cluster.topics import partitions_of
from odradek.documents import records as documents
from odradek.records.format import FIELDS, Formatter, parse_format
from odradek.records.json_lines import record_line
from odradek.terminal.errors import EXIT_INTERRUPTED, EXIT_OK, CommandError, WrongUsageError
from odradek.terminal.interrupts import asked_to_stop
from odradek.terminal.output import CommandOutput

DEFAULT_FORMAT = "%s\\n"
LINES_AT_ONCE = 100

Json = Annotated[bool, Option("--json", help="Write each record as a line of JSON, with everything it has.")]


app = typer.Typer()

_fields = ", ".join(f"%{field} {meaning}" for field, (meaning, _) in FIELDS.items())


@online(
    app,
    "consume",
    json=Json,
    document=documents.CONSUMED,
    details=f"Places for --from and --until: {SYNTAX}.\n\nFields for --format: {_fields}.",
    examples="""\
    odradek consume orders
    odradek consume orders --from 15m --follow
    odradek consume orders --from -10 --format '%t[%p]@%o %T %k=%s\\n'
    odradek consume orders --partition 0 --from 1000 --max-messages 5 --json
    odradek consume orders --group billing --follow""",
)
def consume(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Annotated[str, Argument(metavar="TOPIC", help="What to read.", show_default=False)],
    start: Annotated[
        str | None, Option("--from", metavar="WHERE", help="Where to start; the beginning if not given.")
    ] = None,
    until: Annotated[
        str | None, Option("--until", metavar="WHERE", help="Stop before this place; where it ends now if not given.")
    ] = None,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    group: Annotated[
        str | None,
        Option("--group", "-g", help="Read as a member of this group, and commit what is written."),
    ] = None,
    partition: Annotated[
        list[int] | None, Option("--partition", "-p", min=0, help="Only this one; repeatable.")
    ] = None,
    max_messages: Annotated[
        int | None, Option("--max-messages", "-n", min=1, metavar="N", help="Stop after so many records.")
    ] = None,
    line_format: Annotated[
        str | None, Option("--format", metavar="FORMAT", help="How a record is written; '%s\\n' if not given.")
    ] = None,
) -> int:
    """Read the records of a topic and write them to standard output.

    It stops where the topic ended when it began, and with --follow not before Ctrl-C. Records of one partition are in
    order; those of several come as they come. Only records of committed transactions are read.
    """
    write = _formatter(output, line_format)
    begin, end = _offset_spec("--from", start), _offset_spec("--until", until)
    if follow and until is not None:
        raise WrongUsageError("--until and --follow exclude each other")
    tell = output.note if follow else ignore
    numbers = _chosen(topic, partitions_of(cluster, topic), partition)
    if group is None:
        until_spec = None if follow else end or Latest()
        reading = read_partitions(cluster, topic, numbers, begin or Earliest(), until_spec, tell)
        if (
            isinstance(begin, AtOffset)
            and until is None
            and reading.ends is not None
            and reading.ends.done.issuperset(numbers)
        ):
            output.note(f"no partition of {topic} has an offset {begin.offset} yet; --follow waits for it")
    elif partition or until is not None or not isinstance(begin, Earliest | Latest | None):
        raise WrongUsageError(
            "with --group the group's offsets say where to read; --from takes only beginning or end, for a group that "
            "has none, and `odradek groups reset` moves them"
        )
    else:
        reset = "latest" if isinstance(begin, Latest) else "earliest"
        if begin is not None and any(of == topic for of, _ in committed_offsets(cluster, group)):
            how = "--from is for a group without offsets; `odradek groups reset` moves them"
            output.note(f"group {group} goes on where it is: {how}")
        reading = join_group(cluster, topic, group, reset, follow=follow, tell=tell)
    return _write_all(reading, write, max_messages, commits=group is not None)


def _write_all(reading: ConsumerRun, write: Formatter, limit: int | None, *, commits: bool) -> int:
    stream = sys.stdout.buffer
    try:
        with asked_to_stop() as asked:
            for batch in batches(reading, asked, limit):
                for first in range(0, len(batch), LINES_AT_ONCE):
                    part = batch[first : first + LINES_AT_ONCE]
                    stream.write(b"".join([write(consumed(message)) for message in part]))
                    stream.flush()
                    if commits:
                        store(reading.consumer, part)
            stopped = asked()
    except KafkaException as raised:
        raise failure(raised, "reading") from raised
    finally:
        reading.consumer.close()  # commits what was stored
    return EXIT_INTERRUPTED if stopped else EXIT_OK


def _chosen(topic: str, numbers: Sequence[int], wanted: Sequence[int] | None) -> list[int]:
    for each in wanted or ():
        if each not in numbers:
            raise CommandError(f"topic {topic} has no partition {each}; it has 0 to {max(numbers)}")
    return sorted(set(wanted)) if wanted else list(numbers)


def _formatter(output: CommandOutput, line_format: str | None) -> Formatter:
    if output.json:
        if line_format is not None:
            raise WrongUsageError("--format and --json exclude each other")
        return record_line
    try:
        return parse_format(DEFAULT_FORMAT if line_format is None else line_format)
    except ValueError as wrong:
        raise WrongUsageError(f"--format: {wrong}") from None


def _offset_spec(option: str, text: str | None) -> OffsetSpecification | None:
    if text is None:
        return None
    try:
        return parse_offset_spec(text, time.time_ns() // 1_000_000)
    except ValueError as wrong:
        raise WrongUsageError(f"{option}: {wrong}") from None
