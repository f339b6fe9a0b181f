"""What an archive in Delta Lake's format holds: the table's own log makes a batch one step, also in object stores.

Tasks write data files to their place at once; a file counts when an entry of the log names it, and the entry of a batch
names all of its files. In it is a transaction of the application (Delta's `txn`), whose version grows by each batch: it
stays in the log for good, and leads to the offsets that were reached.

    <archive>/_delta_log/00000000000000000007.json
    <archive>/_odradek/<application>/offsets/<version of the transaction>.json
    <archive>/topic=<topic>/date=<date>/<application>-0000000007-<any name>.zstd.parquet

An entry is written in one step, and only by whoever saw the one before it (no retries of the library): so a run sees
the transaction of any other run of its name before it could write its own. The version has a part that is the run's
own, so that offsets of a run that was refused are never taken for those of another. The offsets are written first;
without the entry nobody looks at them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from odradek.pipeline.batches import Batch, TopicIds, from_json, furthest, ids_from
from odradek.pipeline.data_files import DIRECTORIES, MEASURED, NO_DATE, DataFile
from odradek.pipeline.errors import PipelineError, WrongOptionError, sentence
from odradek.pipeline.local_store import LocalStore
from odradek.pipeline.store import Store
from odradek.pipeline.value_schema import merged
from pyspark_odradek.offsets import Offsets, to_checkpoint

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

TRANSACTIONS: Final = "odradek/"
"""What the names of transactions begin with; the application's follows."""
TRIES: Final = 100
"""How often an entry is tried again that others were quicker with, those of other applications or of maintenance."""
KEPT_OFFSETS: Final = 10
_OF_RUN: Final = 32
"""Bits of a transaction's version that are the run's own."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class DeltaLog:
    """The batches of one application in one table; `run` is a name that no other run has.

    `schema` is that of the records with topic and date, None where it is not known yet. Methods raise PipelineError.
    """

    def __init__(
        self,
        store: Store,
        archive: str,
        application: str,
        run: str,
        schema: pa.Schema | None,
        storage: Mapping[str, str] | None = None,
    ) -> None:
        self._store = store
        self._archive = archive.rstrip("/")
        self._application = application
        self._transaction = f"{TRANSACTIONS}{application}"
        self._of_run = int.from_bytes(hashlib.sha256(run.encode()).digest()[: _OF_RUN // 8])
        self._schema = schema
        self._storage = dict(storage or {})
        self._table: DeltaTable | None = None
        self._version = -1
        self._until: Offsets = {}
        self._topic_ids: TopicIds = {}

    @property
    def until(self) -> Offsets:
        """The next offset of each partition of which something is in the archive."""
        return self._until

    @property
    def topic_ids(self) -> TopicIds:
        """The ids of the topics that the archive is of, as far as they were told."""
        return self._topic_ids

    def open(self) -> None:
        """Make the table if there is none and its columns are known, and learn how far it is."""
        if self._schema is None:
            self._table = opened(self._archive, self._storage)
        else:
            self._table = _made(self._archive, self._schema, self._storage)
        if self._table is None:
            return
        version = self._table.transaction_version(self._transaction)
        if version is not None:
            self._version = version
            self._until, self._topic_ids = self._offsets(version)

    def settle(self, schema: pa.Schema) -> None:
        """Make the table with these columns, which were not known when it was opened."""
        self._schema = schema
        self._table = _made(self._archive, schema, self._storage)

    def place(self) -> tuple[str, str]:
        """Return the directory that the files of the next batch go to, and how their names are to begin."""
        return self._archive, f"{self._application}-{self._next() >> _OF_RUN:010d}"

    def commit(self, batch: Batch, files: Sequence[DataFile]) -> None:
        """Take in these files, which lie where `place` said, as the batch."""
        version, until = self._next(), furthest(self.until, batch.end)
        self._check(self._refreshed())
        ids = {**self._topic_ids, **batch.topic_ids}
        path, text = self._path(version), json.dumps({"until": to_checkpoint(until), "topics": ids}).encode()
        if not self._store.create(path, text) and self._store.read(path) != text:
            raise self._another_run()
        self._write(version, [_added(each) for each in files])
        self._version, self._until, self._topic_ids = version, until, ids
        self._forget()

    def _write(self, version: int, added: list[Any]) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError

        assert self._schema is not None, "it is settled before anything is written"
        transaction = Transaction(self._transaction, version)
        for _ in range(TRIES):
            table = self._refreshed()
            found = table.transaction_version(self._transaction)
            if found == version:
                return  # by this very run: the answer was lost
            self._check(table)
            with_it = CommitProperties(app_transactions=[transaction], max_commit_retries=0)
            try:
                with in_a_sentence(self._archive):
                    table.create_write_transaction(
                        added, "append", self._schema, list(DIRECTORIES), commit_properties=with_it
                    )
            except CommitFailedError:
                continue
            self._have_on_disk(table.version() + 1)
            return
        raise PipelineError(f"{self._archive} is written to by so many that a batch found no place in its log")

    def _have_on_disk(self, entry: int) -> None:
        """Sync an entry of the log, which the library does not; without retries it is the one after those seen."""
        if isinstance(self._store, LocalStore):
            path = f"{self._archive}/_delta_log/{entry:020d}.json"
            self._store.keep(path, path)

    def _refreshed(self) -> DeltaTable:
        assert self._table is not None, "it is opened first"
        with in_a_sentence(self._archive):
            self._table.update_incremental()
        return self._table

    def _check(self, table: DeltaTable) -> None:
        found = table.transaction_version(self._transaction)
        if (-1 if found is None else found) != self._version:
            raise self._another_run()

    def _another_run(self) -> PipelineError:
        return PipelineError(
            f"another run archives to {self._archive} under the same name; end one of them, or give one another"
            f" --application than {self._application}"
        )

    def _next(self) -> int:
        number = (self._version >> _OF_RUN) + 1 if self._version >= 0 else 0
        return (number << _OF_RUN) | self._of_run

    def _offsets(self, version: int) -> tuple[Offsets, TopicIds]:
        path = self._path(version)
        text = self._store.read(path)
        try:
            found = json.loads(text or b"")
            return from_json(json.dumps(found["until"]), path), ids_from(found.get("topics", {}))
        except (ValueError, KeyError, TypeError) as wrong:
            raise PipelineError(
                f"{path} is damaged or gone, and says how far the archive is: bring it back from a copy, or archive to"
                f" another --output ({wrong})"
            ) from wrong

    def _forget(self) -> None:
        """Remove offsets that no entry leads to any more."""
        oldest = (self._version >> _OF_RUN) - KEPT_OFFSETS
        for name in self._store.files(f"{self._root}/offsets"):
            stem = name.removesuffix(".json")
            if stem.isdigit() and int(stem) >> _OF_RUN < oldest:
                self._store.remove(f"{self._root}/offsets/{name}")

    @property
    def _root(self) -> str:
        return f"{self._archive}/_odradek/{self._application}"

    def _path(self, version: int) -> str:
        return f"{self._root}/offsets/{version}.json"


def opened(path: str, storage: dict[str, str]) -> DeltaTable | None:
    """Return a table as it is now, None where there is none. Raises PipelineError."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError
    except ImportError as missing:
        raise PipelineError("--format delta needs deltalake: pip install 'odradek[delta]'") from missing

    with in_a_sentence(path):
        try:
            return DeltaTable(path, storage_options=storage)
        except TableNotFoundError:
            return None


