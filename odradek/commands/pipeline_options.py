"""Options that all jobs of `odradek pipeline` take, and what is checked of them before Spark starts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from odradek.cli.arguments import pairs
from odradek.cli.options import BootstrapServer, CommandConfig, Profile
from odradek.cli.target import ClusterArguments, cluster_target
from odradek.cluster.offset_spec import Earliest, ForTimestamp, Latest, parse_offset_spec
from odradek.terminal.durations import duration_ms
from odradek.terminal.errors import WrongUsageError

STOPPING = (
    "Runs until it is told to stop: the first Ctrl-C or SIGTERM lets the micro-batch in work be finished (exit code 0),"
    " a second one ends it at once. docs/pipeline.md has the whole picture."
)
"""What the help of each job says of its end."""

APPLICATION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
STARTS = "`beginning`, `end`, a time such as `2026-11-21T10:00`, or how long ago, such as `15m`"

Json = Annotated[bool, Option("--json", help="Progress and results as JSON, one object a line.")]


@dataclass(frozen=True)
class JobOptions:
    """What is read, how far it was read before, when micro-batches run, and where Spark is."""

    topics: Annotated[
        list[str] | None, Argument(metavar="[TOPIC...]", help="What to read, unless --pattern says it.")
    ] = None
    pattern: Annotated[
        str | None, Option("--pattern", metavar="REGEX", help="Read all topics of this form, new ones too.")
    ] = None
    bootstrap_server: BootstrapServer = None
    command_config: CommandConfig = None
    profile: Profile = None
    kafka: Annotated[
        list[str] | None,
        Option("--kafka", "-X", metavar="NAME=VALUE", help="A setting of the Kafka client; repeatable."),
    ] = None
    start: Annotated[
        str, Option("--from", metavar="WHERE", help=f"Where a job begins that has not run before: {STARTS}.")
    ] = "beginning"
    max_offsets: Annotated[
        int | None,
        Option("--max-offsets-per-trigger", min=1, metavar="N", help="About so many records in a micro-batch at most."),
    ] = None
    min_partitions: Annotated[
        int | None, Option("--min-partitions", min=1, metavar="N", help="Split large partitions into so many tasks.")
    ] = None
    allow_data_loss: Annotated[
        bool, Option("--allow-data-loss", help="Go on where records are gone before they were read, instead of ending.")
    ] = False
    application: Annotated[
        str | None,
        Option("--application", metavar="NAME", help="By which it goes on next time; the job's name if not given."),
    ] = None
    checkpoint: Annotated[
        str | None, Option("--checkpoint", metavar="DIR", help="Where Spark keeps how far it has come.")
    ] = None
    offsets: Annotated[
        str | None,
        Option(
            "--offsets",
            "--redis",
            metavar="URL",
            help="Keep offsets there, and begin with them if there is no checkpoint: redis:// or zookeeper://.",
        ),
    ] = None
    interval: Annotated[
        str | None, Option("--interval", metavar="DURATION", help="A micro-batch each 10s, 5m; at once if not given.")
    ] = None
    available_now: Annotated[bool, Option("--available-now", help="Read what is there now, then end.")] = False
    once: Annotated[bool, Option("--once", help="The same in a single micro-batch.")] = False
    master: Annotated[
        str | None,
        Option("--master", metavar="URL", help="Where Spark runs; what spark-submit says, or local[*] if not given."),
    ] = None
    conf: Annotated[
        list[str] | None, Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; repeatable.")
    ] = None
    py_files: Annotated[
        str | None, Option("--py-files", metavar="FILES", help="Wheels or zip files for the workers of a cluster.")
    ] = None
    metrics_listener: Annotated[
        str | None,
        Option("--metrics-listener", metavar="HOST:PORT", help="Tell Prometheus there, at /metrics, how the job is."),
    ] = None
    log_file: Annotated[
        Path | None, Option("--log-file", metavar="FILE", help="Where Spark's own warnings and errors go.")
    ] = None


def reader_options(given: JobOptions, now_ms: int) -> dict[str, str]:
    """Return the options of the data source. Raises WrongUsageError."""
    options = {f"kafka.{name}": value for name, value in client_settings(given).items()}
    if bool(given.topics) == bool(given.pattern):
        raise WrongUsageError("name topics, or say with --pattern which are meant")
    options |= {"subscribePattern": given.pattern} if given.pattern else {"subscribe": ",".join(given.topics or ())}
    options |= _start(given.start, now_ms)
    if given.max_offsets is not None:
        options["maxOffsetsPerTrigger"] = str(given.max_offsets)
    if given.min_partitions is not None:
        options["minPartitions"] = str(given.min_partitions)
    return options | {"failOnDataLoss": str(not given.allow_data_loss).lower(), "includeHeaders": "true"}


def client_settings(given: JobOptions) -> dict[str, str]:
    """Return the settings of the Kafka client: those of the profile and of --command-config, then those of --kafka."""
    meant = cluster_target(ClusterArguments(given.bootstrap_server, given.command_config, given.profile))
    own = dict(pairs(given.kafka or (), "--kafka"))
    return {**meant.settings, "bootstrap.servers": meant.bootstrap, **own}


def trigger(given: JobOptions) -> Mapping[str, Any]:
    """Return when micro-batches run, as arguments of Spark's `trigger`. Raises WrongUsageError."""
    wanted = [name for name in ("interval", "available_now", "once") if getattr(given, name)]
    if len(wanted) > 1:
        raise WrongUsageError("only one of --interval, --available-now and --once can be given")
    if given.interval:
        return {"processingTime": f"{duration_ms(given.interval, '--interval')} milliseconds"}
    if given.available_now:
        return {"availableNow": True}
    return {"once": True} if given.once else {"processingTime": "0 seconds"}


def application_name(given: JobOptions, job: str) -> str:
    """Return the name that offsets and files go by. Raises WrongUsageError for one that cannot be part of a path."""
    name = given.application or job
    if not APPLICATION_NAME.fullmatch(name):
        raise WrongUsageError(f"--application {name!r} must be letters, digits, dots, dashes and underscores")
    return name


def settings(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """Return what was given as NAME=VALUE. Raises WrongUsageError."""
    return dict(pairs(given or (), option))


def _start(text: str, now_ms: int) -> dict[str, str]:
    try:
        spec = parse_offset_spec(text, now_ms)
    except ValueError as wrong:
        raise WrongUsageError(f"--from: {wrong}") from None
    match spec:
        case Earliest():
            return {"startingOffsets": "earliest"}
        case Latest():
            return {"startingOffsets": "latest"}
        case ForTimestamp(milliseconds):
            return {"startingTimestamp": str(milliseconds), "startingOffsetsByTimestampStrategy": "latest"}
        case _:
            raise WrongUsageError(f"--from {text} cannot be: give {STARTS}")
