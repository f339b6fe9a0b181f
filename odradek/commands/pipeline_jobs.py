"""How the jobs of `odradek pipeline` are run. Only here the command touches Spark, and only once a job is to run."""

from __future__ import annotations

import inspect
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import uuid4

import typer

from odradek.cli.command import offline
from odradek.commands.pipeline_display import JobDisplay
from odradek.commands.pipeline_metrics import JobMetrics, served_metrics
from odradek.commands.pipeline_options import (
    JobOptions,
    Json,
    application_name,
    reader_options,
    settings,
    trigger,
)
from odradek.terminal.errors import EXIT_OK, CommandError, WrongUsageError
from odradek.terminal.human import count_text, plural
from odradek.terminal.interrupts import asked_to_stop, told_to_end
from odradek.terminal.output import CommandOutput

if TYPE_CHECKING:
    from odradek.pipeline.offset_store import JobOffsets
    from odradek.pipeline.running import Job
    from odradek.pipeline.store import HadoopStore
    from odradek.pipeline.upkeep import UpkeepStore

NEEDED = ("pyspark", "pyarrow", "numpy", "numba", "redis", "kazoo")
OBJECT_STORES = ("s3://", "s3a://")
"""Where Spark's checkpoint cannot be without a connector: the archive alone knows how far it has come."""

MakeJob: TypeAlias = "Callable[[HadoopStore], Job]"
"""Makes a job once Spark has started and with it there are its file systems."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What a command says of its job."""

    make: MakeJob
    checkpoint: str | None = None
    """Where Spark keeps how far it has come, unless --checkpoint or --offsets says otherwise."""
    reading: Mapping[str, str] = field(default_factory=dict)
    """Options of the source that hold where others are not given."""
    needs: Mapping[str, str] = field(default_factory=dict)
    """Packages beside those of all jobs, and the extra that brings each."""
    check: Callable[[], None] = lambda: None
    """Refuses what is known to be wrong before Spark starts, which takes long."""
    produces: str | None = None
    """The topic of the same cluster that it produces to, if it is one."""
    prints_results: bool = False
    """Whether the job itself writes to standard output."""


Prepare = TypeVar("Prepare", bound=Callable[..., JobPlan])


def register(
    app: typer.Typer, name: str, *, examples: str, keeps_state: bool = False, details: str = ""
) -> Callable[[Prepare], Prepare]:
    """Register a function `(output, given, ...) -> JobPlan` as a job.

    The command has the options of all jobs beside those of the function, and stays until the job ends.
    """

    def decorate(function: Prepare) -> Prepare:
        shared = list(inspect.signature(JobOptions, eval_str=True).parameters.values())
        first, _, *own = inspect.signature(function, eval_str=True).parameters.values()

        def command(output: CommandOutput, **values: Any) -> int:
            given = JobOptions(**{each.name: values.pop(each.name) for each in shared})
            with _told_in_a_sentence():
                return _run(output, given, name, function(output, given, **values), keeps_state)

        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *shared)]
        command.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]
        command.__doc__ = function.__doc__
        offline(app, name, examples=examples, details=details, json=Json)(command)
        return function

    return decorate


def show_progress(output: CommandOutput, url: str, application: str | None) -> None:
    """Show what Redis or ZooKeeper has of applications."""
    _require("redis", "kazoo", "pyspark")
    from odradek.pipeline import offset_addresses

    with _told_in_a_sentence():
        found = offset_addresses.progress(url)
    found = [each for each in found if application in (None, each.application)]
    if output.json:
        output.document({"applications": [_progress_json(each) for each in found]})
    elif not found:
        output.note("no job has finished a micro-batch with --offsets here yet")
    else:
        columns = ["APPLICATION", "JOB", ">BATCH", "TOPIC", ">PARTITION", ">FROM", ">UNTIL"]
        rows = [
            [each.application, each.job, each.number, topic, partition, first, until]
            for each in found
            for (topic, partition), first, until in each.ranges
        ]
        output.table(columns, rows)


def do_upkeep(
    output: CommandOutput,
    archive: str,
    compact_after: int,
    keep_days: int | None,
    file_mib: int,
    storage: Mapping[str, str],
    conf: Mapping[str, str],
) -> None:
    """Put small files of an archive together, remove days that are too old, and show what was done."""
    _require("pyarrow", "pyspark")
    _require_extras(store_needs(archive))
    from odradek.pipeline.upkeep import UpkeepPlan, upkeep

    today = datetime.now(UTC).date()
    keep_from = None if keep_days is None else today - timedelta(days=keep_days)
    plan = UpkeepPlan(today - timedelta(days=compact_after), keep_from, file_mib << 20)
    with _told_in_a_sentence(), _store_of(archive, storage, conf, output.debug) as (store, path):
        done = upkeep(store, path, plan, uuid4().hex, output.note)
    if output.json:
        output.document({"removed": done.removed, "compacted": done.compacted, "written": done.written})
    else:
        small, removed = plural(done.compacted, "small file"), plural(done.removed, "file")
        output.note(f"{small} became {count_text(done.written)}, {removed} of old days removed")


