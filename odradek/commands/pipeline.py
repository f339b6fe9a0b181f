"""`odradek pipeline`: jobs on Spark. The jobs themselves are in the package `pipeline`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

from typer import Option

from odradek.cli.command import group, offline
from odradek.commands import pipeline_relay
from odradek.commands.pipeline_jobs import (
    OBJECT_STORES,
    JobPlan,
    do_upkeep,
    read_value_schema,
    register,
    show_progress,
    store_needs,
)
from odradek.commands.pipeline_options import (
    STOPPING,
    JobOptions,
    application_name,
    client_settings,
    settings,
)
from odradek.documents import pipeline as documents
from odradek.terminal.durations import duration_ms
from odradek.terminal.errors import WrongUsageError
from odradek.terminal.output import CommandOutput

if TYPE_CHECKING:
    from odradek.pipeline.archive_places import ArchivePlan
    from odradek.pipeline.running import Job
    from odradek.pipeline.store import HadoopStore
    from odradek.pipeline.wordcount import CountedWord

app = group("pipeline", "Run jobs on Spark: topics to Parquet, counts of words, topics into topics.")


class ParquetCompression(StrEnum):
    """How Parquet files are compressed."""

    ZSTD = "zstd"
    SNAPPY = "snappy"
    GZIP = "gzip"
    LZ4 = "lz4"
    NONE = "none"


class KeptAs(StrEnum):
    """How values are kept in an archive."""

    BYTES = "bytes"
    TEXT = "text"
    JSON = "json"


class ArchiveFormat(StrEnum):
    """What an archive is to those who read it."""

    PARQUET = "parquet"
    DELTA = "delta"
    ICEBERG = "iceberg"


_OF_FORMAT = {ArchiveFormat.DELTA: {"deltalake": "delta"}, ArchiveFormat.ICEBERG: {"pyiceberg": "iceberg"}}
"""Packages that formats need, and the extra that brings each."""


@register(
    app,
    "archive",
    details=STOPPING,
    examples="""\
    odradek pipeline archive orders --output archive
    odradek pipeline archive --pattern 'orders-.*' --output archive --interval 1m --text
    odradek pipeline archive orders --output archive --available-now --json
    odradek pipeline archive orders --output archive --offsets redis://127.0.0.1:6379/0
    odradek pipeline archive orders --output archive --format delta --interval 1m
    odradek pipeline archive orders --output archive --value json --value-schema 'id BIGINT, items ARRAY<STRING>'
    odradek pipeline archive orders --output s3://bucket/archive --interval 1m
    odradek pipeline archive orders --output hdfs://name:8020/archive --master spark://host:7077""",
)
def archive(
    output: CommandOutput,
    given: JobOptions,
    archive: Annotated[
        str, Option("--output", "-o", metavar="DIR", help="Where to: a directory, hdfs://, s3://.", show_default=False)
    ],
    format: Annotated[
        ArchiveFormat, Option("--format", help="Plain Parquet files, or a table of Delta Lake or of Iceberg.")
    ] = ArchiveFormat.PARQUET,
    columns: Annotated[
        str | None,
        Option("--columns", metavar="NAMES", help="What to keep of a record, with commas; everything if not given."),
    ] = None,
    text: Annotated[bool, Option("--text", help="Keep keys and values as text, not as bytes.")] = False,
    value: Annotated[
        KeptAs | None,
        Option("--value", help="How to keep values; json: with the fields of JSON objects. Else as --text says."),
    ] = None,
    value_schema: Annotated[
        str | None,
        Option(
            "--value-schema",
            metavar="SCHEMA",
            help="The fields of --value json: `id BIGINT, at TIMESTAMP`, or a FILE.json of Spark; else found once.",
        ),
    ] = None,
    compression: Annotated[ParquetCompression, Option("--compression", help="Of the files.")] = ParquetCompression.ZSTD,
    storage: Annotated[
        list[str] | None,
        Option(
            "--storage",
            metavar="NAME=VALUE",
            help="Of S3: endpoint, region, access-key-id, secret-access-key; repeatable. Else as AWS' tools find them.",
        ),
    ] = None,
    catalog: Annotated[
        list[str] | None,
        Option(
            "--catalog",
            metavar="NAME=VALUE",
            help="Of Iceberg: name, table, and what PyIceberg calls type, uri, ...; repeatable. Else its own.",
        ),
    ] = None,
) -> JobPlan:
    """Keep topics as Parquet files by topic and date, as a Delta or Iceberg table, every record exactly once.

    The archive itself knows how far it has come: a job that was killed goes on without a gap and without a double,
    with its checkpoint (in the archive, if --checkpoint does not say another), with --offsets, or with neither.
    """
    name = application_name(given, "archive")
    of_storage, of_catalog = settings(storage, "--storage"), settings(catalog, "--catalog")
    keys = KeptAs.TEXT if text else KeptAs.BYTES
    if value_schema is not None and value is not KeptAs.JSON:
        raise WrongUsageError("--value-schema is for --value json")
    of_values = read_value_schema(value_schema) if value_schema is not None else None

    def planned() -> ArchivePlan:
        from odradek.pipeline.archive_places import ArchivePlan

        kept_as = (value or keys).value
        of_files = (archive, format.value, columns, keys.value, kept_as, of_values, compression.value)
        return ArchivePlan(name, *of_files, of_storage, of_catalog)

    def check() -> None:
        from odradek.pipeline.archive_places import check_before_spark

        check_before_spark(planned())

    def make(hadoop: HadoopStore) -> Job:
        from odradek.pipeline.archive_places import make_archive

        return make_archive(hadoop, planned(), uuid4().hex, output.note)

    at = None if archive.startswith(OBJECT_STORES) else f"{archive.rstrip('/')}/_odradek/{name}/checkpoint"
    return JobPlan(make, checkpoint=at, needs=_OF_FORMAT.get(format, {}) | store_needs(archive), check=check)


