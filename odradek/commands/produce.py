"""`odradek produce`: lines become records."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from typer import Argument, Option

from odradek.cli.arguments import Acks, ProducerCompression, pairs
from odradek.cli.command import online
from odradek.cli.completion import topic_names
from odradek.cluster.connection import ClusterClients
from odradek.cluster.disconnects import Disconnects
from odradek.cluster.offset_spec import ForTimestamp, parse_offset_spec
from odradek.cluster.producing import (
    FLUSH_TIMEOUT_S,
    INTERRUPTED_FLUSH_S,
    MAX_RECORD_BYTES,
    SendRate,
    Tally,
    finish,
    give_up,
    producer_defaults,
    send,
)
from odradek.cluster.topics import partitions_of
from odradek.cluster.writability import why_not_writable
from odradek.documents import records as documents
from odradek.records.reading import (
    LineReader,
    NewRecord,
    json_line,
    json_value,
    plain_lines,
    read_records,
    read_whole,
    unescaped,
    with_fixed,
)
from odradek.records.reading import tombstone as as_tombstone
from odradek.terminal.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, CommandError, WrongUsageError, complain
from odradek.terminal.human import count_text, duration_text, plural, size_text
from odradek.terminal.output import CommandOutput

PROGRESS_EVERY = 256


Json = Annotated[
    bool,
    Option("--json", help="Lines are JSON objects as `consume --json` writes them; the summary is JSON, too."),
]


app = typer.Typer()


@dataclass(frozen=True, slots=True)
class _Form:
    """What is a record of the input, by the options."""

    is_json: bool = False
    key_separator: str | None = None
    key: str | None = None
    value_json: bool = False
    whole: bool = False
    tombstone: bool = False
    empty_as_null: bool = False
    timestamp: str | None = None


@online(
    app,
    "produce",
    json=Json,
    document=documents.PRODUCED,
    examples="""\
    seq 1 1000 | odradek produce numbers
    odradek produce users users.txt --key-separator : --compression zstd
    odradek consume orders --json | odradek produce copy --json
    echo hello | odradek produce greetings --headers lang=en --partition 0
    odradek produce pictures cat.png --whole --key cat
    odradek produce users --key 42 --tombstone
    echo late | odradek produce events --timestamp 2026-11-21T10:00Z --acks 1""",
)
def produce(
    cluster: ClusterClients,
    output: CommandOutput,
    topic: Annotated[
        str, Argument(metavar="TOPIC", help="Where to; it must exist.", show_default=False, autocompletion=topic_names)
    ],
    file: Annotated[Path | None, Argument(metavar="[FILE]", help="Lines to produce; standard input if none.")] = None,
    key_separator: Annotated[
        str | None, Option("--key-separator", "-K", metavar="TEXT", help="What is between key and value; \\t is a tab.")
    ] = None,
    key: Annotated[str | None, Option("--key", "-k", metavar="TEXT", help="The key of every record.")] = None,
    value_json: Annotated[
        bool, Option("--value-json", help="Each line is a value as it stands, and refused if it is no JSON.")
    ] = False,
    whole: Annotated[bool, Option("--whole", help="The file is one record, whatever lines it has.")] = False,
    tombstone: Annotated[
        bool,
        Option("--tombstone", help="Records without a value: one of --key, or one of each line as a key."),
    ] = False,
    empty_as_null: Annotated[
        bool,
        Option("--empty-as-null", "-Z", help="An empty value is none: a tombstone."),
    ] = False,
    skip: Annotated[
        int, Option("--skip", min=0, metavar="N", help="Leave out so many lines: those that are there already.")
    ] = 0,
    headers: Annotated[
        list[str] | None, Option("--headers", "-H", metavar="NAME=VALUE", help="A header for each record; repeatable.")
    ] = None,
    timestamp: Annotated[
        str | None,
        Option("--timestamp", metavar="TIME", help="Of all records: `2026-11-21T10:00`, `@1795255200000`, `15m` ago."),
    ] = None,
    partition: Annotated[
        int | None,
        Option("--partition", "-p", min=0, help="The same for all; else murmur2 of the key chooses, as in Java."),
    ] = None,
    compression: Annotated[
        ProducerCompression | None, Option("--compression", "-z", help="Compress batches; none if not given.")
    ] = None,
    acks: Annotated[
        Acks | None, Option("--acks", help="Who has to have a record: all in-sync replicas if not given.")
    ] = None,
    rate: Annotated[
        float | None, Option("--rate", min=0.001, metavar="N", help="At most so many records a second.")
    ] = None,
) -> int:
    """Produce each line of a file or of standard input as a record.

    A line ends with a line feed; nothing else is taken off, so a line of Windows keeps its carriage return. An empty
    line is an empty record. A record without a key goes to any partition.

    Every record is acknowledged by all in-sync replicas, once and in order, also where the broker is gone for a while.
    After 30 seconds without an answer it ends, and says which lines were not acknowledged. It takes half a second to
    begin like that; enable.idempotence=false in --command-config begins at once, but may double and reorder lines where
    a connection is lost, and so does --acks with 0 or 1.
    """
    form = _Form(output.json, key_separator, key, value_json, whole, tombstone, empty_as_null, timestamp)
    reader = _reader(form)
    if whole and skip:
        raise WrongUsageError("--skip leaves out lines, and with --whole there are none")
    _check(cluster, topic, partition)
    fixed = [(name, value.encode()) for name, value in pairs(headers or (), "--headers")]
    settings = {"compression.type": compression.value} if compression is not None else {}
    settings |= {"acks": acks.value} if acks is not None else {}
    disconnects = Disconnects(cluster.bootstrap, output.note)
    own = {**settings, "error_cb": disconnects.on_error}
    given = {**cluster.settings, **({} if acks in (None, Acks.ALL) else settings)}
    producer = cluster.producer(own, defaults=producer_defaults(given))
    tally, code, problems = Tally(disconnects=disconnects, skipped=skip), EXIT_OK, []
    began = time.monotonic()
    with ExitStack() as stack:
        source = io.BytesIO() if tombstone and key is not None else _source(file, output, stack)
        for _ in range(skip):
            source.readline()
        if whole or (tombstone and key is not None):
            read = read_whole(source, reader, fixed, MAX_RECORD_BYTES)
        else:
            read = read_records(source, reader, fixed, MAX_RECORD_BYTES, first=skip + 1)
        records = _with_progress(read, output, stack, topic)
        flush_timeout_s = FLUSH_TIMEOUT_S
        try:
            send(producer, topic, records, tally, partition, SendRate(rate))
        except KeyboardInterrupt:
            code, flush_timeout_s = EXIT_INTERRUPTED, INTERRUPTED_FLUSH_S
        except (CommandError, ValueError) as wrong:
            problems.append(str(wrong))
        try:
            finish(producer, tally, flush_timeout_s)
        except KeyboardInterrupt:
            code = EXIT_INTERRUPTED
            give_up(producer, tally)
    _summary(output, topic, tally, time.monotonic() - began)
    why = why_not_writable(cluster.requests, [topic]) if tally.is_timed_out else None
    for problem in filter(None, [*problems, tally.problem(topic, why)]):
        complain(problem)
        code = code or EXIT_FAILED
    return code


def _check(cluster: ClusterClients, topic: str, partition: int | None) -> None:
    try:
        numbers = partitions_of(cluster, topic)
    except CommandError as missing:
        if "does not exist" in str(missing):
            raise CommandError(
                f"topic {topic} does not exist; make it with `odradek topics create {topic}`"
            ) from missing
        raise
    if partition is not None and partition not in numbers:
        raise CommandError(f"topic {topic} has no partition {partition}; it has 0 to {max(numbers)}")


def _reader(form: _Form) -> LineReader:
    """Return what makes a record of a line, or of the whole input; WrongUsageError for options that exclude others."""
    if form.is_json and not form.whole and not form.tombstone:
        if form != _Form(is_json=True):
            raise WrongUsageError(
                "--key, --key-separator, --value-json, --empty-as-null and --timestamp are for lines; with --json all "
                "is in the line"
            )
        return json_line
    if form.key is not None and form.key_separator is not None:
        raise WrongUsageError("--key is the key of all records, --key-separator says where each has its own")
    if form.tombstone and (form.key_separator is not None or form.value_json or form.whole or form.empty_as_null):
        raise WrongUsageError("records of --tombstone have no value: leave out what says how it is read")
    if form.value_json and (form.key_separator is not None or form.empty_as_null):
        raise WrongUsageError("--value-json takes the whole line as it stands")
    if form.whole and (form.key_separator is not None or form.value_json):
        raise WrongUsageError("--whole takes the file as it stands, without keys and without a look at it")
    if form.tombstone:
        read: LineReader = as_tombstone
    elif form.value_json:
        read = json_value
    else:
        separator = unescaped(form.key_separator or "").encode()
        read = plain_lines(separator, empty_is_null=form.empty_as_null)
    key = None if form.key is None else form.key.encode("utf-8", "surrogateescape")
    return with_fixed(read, key, _timestamp_ms(form.timestamp))


def _timestamp_ms(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        place = parse_offset_spec(text, time.time_ns() // 1_000_000)
    except ValueError:
        place = None
    if not isinstance(place, ForTimestamp):
        raise WrongUsageError(
            f"--timestamp {text!r} is no time: give one such as 2026-11-21T10:00, @1795255200000 (milliseconds since "
            "1970) or 15m (ago)"
        )
    return place.milliseconds


def _source(file: Path | None, output: CommandOutput, stack: ExitStack) -> BinaryIO:
    if file is not None:
        return stack.enter_context(file.open("rb"))
    if sys.stdin.isatty():
        output.note("each line becomes a record; Ctrl-D ends")
    return sys.stdin.buffer


def _with_progress(
    records: Iterator[NewRecord], output: CommandOutput, stack: ExitStack, topic: str
) -> Iterator[NewRecord]:
    """Yield the records, showing how many went by."""
    progress = output.progress()
    if progress.disable or sys.stdin.isatty():
        yield from records
        return
    stack.enter_context(progress)
    task = progress.add_task(f"to {topic}", total=None)
    for number, record in enumerate(records, 1):
        yield record
        if not number % PROGRESS_EVERY:
            progress.update(task, completed=number)


def _summary(output: CommandOutput, topic: str, tally: Tally, seconds: float) -> None:
    if output.json:
        output.document(
            {
                "topic": topic,
                "records": tally.records,
                "bytes": tally.bytes,
                "failed": len(tally.failed),
                "failed_lines": tally.failed_ranges(),
                "seconds": round(seconds, 3),
                "partitions": [
                    {
                        "partition": number,
                        "records": each.records,
                        "first_offset": None if each.first_offset < 0 else each.first_offset,
                        "last_offset": None if each.last_offset < 0 else each.last_offset,
                    }
                    for number, each in sorted(tally.partitions.items())
                ],
            }
        )
        return
    speed = f", {count_text(tally.records / seconds)} records/s, {size_text(tally.bytes / seconds)}/s"
    output.note(
        f"{plural(tally.records, 'record')} ({size_text(tally.bytes)}) to "
        f"{plural(len(tally.partitions), 'partition')} of {topic} in {duration_text(seconds)}{speed}"
    )
