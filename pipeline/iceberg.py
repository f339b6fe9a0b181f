"""What an archive in Apache Iceberg's format holds: a catalog makes a batch one step, wherever the files are.

Tasks write data files to their place at once; a file counts when a snapshot of the table names it, and the snapshot
of a batch names all of its files. With it goes a property of the table, which says how far the application has come.

    <archive>/metadata/...                          the table's own
    <archive>/_odradek/catalog.db                   a catalog in SQLite, where no other is given
    <archive>/topic=<topic>/date=<date>/<application>-0000000007-<any name>.zstd.parquet

A snapshot is taken by the catalog only if the one before it is the one that the run has seen (no retries of the
library): so a run sees the property of any other run of its name before it could write its own. Also a batch without
files makes a snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from odradek.pipeline.batches import Batch, TopicIds, from_json, furthest, ids_from
from odradek.pipeline.data_files import DIRECTORIES, MEASURED, NO_DATE, DataFile
from odradek.pipeline.errors import PipelineError, WrongOptionError, sentence
from pyspark_odradek.offsets import Offsets, to_checkpoint

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

PROPERTY: Final = "odradek."
"""What the names of properties begin with; the application's follows."""
TRIES: Final = 100
"""How often a snapshot is tried again that others were quicker with, those of other applications or of maintenance."""
_NO_RETRIES: Final = {"commit.retry.num-retries": "0"}
_WIDTHS: Final = {"partition": 4, "offset": 8, "timestamp": 8}
CATALOG_NAME: Final = "odradek"
KEPT_FILES: Final = "odradek.pipeline.iceberg_files.KeptFiles"
SYNCED_FILES: Final = "odradek.pipeline.iceberg_files.SyncedFiles"


@dataclass(frozen=True, slots=True)
class IcebergPlace:
    """Where a table is: a name in a catalog, and the directory of its files."""

    location: str
    """Such as file:///archive or s3://bucket/archive."""
    table: str
    """Namespace and name, with a dot between them."""
    catalog: Mapping[str, str] = field(repr=False)
    """Properties of the catalog and of the file system, by the names that PyIceberg has for them."""
    catalog_name: str = CATALOG_NAME
    """By which a catalog in a database, which may have several, knows its tables."""


@dataclass(frozen=True, slots=True)
class _Reached:
    """What the property of an application says."""

    number: int = -1
    run: str = ""
    until: Offsets = field(default_factory=dict)
    topic_ids: TopicIds = field(default_factory=dict)

    def to_json(self) -> str:
        told = {"number": self.number, "run": self.run, "until": to_checkpoint(self.until), "topics": self.topic_ids}
        return json.dumps(told)