@register(
    app,
    "wordcount",
    keeps_state=True,
    details=STOPPING,
    examples="""\
    odradek pipeline wordcount lines
    odradek pipeline wordcount lines --available-now --limit 100 --json
    odradek pipeline wordcount lines --to counts --checkpoint wordcount-checkpoint
    odradek pipeline wordcount lines --window 5m --slide 1m --watermark 10m
    odradek pipeline wordcount lines --window 1h --to-redis redis://127.0.0.1:6379/0 --checkpoint counts""",
)
def wordcount(
    output: CommandOutput,
    given: JobOptions,
    to: Annotated[
        str | None, Option("--to", metavar="TOPIC", help="Produce each new count there, with the word as the key.")
    ] = None,
    to_redis: Annotated[
        str | None, Option("--to-redis", metavar="URL", help="Set each new count there, in a hash of words.")
    ] = None,
    window: Annotated[
        str | None,
        Option("--window", metavar="DURATION", help="Count by windows of time, after the timestamps of records."),
    ] = None,
    slide: Annotated[
        str | None,
        Option("--slide", metavar="DURATION", help="A window begins each so often; each --window if not given."),
    ] = None,
    watermark: Annotated[
        str, Option("--watermark", metavar="DURATION", help="How late a record may come and still count in its window.")
    ] = "10m",
    limit: Annotated[int, Option("--limit", "-n", min=1, metavar="N", help="How many words to show.")] = 20,
) -> JobPlan:
    """Count the words in the values of topics, and show the most frequent ones after each micro-batch.

    Counts are kept in the checkpoint; without --checkpoint they begin anew with each run. With --window each window of
    time has counts of its own, and what is shown are those that the micro-batch changed, the newest window first.
    """
    if to and to_redis:
        raise WrongUsageError("counts go to one place: give --to or --to-redis")
    if slide and not window:
        raise WrongUsageError("--slide is for --window")
    times = _windows(window, slide, watermark) if window else None
    shared, name = client_settings(given), application_name(given, "wordcount")

    def make(store: HadoopStore) -> Job:
        del store
        from odradek.pipeline.redis_counts import RedisCounts
        from odradek.pipeline.redis_offsets import connect
        from odradek.pipeline.sink import TopicSink, sink_options
        from odradek.pipeline.wordcount import TimeWindows, WordCount

        def show(batch: int, words: Sequence[CountedWord]) -> None:
            _show_words(output, batch, words)

        sink = TopicSink(sink_options(shared, {}, to)) if to else None
        counts = RedisCounts(connect(to_redis), name) if to_redis else None
        return WordCount(show, limit, sink, counts, TimeWindows(*times) if times else None)

    return JobPlan(make, produces=to, prints_results=to is None and to_redis is None)


