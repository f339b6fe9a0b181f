"""The archive job put together: where it lies, which file systems keep two runs apart, and what its format is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from odradek.pipeline.archive import Archive, Commits
from odradek.pipeline.data_files import DataWriter, SparkFiles, TaskFiles
from odradek.pipeline.delta import DeltaLog
from odradek.pipeline.errors import WrongOptionError
from odradek.pipeline.iceberg import CATALOG_NAME, KEPT_FILES, SYNCED_FILES, IcebergCommits, IcebergPlace
from odradek.pipeline.json_values import from_ddl
from odradek.pipeline.kept_schema import KeptSchema
from odradek.pipeline.layout import (
    DELTA,
    ICEBERG,
    JSON,
    PARQUET,
    Layout,
    check_layout,
    chosen_columns,
    schema_of,
    settle,
)
from odradek.pipeline.ledger import COMPACTION, DamagedCommitError, Ledger
from odradek.pipeline.local_store import LocalStore, local_path
from odradek.pipeline.s3_store import SCHEMES, S3Store, storage_options
from odradek.pipeline.store import HadoopStore, Store
from odradek.pipeline.value_schema import ValueSchema

HDFS: Final = "hdfs"
LOCAL: Final = "file"


def is_s3(output: str) -> bool:
    """Return whether an archive is in S3, where Spark's own checkpoints cannot be without a connector."""
    return urlsplit(output).scheme in SCHEMES


def archive_path(output: str) -> str:
    """Return the path of an archive in one form: without a slash at the end, of S3 and local disks with one scheme."""
    if is_s3(output):
        parts = urlsplit(output)
        return f"s3://{parts.netloc}/{parts.path.strip('/')}"
    return output.rstrip("/")


def open_store(
    hadoop: HadoopStore, output: str, storage: Mapping[str, str]
) -> tuple[LocalStore | S3Store | HadoopStore, str]:
    """Return the file system of an archive, and the archive's path in it.

    Raises:
        WrongOptionError: the archive cannot be there, or options of storage are unknown.
        PipelineError: the file system does not answer, or does not keep two runs apart.
    """
    path = archive_path(output)
    if is_s3(path):
        s3 = S3Store(storage_options(storage))
        s3.check(path)
        return s3, path
    if storage:
        raise WrongOptionError(f"--storage is for archives in S3, and {output} is not there")
    scheme = hadoop.scheme(path)
    if scheme == LOCAL:
        return LocalStore(), local_path(path)
    if scheme == HDFS:
        return hadoop, path
    raise WrongOptionError(
        f"an archive cannot be in {scheme}: of that file system it is not known whether two runs would notice each"
        " other; give a local directory, hdfs:// or s3://"
    )


_OF_ICEBERG: Final = {
    "aws_endpoint_url": "s3.endpoint",
    "aws_region": "s3.region",
    "aws_access_key_id": "s3.access-key-id",
    "aws_secret_access_key": "s3.secret-access-key",
    "aws_session_token": "s3.session-token",
    "aws_virtual_hosted_style_request": "s3.force-virtual-addressing",
}
"""What options of storage are called by PyIceberg."""


@dataclass(frozen=True, slots=True)
class ArchivePlan:
    """What the command was told of an archive."""

    application: str
    output: str
    format: str
    columns: str | None
    keys: str
    """How keys are kept: bytes, text."""
    values: str
    """How values are kept: bytes, text, json."""
    value_schema: str | ValueSchema | None
    """What fields JSON values have: in Spark's SQL, or as it was read from a file; None: what is kept or found."""
    compression: str
    storage: Mapping[str, str]
    catalog: Mapping[str, str] = field(default_factory=dict)
    """Of Iceberg: properties of the catalog, and under `name` and `table` what both are called."""


def make_archive(hadoop: HadoopStore, plan: ArchivePlan, run: str, tell: Callable[[str], None]) -> Archive:
    """Return the job; `run` is a name that no other run has, `tell` shows a sentence.

    Raises:
        WrongOptionError: the archive cannot be there, or has another format or other columns.
        PipelineError: the file system does not answer, or does not keep two runs apart.
    """
    layout = _layout(plan)
    store, path = open_store(hadoop, plan.output, plan.storage)
    if layout.format != PARQUET and isinstance(store, HadoopStore):
        raise WrongOptionError(f"--format {layout.format} cannot be in {plan.output}: give a local directory or s3://")
    of_iceberg = iceberg_place(path, plan.storage, plan.catalog) if layout.format == ICEBERG else None
    settle(store, path, layout)
    of_values = _schema_of_values(store, path, plan)
    unknown = of_values is not None and of_values.schema is None
    schema = None if unknown else schema_of(layout, of_values.schema if of_values else None)
    commits: Commits
    if of_iceberg is not None:
        commits = IcebergCommits(of_iceberg, plan.application, run, schema)
    elif layout.format == DELTA:
        options = storage_options(plan.storage) if is_s3(path) else {}
        commits = DeltaLog(store, path, plan.application, run, schema, options)
    else:
        _finish_compaction(Ledger(store, path, COMPACTION, run, tell, repairs=False), tell)
        commits = Ledger(store, path, plan.application, run, tell)
    return Archive(commits, _writer(store, plan.compression, layout), layout, of_values)