def _made(path: str, schema: pa.Schema, storage: dict[str, str]) -> DeltaTable:
    """Return a table, which is made if there is none."""
    table = opened(path, storage)
    if table is None:
        _make(path, schema, storage)
        table = opened(path, storage)
    if table is None:
        raise PipelineError(f"{path} has no Delta table although one was made; does another job remove it?")
    there, wanted = _fields(table.schema()), _fields(_of_arrow(schema))
    if any(there.get(name) != kind for name, kind in wanted.items() if name != "value") or (
        there.keys() != wanted.keys() or table.metadata().partition_columns != list(DIRECTORIES)
    ):
        raise WrongOptionError(
            f"{path} is a Delta table with other columns ({', '.join(there)}) than this job has ({', '.join(wanted)}):"
            " give another --output"
        )
    if there != wanted:
        _grow(table, path, there["value"], wanted["value"], schema)
    return table


def _grow(table: DeltaTable, path: str, there: str, wanted: str, schema: pa.Schema) -> None:
    """Add fields to the values of a table. Raises WrongOptionError where they have other types."""
    from deltalake.exceptions import CommitFailedError

    kept, given = (
        {"type": "struct", "fields": [{"name": "value", "type": json.loads(each)}]} for each in (there, wanted)
    )
    if merged(kept, given) == kept:
        return  # another run has added more
    with in_a_sentence(path):
        try:
            table.alter.add_columns([each for each in _of_arrow(schema).fields if each.name == "value"])
        except CommitFailedError as others:
            raise PipelineError(f"{path} was changed at the same time by another job; start again") from others


def _make(path: str, schema: pa.Schema, storage: dict[str, str]) -> None:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    with in_a_sentence(path):
        try:
            DeltaTable.create(path, schema, partition_by=list(DIRECTORIES), storage_options=storage)
        except DeltaError:
            if not DeltaTable.is_deltatable(path, storage):  # else another run made it
                raise


def _of_arrow(schema: pa.Schema) -> Any:
    from deltalake import Schema

    return Schema.from_arrow(schema)


def _fields(schema: Any) -> dict[str, str]:
    return {each["name"]: json.dumps(each["type"], sort_keys=True) for each in json.loads(schema.to_json())["fields"]}


def _added(file: DataFile) -> Any:
    """Return the action that adds a file, with what is known of it so that readers may leave it out."""
    from deltalake.transaction import AddAction

    topic, date, _ = file.path.split("/")
    day = date.removeprefix("date=")
    values = {"topic": topic.removeprefix("topic="), "date": None if day == NO_DATE else day}
    return AddAction(file.path, file.size, values, file.written_ms, data_change=True, stats=_statistics(file))


def _statistics(file: DataFile) -> str:
    least = {name: value for name in MEASURED if (value := _shown(name, file.least)) is not None}
    most = {name: value for name in MEASURED if (value := _shown(name, file.most)) is not None}
    found: dict[str, Any] = {"numRecords": file.rows, "minValues": least, "maxValues": most}
    return json.dumps(found | {"nullCount": {name: 0 for name in least if name != "timestamp"}})


def _shown(name: str, values: Mapping[str, int] | None) -> int | str | None:
    value = (values or {}).get(name)
    if value is None or name != "timestamp":
        return value
    try:
        return (_EPOCH + timedelta(microseconds=value)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return None


class in_a_sentence:  # noqa: N801  used as a function
    """Have what the library raises come out as PipelineError; a commit that failed is for who asked."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise PipelineError for an error of the library."""
        if error is None or isinstance(error, PipelineError) or not isinstance(error, Exception):
            return
        from deltalake.exceptions import CommitFailedError

        if not isinstance(error, CommitFailedError):
            raise PipelineError(f"{self._path}: {sentence(error)}") from error
