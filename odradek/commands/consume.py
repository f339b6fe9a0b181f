"""`odradek consume`: records become lines."""

from __future__ import annotations

import json
import re
import sys
import time
from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer
from confluent_kafka import KafkaException, Message
from typer import Argument, Option

from odradek.cli.arguments import regular_expression
from odradek.cli.command import online
from odradek.cli.completion import group_names, topic_names
from odradek.cluster.connection import ClusterClients, Settings
from odradek.cluster.consuming import (
    ConsumerRun,
    batches,
    consumed,
    join_group,
    read_from,
    read_partitions,
    store,
)
from odradek.cluster.disconnects import Tell, ignore
from odradek.cluster.errors import failure
from odradek.cluster.groups import committed_offsets
from odradek.cluster.offset_spec import (
    SYNTAX,
    AtOffset,
    BeforeLatest,
    Earliest,
    Latest,
    OffsetSpecification,
    parse_offset_spec,
)
from odradek.cluster.offsets import Partition
from odradek.cluster.schema_registry import SchemaRegistry
from odradek.cluster.topics import partitions_of
from odradek.documents import records as documents
from odradek.records.consumed import Consumed
from odradek.records.format import FIELDS, Formatter, parse_format
from odradek.records.json_lines import record_line
from odradek.records.matching import RecordMatch, header_match, newest
from odradek.records.schemas import json_text
from odradek.terminal.errors import EXIT_INTERRUPTED, EXIT_OK, CommandError, WrongUsageError
from odradek.terminal.interrupts import asked_to_stop
from odradek.terminal.output import CommandOutput, nobody_reads

DEFAULT_FORMAT = "%s\\n"
LINES_AT_ONCE = 100

Json = Annotated[bool, Option("--json", help="Write each record as a line of JSON, with everything it has.")]


class BytesAs(StrEnum):
    """How bytes of a record are written."""

    PLAIN = "plain"
    HEX = "hex"
    BASE64 = "base64"


class Isolation(StrEnum):
    """Which records of transactions are read, as `isolation.level` has it."""

    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


ENCODINGS: Mapping[BytesAs, Callable[[bytes], bytes]] = {BytesAs.HEX: hexlify, BytesAs.BASE64: b64encode}

app = typer.Typer()

