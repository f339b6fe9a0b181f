"""Upkeep of an archive: days with many small files are written anew with few, and days that are too old are removed.

In a Delta table its library does both, and readers of a version notice nothing. Of plain Parquet a round is a batch of
an application of its own, `compaction`: new files are written where no reader looks, one small file names them and
those that they replace, then the old ones are removed and the new ones renamed to where readers look. A round that was
cut short is finished by the next one, or by the next run of the archive. Files of the newest commit of each application
are left alone: what renames them may not have come to its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, Protocol

from odradek.pipeline.batches import Batch
from odradek.pipeline.data_files import NO_DATE, ArchiveTask, TaskStore, from_row
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.kept_schema import KeptSchema
from odradek.pipeline.layout import DELTA, ICEBERG, JSON, Layout, kept, schema_of
from odradek.pipeline.ledger import COMPACTION, HIDDEN, Ledger
from odradek.pipeline.s3_store import S3Store
from odradek.pipeline.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

VACUUM_HOURS: Final = 7 * 24
"""For how long files of a Delta table stay that no version of today names: readers and writers may still be at them."""
_FILE: Final = re.compile(r"topic=([^/]+)/date=([^/]+)/(.+)-(\d+)-\d+\.[^/]*parquet")


class UpkeepStore(Store, TaskStore, Protocol):
    """What is needed of a file system."""

    def size(self, path: str) -> int:
        """Return how many bytes a file has."""
        ...


@dataclass(frozen=True, slots=True)
class UpkeepPlan:
    """What is to be done."""

    compact_before: date
    """Days before this one are written anew where they have several small files."""
    keep_from: date | None
    """Days before this one are removed; None keeps all."""
    file_bytes: int
    """How large files become, about; those of half that size are small."""


@dataclass(slots=True)
class UpkeepDone:
    """What was done: numbers of files."""

    removed: int = 0
    compacted: int = 0
    written: int = 0


def upkeep(store: UpkeepStore, path: str, plan: UpkeepPlan, run: str, tell: Callable[[str], None]) -> UpkeepDone:
    """Do what is to be done in an archive; `run` is a name that no other run has. Raises PipelineError."""
    layout = kept(store, path)
    if layout is None:
        raise PipelineError(f"there is no archive in {path}")
    if layout.format == ICEBERG:
        raise PipelineError(
            f"the Iceberg table in {path} is not kept up here: use what its catalog or its engine has for that, such as"
            " the procedures rewrite_data_files and expire_snapshots of Spark, and DELETE for old days"
        )
    if layout.format == DELTA:
        return _upkeep_delta(path, store.options if isinstance(store, S3Store) else {}, plan)
    return _upkeep_parquet(store, path, layout, plan, Ledger(store, path, COMPACTION, run, tell, repairs=False))


def _upkeep_delta(path: str, storage: dict[str, str], plan: UpkeepPlan) -> UpkeepDone:
    from odradek.pipeline.delta import in_a_sentence, opened

    table, done = opened(path, storage), UpkeepDone()
    if table is None:
        raise PipelineError(f"there is no table in {path} yet")
    with in_a_sentence(path):
        if plan.keep_from is not None:
            removed = table.delete(f"date < '{plan.keep_from.isoformat()}'")
            done.removed = int(removed["num_removed_files"])
        before = [("date", "<", plan.compact_before.isoformat())]
        found = table.optimize.compact(partition_filters=before, target_size=plan.file_bytes)
        done.compacted, done.written = int(found["numFilesRemoved"]), int(found["numFilesAdded"])
        table.vacuum(retention_hours=VACUUM_HOURS, dry_run=False, full=True)
    return done


def _upkeep_parquet(store: UpkeepStore, path: str, layout: Layout, plan: UpkeepPlan, ledger: Ledger) -> UpkeepDone:
    ledger.open()
    of_values = KeptSchema(store, path).schema if layout.values == JSON else None
    if layout.values == JSON and of_values is None:
        return UpkeepDone()  # nothing is in it yet
    schema = schema_of(layout, of_values)
    done = UpkeepDone()
    newest = _newest_commits(store.files(f"{path}/{HIDDEN}"))
    days: dict[tuple[str, date], list[str]] = {}
    for name in store.files(path):
        found = _FILE.fullmatch(name)
        if found is None or found[2] == NO_DATE:
            continue
        topic, day, application, number = found[1], date.fromisoformat(found[2]), found[3], int(found[4])
        if plan.keep_from is not None and day < plan.keep_from:
            store.remove(f"{path}/{name}")
            done.removed += 1
        elif day < plan.compact_before and number < newest.get(application, 0):
            days.setdefault((topic, day), []).append(name)
    for (topic, day), names in days.items():
        small = [name for name in names if store.size(f"{path}/{name}") <= plan.file_bytes // 2]
        if len(small) < 2:
            continue
        directory, beginning = ledger.place()
        task = ArchiveTask(store, directory, beginning, "zstd", plan.file_bytes)
        rows = [row for batch in task(_read(store, path, small, schema, topic, day)) for row in batch.to_pylist()]
        written = [from_row(row) for row in rows]
        ledger.commit(Batch(0, {}, {}), written, small)
        done.compacted += len(small)
        done.written += len(written)
    return done


def _newest_commits(hidden: Sequence[str]) -> dict[str, int]:
    """Return the number of the newest commit of each application, out of names of files that are not for readers."""
    newest: dict[str, int] = {}
    for name in hidden:
        found = re.fullmatch(r"([^/]+)/commits/(\d+)\.json", name)
        if found is not None:
            newest[found[1]] = max(int(found[2]), newest.get(found[1], 0))
    return newest


def _read(
    store: UpkeepStore, path: str, names: Sequence[str], schema: pa.Schema, topic: str, day: date
) -> Iterator[pa.RecordBatch]:
    """Yield the records of these files with topic and date, in the columns of `schema`."""
    import pyarrow as pa
    import pyarrow.parquet

    own = pa.schema([each for each in schema if each.name not in ("topic", "date")])
    for name in names:
        data = store.read(f"{path}/{name}")
        if data is None:
            raise PipelineError(f"{path}/{name} is gone: is another upkeep of this archive at work?")
        try:
            table = _cast(pyarrow.parquet.read_table(pa.BufferReader(data), partitioning=None).select(own.names), own)
        except (pa.ArrowException, OSError, KeyError) as wrong:
            raise PipelineError(f"{path}/{name} cannot be read: {wrong}") from wrong
        for each in table.to_batches():
            place = [pa.array([topic] * len(each)), pa.array([day] * len(each), pa.date32())]
            yield pa.RecordBatch.from_arrays([*each.columns, *place], schema=schema)


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with other types; fields of JSON values that were added since it was written are null."""
    import pyarrow as pa

    columns = []
    for field, column in zip(schema, table.columns, strict=True):
        if pa.types.is_struct(field.type) and column.type != field.type:
            chunks = [pa.array(each.to_pylist(), field.type) for each in column.chunks]  # older Arrow cannot cast these
            columns.append(pa.chunked_array(chunks, field.type))
        else:
            columns.append(column.cast(field.type))
    return pa.table(columns, schema)