def _windows(window: str, slide: str | None, watermark: str) -> tuple[int, int, int]:
    """Return length, slide and watermark in milliseconds. Raises WrongUsageError."""
    length = duration_ms(window, "--window")
    apart = duration_ms(slide, "--slide") if slide else length
    if not 0 < apart <= length:
        raise WrongUsageError(f"--slide must be above 0 and at most --window, which is {window}")
    return length, apart, duration_ms(watermark, "--watermark")


def _window_json(word: CountedWord) -> dict[str, str]:
    if word.start is None or word.end is None:
        return {}
    return {"from": word.start.isoformat(), "until": word.end.isoformat()}


def _show_words(output: CommandOutput, batch: int, words: Sequence[CountedWord]) -> None:
    windows = any(each.start is not None for each in words)
    if output.json:
        counts = [{"word": each.word, "count": each.count} | _window_json(each) for each in words]
        output.line(json.dumps({"batch": batch, "words": counts}, ensure_ascii=False))
    elif windows:
        output.heading(f"batch {batch}")
        rows = [[f"{each.start:%Y-%m-%d %H:%M:%S}", each.word, each.count] for each in words]
        output.table(["FROM (UTC)", "WORD", ">COUNT"], rows)
    else:
        output.heading(f"batch {batch}")
        output.table(["WORD", ">COUNT"], [[each.word, each.count] for each in words])


app.add_typer(pipeline_relay.app)


@offline(
    app,
    "progress",
    document=documents.PROGRESS,
    examples="odradek pipeline progress --offsets redis://127.0.0.1:6379/0\n"
    "odradek pipeline progress --offsets zookeeper://127.0.0.1:2181/kafka --application archive --json",
)
def progress(
    output: CommandOutput,
    offsets: Annotated[
        str, Option("--offsets", "--redis", metavar="URL", help="Where jobs keep their offsets.", show_default=False)
    ],
    application: Annotated[str | None, Option("--application", metavar="NAME", help="Only this one.")] = None,
) -> None:
    """Show how far jobs have come that keep their offsets in Redis or ZooKeeper."""
    show_progress(output, offsets, application)


@offline(
    app,
    "upkeep",
    document=documents.UPKEEP,
    examples="odradek pipeline upkeep --output archive\n"
    "odradek pipeline upkeep --output s3://bucket/archive --compact-after 2 --keep-days 365\n"
    "odradek pipeline upkeep --output hdfs://name:8020/archive",
)
def upkeep(
    output: CommandOutput,
    archive: Annotated[str, Option("--output", "-o", metavar="DIR", help="The archive.", show_default=False)],
    compact_after: Annotated[
        int, Option("--compact-after", min=1, metavar="DAYS", help="Put small files of days together that are so old.")
    ] = 1,
    keep_days: Annotated[
        int | None,
        Option("--keep-days", min=1, metavar="DAYS", help="Remove days that are older; else all stay."),
    ] = None,
    file_size: Annotated[
        int, Option("--file-size", min=1, max=4096, metavar="MIB", help="How large files become, about.")
    ] = 256,
    storage: Annotated[
        list[str] | None, Option("--storage", metavar="NAME=VALUE", help="Of S3, as for archive; repeatable.")
    ] = None,
    conf: Annotated[
        list[str] | None, Option("--conf", metavar="NAME=VALUE", help="A setting of Spark, for HDFS; repeatable.")
    ] = None,
) -> None:
    """Put the small files of an archive's days together, and remove days that are too old.

    May run beside the job that archives. Starts no Spark but for an archive in HDFS, which only Spark reaches. Days are
    those of the records' timestamps, in UTC.
    """
    of_storage, of_spark = settings(storage, "--storage"), settings(conf, "--conf")
    do_upkeep(output, archive, compact_after, keep_days, file_size, of_storage, of_spark)