_fields = ", ".join(f"%{field} {meaning}" for field, (meaning, _) in FIELDS.items())


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What of the records is written, and how: `limit` counts those that match."""

    write: Formatter
    match: RecordMatch
    limit: int | None


@online(
    app,
    "consume",
    json=Json,
    document=documents.CONSUMED,
    details=f"Places for --from and --until: {SYNTAX}.\n\nFields for --format: {_fields}.",
    examples="""\
    odradek consume orders
    odradek consume orders --from 15m --follow
    odradek consume orders --last 10 --format '%t[%p]@%o %T %k=%s\\n'
    odradek consume orders returns --key customer-7 --header lang=en
    odradek consume --pattern 'orders-.*' --from 2026-11-21T08:00Z --grep 'error|failed' --json
    odradek consume orders --partition 0 --from 1000 --max-messages 5 --bytes hex
    odradek consume orders --registry http://127.0.0.1:8081 --json
    odradek consume orders --group billing --follow""",
)
def consume(
    cluster: ClusterClients,
    output: CommandOutput,
    topics: Annotated[
        list[str] | None,
        Argument(
            metavar="[TOPIC...]",
            help="What to read.",
            show_default=False,
            autocompletion=topic_names,
        ),
    ] = None,
    pattern: Annotated[
        str | None, Option("--pattern", metavar="REGEX", help="Read all topics of this form, instead of naming them.")
    ] = None,
    start: Annotated[
        str | None, Option("--from", metavar="WHERE", help="Where to start; the beginning if not given.")
    ] = None,
    until: Annotated[
        str | None, Option("--until", metavar="WHERE", help="Stop before this place; where it ends now if not given.")
    ] = None,
    last: Annotated[
        int | None,
        Option("--last", min=1, metavar="N", help="The newest N of all partitions together, in order of their times."),
    ] = None,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    group: Annotated[
        str | None,
        Option(
            "--group",
            "-g",
            help="Read as a member of this group, and commit what is written.",
            autocompletion=group_names,
        ),
    ] = None,
    partition: Annotated[
        list[int] | None, Option("--partition", "-p", min=0, help="Only this one; repeatable.")
    ] = None,
    max_messages: Annotated[
        int | None, Option("--max-messages", "-n", min=1, metavar="N", help="Stop after so many records.")
    ] = None,
    key: Annotated[str | None, Option("--key", "-k", metavar="TEXT", help="Only records with this key.")] = None,
    header: Annotated[
        list[str] | None,
        Option("--header", "-H", metavar="NAME[=VALUE]", help="Only records with this header; repeatable: with all."),
    ] = None,
    grep: Annotated[
        str | None, Option("--grep", metavar="REGEX", help="Only records in whose key or value this is found.")
    ] = None,
    isolation: Annotated[
        Isolation, Option("--isolation", help="read_uncommitted: also records of open and aborted transactions.")
    ] = Isolation.COMMITTED,
    line_format: Annotated[
        str | None, Option("--format", metavar="FORMAT", help="How a record is written; '%s\\n' if not given.")
    ] = None,
    registry: Annotated[
        str | None,
        Option(
            "--registry",
            metavar="URL",
            envvar="ODRADEK_REGISTRY",
            help="A schema registry: keys and values of its schemas (Avro, JSON, Protobuf) are written as JSON.",
        ),
    ] = None,
    bytes_as: Annotated[
        BytesAs, Option("--bytes", help="How keys, values and those of headers are written.")
    ] = BytesAs.PLAIN,
) -> int:
    """Read the records of topics and write them to standard output.

    It stops where the topics ended when it began, and with --follow not before Ctrl-C. Records of one partition are in
    order; those of several come as they come. Only records of committed transactions are read, unless --isolation says
    otherwise.
    """
    write = _formatter(output, line_format, bytes_as)
    if registry:
        if bytes_as is not BytesAs.PLAIN:
            raise WrongUsageError("--bytes and --registry exclude each other")
        write = _decoding(write, SchemaRegistry(registry), as_json=output.json)
    wanted = _Wanted(write, _record_match(key, header or (), grep), max_messages)
    begin, end = _offset_spec("--from", start), _offset_spec("--until", until)
    if follow and until is not None:
        raise WrongUsageError("--until and --follow exclude each other")
    if last is not None and (begin or end or max_messages or group is not None):
        raise WrongUsageError("--last says where to read and how much: give no --from, --until, -n and --group with it")
    if group is not None and (partition or until is not None or not isinstance(begin, Earliest | Latest | None)):
        raise WrongUsageError(
            "with --group the group's offsets say where to read; --from takes only beginning or end, for a group that "
            "has none, and `odradek groups reset` moves them"
        )
    names = _topics(cluster, topics or (), pattern)
    own = {"isolation.level": isolation.value}
    tell = output.note if follow else ignore
    if group is not None:
        reset = "latest" if isinstance(begin, Latest) else "earliest"
        if begin is not None and any(topic in names for topic, _ in committed_offsets(cluster, group)):
            how = "--from is for a group without offsets; `odradek groups reset` moves them"
            output.note(f"group {group} goes on where it is: {how}")
        subscribed = names if pattern is None else [f"^({pattern})$"]
        reading = join_group(cluster, subscribed, group, reset, follow=follow, tell=tell, own=own)
        return _write_all(reading, wanted, commits=True)
    places = [place for name in names for place in _chosen(name, partitions_of(cluster, name), partition)]
    if last is not None:
        return _write_last(cluster, places, last, wanted, follow=follow, tell=tell, own=own)
    until_spec = None if follow else end or Latest()
    reading = read_partitions(cluster, places, begin or Earliest(), until_spec, tell, own)
    if isinstance(begin, AtOffset) and until is None and reading.ends is not None and reading.ends.done >= set(places):
        output.note(f"no partition of {', '.join(names)} has an offset {begin.offset} yet; --follow waits for it")
    return _write_all(reading, wanted, commits=False)


def _write_last(
    cluster: ClusterClients,
    places: Sequence[Partition],
    count: int,
    wanted: _Wanted,
    *,
    follow: bool,
    tell: Tell,
    own: Settings,
) -> int:
    """Write the newest records of several partitions together; where a record has to match, all of them are read."""
    begin = BeforeLatest(count) if wanted.match.is_everything else Earliest()
    reading = read_partitions(cluster, places, begin, Latest(), ignore, own)
    assert reading.ends is not None, "it is read up to where it ends now"
    with _errors_told(reading), asked_to_stop() as asked:
        read = (consumed(message) for batch in batches(reading, asked) for message in batch)
        found = newest((each for each in read if wanted.match.matches(each)), count)
        if asked():
            return EXIT_INTERRUPTED
    stream = sys.stdout.buffer
    for first in range(0, len(found), LINES_AT_ONCE):
        stream.write(b"".join([wanted.write(each) for each in found[first : first + LINES_AT_ONCE]]))
    stream.flush()
    if not follow:
        return EXIT_OK
    return _write_all(read_from(cluster, reading.ends.offsets, None, tell, own), wanted, commits=False)


def _write_all(reading: ConsumerRun, wanted: _Wanted, *, commits: bool) -> int:
    write, match, left = wanted.write, wanted.match, wanted.limit
    takes_all = match.is_everything
    stream = sys.stdout.buffer
    with _errors_told(reading), asked_to_stop() as asked:
        for batch in batches(reading, lambda: asked() or nobody_reads(stream), wanted.limit if takes_all else None):
            for first in range(0, len(batch), LINES_AT_ONCE):
                part = batch[first : first + LINES_AT_ONCE]
                if takes_all:
                    lines = [write(consumed(message)) for message in part]
                else:
                    part, lines = _matching(part, wanted, left)
                    left = None if left is None else left - len(lines)
                stream.write(b"".join(lines))
                stream.flush()
                if commits and part:
                    store(reading.consumer, part)
                if left is not None and left <= 0 and not takes_all:
                    return EXIT_OK
        return EXIT_INTERRUPTED if asked() else EXIT_OK


def _matching(part: Sequence[Message], wanted: _Wanted, left: int | None) -> tuple[list[Message], list[bytes]]:
    """Return the messages up to the last one that is still wanted, and the lines of those that match."""
    lines: list[bytes] = []
    for number, message in enumerate(part, 1):
        record = consumed(message)
        if wanted.match.matches(record):
            lines.append(wanted.write(record))
            if len(lines) == left:
                return list(part[:number]), lines
    return list(part), lines


@contextmanager
def _errors_told(reading: ConsumerRun) -> Iterator[None]:
    """Put what the client raises into words, and close it at the end, which commits what was stored."""
    try:
        yield
    except KafkaException as raised:
        raise failure(raised, "reading") from raised
    finally:
        reading.consumer.close()


def _topics(cluster: ClusterClients, named: Sequence[str], pattern: str | None) -> list[str]:
    """Return the topics to read: those named, or those of the pattern; of internal ones only those that are named."""
    if bool(named) == (pattern is not None):
        raise WrongUsageError("name topics, or say with --pattern which are meant")
    if pattern is None:
        return list(dict.fromkeys(named))
    expression = regular_expression("--pattern", pattern)
    found = sorted(name for name in cluster.metadata().topics if expression.fullmatch(name))
    found = [name for name in found if not name.startswith("__")]
    if not found:
        raise CommandError(f"no topic is of the form {pattern}; `odradek topics list` shows what there is")
    return found


def _chosen(topic: str, numbers: Sequence[int], wanted: Sequence[int] | None) -> list[Partition]:
    for each in wanted or ():
        if each not in numbers:
            raise CommandError(f"topic {topic} has no partition {each}; it has 0 to {max(numbers)}")
    return [(topic, number) for number in (sorted(set(wanted)) if wanted else numbers)]


def _record_match(key: str | None, headers: Sequence[str], grep: str | None) -> RecordMatch:
    try:
        wanted = [header_match(each) for each in headers]
    except ValueError as wrong:
        raise WrongUsageError(f"--header: {wrong}") from None
    pattern = None if grep is None else regular_expression("--grep", grep)
    return RecordMatch(
        key=None if key is None else key.encode("utf-8", "surrogateescape"),
        headers=wanted,
        pattern=None if pattern is None else re.compile(pattern.pattern.encode("utf-8", "surrogateescape")),
    )


def _formatter(output: CommandOutput, line_format: str | None, bytes_as: BytesAs) -> Formatter:
    if output.json:
        if line_format is not None:
            raise WrongUsageError("--format and --json exclude each other")
        if bytes_as is not BytesAs.PLAIN:
            raise WrongUsageError("--bytes and --json exclude each other; what is no UTF-8 is base64 in JSON")
        return record_line
    try:
        return parse_format(DEFAULT_FORMAT if line_format is None else line_format, ENCODINGS.get(bytes_as))
    except ValueError as wrong:
        raise WrongUsageError(f"--format: {wrong}") from None


def _decoding(write: Formatter, registry: SchemaRegistry, *, as_json: bool) -> Formatter:
    """Return what writes records with keys and values by their schemas; those without one stay as they are."""

    def decoded(record: Consumed) -> bytes:
        place = f"{record.topic}[{record.partition}]@{record.offset}"
        found: dict[str, object] = {}
        for name, data in (("key", record.key), ("value", record.value)):
            has_schema, value = registry.decode(data, f"the {name} of {place}")
            if has_schema:
                found[name] = json.loads(json_text(value))
        if as_json:
            return record_line(record, found)
        texts = {name: json_text(value) for name, value in found.items()}
        return write(record._replace(key=texts.get("key", record.key), value=texts.get("value", record.value)))

    return decoded


def _offset_spec(option: str, text: str | None) -> OffsetSpecification | None:
    if text is None:
        return None
    try:
        return parse_offset_spec(text, time.time_ns() // 1_000_000)
    except ValueError as wrong:
        raise WrongUsageError(f"{option}: {wrong}") from None