@contextmanager
def _store_of(
    archive: str, storage: Mapping[str, str], conf: Mapping[str, str], debug: bool
) -> Iterator[tuple[UpkeepStore, str]]:
    """Give the file system of an archive and its path there; Spark is started where only it reaches that."""
    from odradek.pipeline.archive_places import needs_spark, open_store, open_without_spark

    if not needs_spark(archive):
        yield open_without_spark(archive, storage)
        return
    from odradek.pipeline.session import SessionSettings, spark_session
    from odradek.pipeline.store import HadoopStore

    with spark_session(SessionSettings("upkeep", "local[1]", conf, debug=debug)) as spark:
        yield open_store(HadoopStore(spark), archive, storage)


def store_needs(archive: str) -> dict[str, str]:
    """Return what an archive needs for the place where it is: packages, and the extra that brings each."""
    return {"obstore": "s3"} if archive.startswith(OBJECT_STORES) else {}


def read_value_schema(text: str) -> str | dict[str, Any]:
    """Return the schema in a file whose name ends with .json, or else the text, which only Spark can read."""
    if not text.endswith(".json"):
        return text
    _require(*NEEDED)
    from odradek.pipeline.value_schema import MAX_BYTES, schema_from_json

    try:
        with Path(text).open("rb") as file:
            found = file.read(MAX_BYTES + 1)
    except OSError as refused:
        raise WrongUsageError(f"--value-schema {text}: {refused.strerror}") from None
    return schema_from_json(found, text)


def _progress_json(found: Any) -> dict[str, Any]:
    return {
        "application": found.application,
        "job": found.job,
        "batch": found.number,
        "run": found.run,
        "finished_at_ms": found.finished_at_ms,
        "partitions": [
            {"topic": topic, "partition": partition, "from": first, "until": until}
            for (topic, partition), first, until in found.ranges
        ],
    }


def _run(output: CommandOutput, given: JobOptions, job: str, plan: JobPlan, keeps_state: bool) -> int:
    name, when = application_name(given, job), trigger(given)
    options, conf = {**plan.reading, **reader_options(given, _now_ms())}, settings(given.conf, "--conf")
    _require(*NEEDED)
    _require_extras(plan.needs)
    from odradek.pipeline import source
    from odradek.pipeline.running import Run, Runner
    from odradek.pipeline.session import SessionSettings, spark_session
    from odradek.pipeline.store import HadoopStore

    plan.check()
    read = source.checked(options)
    source.refuse_loop(read, plan.produces)
    source.beginning(read, {})  # a cluster or a topic that is not there is told before Spark starts
    log_file = str(given.log_file) if given.log_file else None
    session = SessionSettings(name, given.master, conf, given.py_files, log_file, output.debug)
    display = JobDisplay(output, plan.prints_results)
    metrics = JobMetrics(name, job, display)
    display.doing(f"starting Spark ({given.master})" if given.master else "starting Spark")
    with (
        served_metrics(given.metrics_listener, metrics, output.note),
        display.shown(),
        told_to_end() as told,
        _offsets(given, name, job) as offsets,
        _checkpoint(given, plan.checkpoint) as checkpoint,
        spark_session(session) as spark,
    ):
        if told():
            raise KeyboardInterrupt  # while Spark was starting, which may have swallowed it
        store = HadoopStore(spark)
        run = Run(name, options, checkpoint, when, offsets, resumes_from_offsets=not keeps_state)
        with asked_to_stop() as asked:
            Runner(spark, store, plan.make(store), run).run(asked, metrics)
    return EXIT_OK


@contextmanager
def _offsets(given: JobOptions, name: str, job: str) -> Iterator[JobOffsets | None]:
    """Give where the job keeps its offsets beside a checkpoint, None where it does not."""
    if given.offsets is None:
        yield None
        return
    from odradek.pipeline.offset_addresses import opened_offsets

    with opened_offsets(given.offsets, name, job, _now_ms) as store:
        yield store


@contextmanager
def _checkpoint(given: JobOptions, default: str | None) -> Iterator[str]:
    """Give the directory of the checkpoint; one that is gone afterwards where other things say where to go on."""
    chosen = given.checkpoint or (default if given.offsets is None else None)
    if chosen is not None:
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix="odradek-checkpoint-", ignore_cleanup_errors=True) as scratch:
        yield f"file://{scratch}/checkpoint"


def _require(*packages: str) -> None:
    missing = [name for name in packages if not _is_there(name)]
    if missing:
        raise CommandError(
            f"`odradek pipeline` needs {', '.join(missing)}, which the broker does not: pip install 'odradek[pipeline]'"
        )


def _require_extras(needs: Mapping[str, str]) -> None:
    for package, extra in needs.items():
        if not _is_there(package):
            raise CommandError(f"this needs {package}, which is not installed: pip install 'odradek[{extra}]'")


@contextmanager
def _told_in_a_sentence() -> Iterator[None]:
    """Have errors of the jobs come out as those of the command."""
    try:
        yield
    except CommandError:
        raise
    except Exception as failed:
        if not _is_there("pyspark"):
            raise
        from odradek.pipeline.errors import PipelineError, WrongOptionError

        if isinstance(failed, WrongOptionError):
            raise WrongUsageError(str(failed)) from failed
        if isinstance(failed, PipelineError):
            raise CommandError(str(failed)) from failed
        raise


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