class IcebergCommits:
    """The batches of one application in one table; `run` is a name that no other run has.

    `schema` is that of the records with topic and date, None where it is not known yet. Methods raise PipelineError.
    """

    def __init__(self, place: IcebergPlace, application: str, run: str, schema: pa.Schema | None) -> None:
        self._place = place
        self._application = application
        self._run = run
        self._schema = schema
        self._catalog: Catalog | None = None
        self._reached = _Reached()

    @property
    def until(self) -> Offsets:
        """The next offset of each partition of which something is in the archive."""
        return self._reached.until

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that the archive is of, as far as they were told."""
        return self._reached.topic_ids

    def open(self) -> None:
        """Make the table if there is none and its columns are known, and learn how far it is."""
        with _in_a_sentence(self._place.table):
            self._catalog = _catalog(self._place)
            if self._schema is not None:
                _make(self._catalog, self._place, self._schema)
            elif not self._catalog.table_exists(self._place.table):
                return
            self._reached = self._said_by(self._table())

    def settle(self, schema: pa.Schema) -> None:
        """Make the table with these columns, which were not known when it was opened."""
        self._schema = schema
        with _in_a_sentence(self._place.table):
            assert self._catalog is not None, "it is opened first"
            _make(self._catalog, self._place, schema)

    def place(self) -> tuple[str, str]:
        """Return the directory that the files of the next batch go to, and how their names are to begin."""
        return self._place.location, f"{self._application}-{self._reached.number + 1:010d}"

    def commit(self, batch: Batch, files: Sequence[DataFile]) -> None:
        """Take in these files, which lie where `place` said, as the batch."""
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

        until, ids = furthest(self.until, batch.end), {**self.topic_ids, **batch.topic_ids}
        wanted = _Reached(self._reached.number + 1, self._run, until, ids)
        for _ in range(TRIES):
            with _in_a_sentence(self._place.table):
                table = self._table()
                found = self._said_by(table)
                if (found.number, found.run) == (wanted.number, wanted.run):
                    self._reached = wanted
                    return  # it was done; at the first look an answer was lost
                if (found.number, found.run) != (self._reached.number, self._reached.run):
                    raise self._another_run()
                try:
                    self._write(table, wanted, [_added(each, self._place.location, table) for each in files])
                except (CommitFailedException, CommitStateUnknownException):
                    continue  # the next look tells
                self._reached = wanted
                return
        raise PipelineError(f"{self._place.table} is written to by so many that a batch found no place in it")

    def _write(self, table: Table, wanted: _Reached, added: Sequence[Any]) -> None:
        with table.transaction() as transaction:
            with transaction.update_snapshot().fast_append() as append:
                for each in added:
                    append.append_data_file(each)
            transaction.set_properties({f"{PROPERTY}{self._application}": wanted.to_json()})

    def _table(self) -> Table:
        assert self._catalog is not None, "it is opened first"
        table = self._catalog.load_table(self._place.table)
        if not _NO_RETRIES.items() <= table.properties.items():
            (name,) = _NO_RETRIES
            raise PipelineError(f"property {name} of {self._place.table} must be 0, so that two runs notice each other")
        return table

    def _said_by(self, table: Table) -> _Reached:
        name = f"{PROPERTY}{self._application}"
        text = table.properties.get(name)
        if text is None:
            return _Reached()
        try:
            found = json.loads(text)
            until = from_json(json.dumps(found["until"]), name)
            return _Reached(int(found["number"]), str(found["run"]), until, ids_from(found["topics"]))
        except (ValueError, KeyError, TypeError) as wrong:
            raise PipelineError(
                f"property {name} of {self._place.table} says how far the archive is, and cannot be read: {wrong}"
            ) from wrong

    def _another_run(self) -> PipelineError:
        return PipelineError(
            f"another run archives to {self._place.table} under the same name; end one of them, or give one another"
            f" --application than {self._application}"
        )


def _catalog(place: IcebergPlace) -> Catalog:
    from pyiceberg.catalog import load_catalog

    return load_catalog(place.catalog_name, **place.catalog)


def _make(catalog: Catalog, place: IcebergPlace, schema: pa.Schema) -> None:
    """Make a table, or add fields of values to the one that is there. Raises WrongOptionError for another one."""
    from pyiceberg.exceptions import TableAlreadyExistsError
    from pyiceberg.table.name_mapping import create_mapping_from_schema

    if not catalog.table_exists(place.table):
        catalog.create_namespace_if_not_exists(place.table.rpartition(".")[0])
        try:
            with catalog.create_table_transaction(
                place.table, schema, location=place.location, properties=_NO_RETRIES
            ) as made:
                with made.update_spec() as spec:
                    for name in DIRECTORIES:
                        spec.add_identity(name)
                # Files have no ids of fields: their columns are found by name, as the table's format has it.
                by_name = create_mapping_from_schema(made.table_metadata.schema()).model_dump_json()
                made.set_properties({"schema.name-mapping.default": by_name})
        except TableAlreadyExistsError:
            pass  # another run made it
    table = catalog.load_table(place.table)
    there = [each.name for each in table.schema().fields]
    parts = [table.schema().find_column_name(each.source_id) for each in table.spec().fields]
    if there != schema.names or parts != list(DIRECTORIES) or table.location().rstrip("/") != place.location:
        raise WrongOptionError(
            f"{place.table} is a table in {table.location()} with the columns {', '.join(there)}, and not one of this"
            f" job, in {place.location} with {', '.join(schema.names)}: give another --output, or --catalog table=NAME"
        )
    with table.update_schema() as grown:
        grown.union_by_name(schema)


def _added(file: DataFile, location: str, table: Table) -> Any:
    """Return what a snapshot says of a file, with what is known of it so that readers may leave it out."""
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.manifest import DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    topic, day, _ = file.path.split("/")
    of_day = day.removeprefix("date=")
    days = None if of_day == NO_DATE else (date.fromisoformat(of_day) - date(1970, 1, 1)).days
    nothing: dict[str, Any] = dict.fromkeys(
        ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "key_metadata", "split_offsets")
    )
    return IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{location}/{file.path}",
        file_format=FileFormat.PARQUET,
        partition=Record(topic.removeprefix("topic="), days),
        record_count=file.rows,
        file_size_in_bytes=file.size,
        lower_bounds=_bounds(file.least, table),
        upper_bounds=_bounds(file.most, table),
        equality_ids=None,
        sort_order_id=None,
        **nothing,
    )


def _bounds(values: Mapping[str, int] | None, table: Table) -> dict[int, bytes]:
    there = {each.name: each.field_id for each in table.schema().fields}
    return {
        there[name]: (values or {})[name].to_bytes(_WIDTHS[name], "little", signed=True)
        for name in MEASURED
        if name in (values or {}) and name in there
    }


class _in_a_sentence:  # noqa: N801  used as a function
    """Have what the library raises come out as PipelineError."""

    def __init__(self, table: str) -> None:
        self._table = table

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise PipelineError for an error of the library."""
        if isinstance(error, ImportError):
            raise PipelineError(
                f"--format iceberg with this catalog needs {error.name}: pip install 'odradek[iceberg]'"
            ) from error
        if isinstance(error, Exception) and not isinstance(error, PipelineError):
            raise PipelineError(f"{self._table}: {sentence(error)}") from error