def check_before_spark(plan: ArchivePlan) -> None:
    """Refuse what `make_archive` would refuse, as far as it is known without Spark, which takes long to start.

    Nothing is written. Raises as `make_archive` does.
    """
    layout = _layout(plan)
    if needs_spark(plan.output):
        return
    path = archive_path(plan.output)
    if layout.format == ICEBERG:
        iceberg_place(path, plan.storage, plan.catalog)
    if is_s3(path):
        check_layout(S3Store(storage_options(plan.storage)), path, layout)
    else:
        check_layout(LocalStore(), local_path(path), layout)


def _layout(plan: ArchivePlan) -> Layout:
    """Return what is asked for. Raises WrongOptionError for what cannot be meant."""
    if plan.application == COMPACTION:
        raise WrongOptionError(f"--application {COMPACTION} is what upkeep has for itself: give another name")
    layout = Layout(plan.format, chosen_columns(plan.columns), plan.keys, plan.values)
    if layout.values == JSON and "value" not in layout.columns:
        raise WrongOptionError("--value json is about the column value, which --columns leaves out")
    if plan.catalog and layout.format != ICEBERG:
        raise WrongOptionError("--catalog is for --format iceberg")
    return layout


def iceberg_place(path: str, storage: Mapping[str, str], catalog: Mapping[str, str]) -> IcebergPlace:
    """Return where an archive's Iceberg table is, in the catalog that is given or in one in SQLite beside its files.

    Raises WrongOptionError where there has to be one, and for a name that is none.
    """
    properties = dict(catalog)
    name = properties.pop("name", CATALOG_NAME)
    table = properties.pop("table", f"odradek.{re.sub('[^A-Za-z0-9_]', '_', path.rstrip('/').rpartition('/')[2])}")
    if not re.fullmatch(r"[^.]+(\.[^.]+)+", table):
        raise WrongOptionError(f"--catalog table={table} must be a namespace and a name, such as lake.orders")
    if is_s3(path):
        if not properties:
            raise WrongOptionError(
                "an Iceberg table in S3 needs a catalog, which makes its batches one step: give --catalog"
                " uri=https://... of a REST catalog, or another one by the names that PyIceberg has for it"
            )
        options = storage_options(storage)
        of_files = {theirs: options[ours] for ours, theirs in _OF_ICEBERG.items() if ours in options}
        return IcebergPlace(path, table, {"py-io-impl": KEPT_FILES} | of_files | properties, name)
    own = {"type": "sql", "uri": f"sqlite:///{path}/_odradek/catalog.db"}
    return IcebergPlace(f"file://{path}", table, {"py-io-impl": SYNCED_FILES} | (properties or own), name)


def _schema_of_values(store: Store, path: str, plan: ArchivePlan) -> KeptSchema | None:
    """Return the schema of an archive's JSON values, with the fields that are given; None where there are no such."""
    if plan.values != JSON:
        return None
    of_values, given = KeptSchema(store, path), plan.value_schema
    if given is not None:
        of_values.add(from_ddl(given) if isinstance(given, str) else given)
    return of_values


def _finish_compaction(ledger: Ledger, tell: Callable[[str], None]) -> None:
    """Have readers see what was being compacted when that was cut short."""
    try:
        ledger.open()
    except DamagedCommitError as damaged:
        tell(str(damaged))


def needs_spark(output: str) -> bool:
    """Return whether only Spark reaches the file system of an archive: all but local ones and S3."""
    return not is_s3(output) and urlsplit(output).scheme not in ("", LOCAL)


def open_without_spark(output: str, storage: Mapping[str, str]) -> tuple[LocalStore | S3Store, str]:
    """Return the file system of an archive that does not need Spark, and the archive's path in it.

    Raises:
        WrongOptionError: options of storage are unknown.
        PipelineError: the file system does not answer, or does not keep two runs apart.
    """
    path = archive_path(output)
    if is_s3(path):
        s3 = S3Store(storage_options(storage))
        s3.check(path)
        return s3, path
    if storage:
        raise WrongOptionError(f"--storage is for archives in S3, and {output} is not there")
    return LocalStore(), local_path(path)


def _writer(store: LocalStore | S3Store | HadoopStore, compression: str, layout: Layout) -> DataWriter:
    """Return how data files get to a file system: by Spark, but where it does not know that, or where more is to be
    known of a file than that it is there."""
    if isinstance(store, S3Store) or (layout.format != PARQUET and isinstance(store, LocalStore)):
        return TaskFiles(store, compression)
    return SparkFiles(store, compression)
