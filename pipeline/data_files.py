"""Writing records to Parquet files: by the tasks themselves, or by Spark where only it knows the file system."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

DIRECTORIES: Final = ("topic", "date")
COMPRESSIONS: Final = ("zstd", "snappy", "gzip", "lz4", "none")
MEASURED: Final = ("partition", "offset", "timestamp")
"""Columns whose smallest and largest values are noted of each file."""
FILE_BYTES: Final = 256 << 20
HELD_BYTES: Final = 64 << 20
OPEN_FILES: Final = 32
_RESULT: Final = "path string, bytes long, rows long, written_ms long, least string, most string"
NO_DATE: Final = "__HIVE_DEFAULT_PARTITION__"
"""What readers of such directories take for null."""
_SPARKS_NUMBER: Final = "c000."


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file that a task wrote, by its path below where all of them went."""

    path: str
    size: int = 0
    """Bytes; 0, and nothing of the rest, where Spark wrote it."""
    rows: int = 0
    written_ms: int = 0
    least: Mapping[str, int] | None = None
    """The smallest values of the measured columns; of timestamps the microseconds since 1970."""
    most: Mapping[str, int] | None = None

    @property
    def ending(self) -> str:
        """What comes after the first dot of the file's name: the compression and the format."""
        return self.path.rpartition("/")[2].partition(".")[2].removeprefix(_SPARKS_NUMBER)


def from_row(row: Mapping[str, Any]) -> DataFile:
    """Return the file that a row of a task's result is about."""
    least, most = json.loads(row["least"]), json.loads(row["most"])
    return DataFile(row["path"], row["bytes"], row["rows"], row["written_ms"], least, most)


class DataWriter(Protocol):
    """Writes the records of a micro-batch into directories by topic and date."""

    def write(self, records: DataFrame, directory: str, name: str) -> list[DataFile]:
        """Return the files that were written below a directory, whose names begin with `name` if that can be."""
        ...


class SparkStore(Protocol):
    """What is needed of a file system that Spark writes to."""

    def files(self, path: str) -> list[str]:
        """See Store."""
        ...

    def for_spark(self, path: str) -> str:
        """Return the path as Spark is to be given it."""
        ...

    def settle(self, paths: Sequence[str]) -> None:
        """Have files that Spark has written on the disk."""
        ...


class TaskStore(Protocol):
    """What tasks need of a file system; it goes to them from the driver."""

    def scratch(self, path: str) -> str:
        """Return the path of a local file to write a data file to."""
        ...

    def keep(self, scratch: str, path: str) -> None:
        """Bring what was written there to its place, safely."""
        ...


class SparkFiles:
    """Data files by Spark's own writer, into a directory that is this batch's alone.

    Records do not leave the JVM for that: on a local disk it takes half of what tasks in Python take.
    """

    def __init__(self, store: SparkStore, compression: str) -> None:
        self._store = store
        self._compression = compression

    def write(self, records: DataFrame, directory: str, name: str) -> list[DataFile]:
        """See DataWriter. Spark has names of its own."""
        del name
        writer = records.write.mode("overwrite").partitionBy(*DIRECTORIES).option("compression", self._compression)
        writer.parquet(self._store.for_spark(directory))
        written = [path for path in self._store.files(directory) if path.endswith(".parquet")]
        self._store.settle([f"{directory}/{path}" for path in written])
        return [DataFile(path) for path in written]


class TaskFiles:
    """Data files by the tasks: what a task that failed, or that was tried twice, has left is not among them."""

    def __init__(self, store: TaskStore, compression: str, file_bytes: int = FILE_BYTES) -> None:
        self._store = store
        self._compression = compression
        self._file_bytes = file_bytes

    def write(self, records: DataFrame, directory: str, name: str) -> list[DataFile]:
        """See DataWriter."""
        task = ArchiveTask(self._store, directory, name, self._compression, self._file_bytes)
        rows = records.mapInArrow(task, _RESULT).collect()
        return sorted((from_row(row.asDict()) for row in rows), key=lambda each: each.path)


@dataclass(frozen=True, slots=True)
class ArchiveTask:
    """What a task does with its records: a function from batches of them to rows about files."""

    store: TaskStore
    directory: str
    name: str
    compression: str
    file_bytes: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write all batches, and yield one that has a row for each file."""
        import pyarrow

        written: list[dict[str, Any]] = []
        open_files: dict[str, _OpenFile] = {}
        for batch in batches:
            for place, rows in _by_directory(batch):
                file = open_files.pop(place, None) or _OpenFile(self, place, rows.schema)
                open_files[place] = file  # the last one now
                if file.add(rows):
                    written.append(open_files.pop(place).close())
            while len(open_files) > OPEN_FILES:
                written.append(open_files.pop(next(iter(open_files))).close())
            if sum(each.held for each in open_files.values()) > HELD_BYTES:
                for each in open_files.values():
                    each.flush()
        written.extend(each.close() for each in open_files.values())
        if written:
            yield pyarrow.RecordBatch.from_pylist(written)


class _OpenFile:
    """A data file that is being written; what comes is held until it makes a good row group."""

    def __init__(self, task: ArchiveTask, place: str, schema: pa.Schema) -> None:
        import pyarrow.parquet

        self._task = task
        ending = "" if task.compression == "none" else f".{task.compression}"
        self._path = f"{place}/{task.name}-{uuid4().hex}{ending}.parquet"
        self._scratch = task.store.scratch(f"{task.directory}/{self._path}")
        self._sink = pyarrow.OSFile(self._scratch, "wb")
        self._writer = pyarrow.parquet.ParquetWriter(
            self._sink, schema, compression=task.compression, coerce_timestamps="us", store_schema=False
        )
        self._held: list[pa.RecordBatch] = []
        self.held = 0
        self._rows = 0
        self._least: dict[str, int] = {}
        self._most: dict[str, int] = {}

    def add(self, rows: pa.RecordBatch) -> bool:
        """Take records, and return whether the file is large enough."""
        self._held.append(rows)
        self.held += rows.nbytes
        self._rows += rows.num_rows
        self._measure(rows)
        if self.held >= HELD_BYTES // 2:
            self.flush()
        return bool(self._sink.tell() >= self._task.file_bytes)

    def flush(self) -> None:
        """Write what is held as a row group."""
        import pyarrow

        if self._held:
            self._writer.write_table(pyarrow.Table.from_batches(self._held))
            self._held, self.held = [], 0

    def close(self) -> dict[str, Any]:
        """End the file, and return what is to be known of it."""
        self.flush()
        self._writer.close()
        size = self._sink.tell()
        self._sink.close()
        self._task.store.keep(self._scratch, f"{self._task.directory}/{self._path}")
        return {
            "path": self._path,
            "bytes": size,
            "rows": self._rows,
            "written_ms": time.time_ns() // 1_000_000,
            "least": json.dumps(self._least),
            "most": json.dumps(self._most),
        }

    def _measure(self, rows: pa.RecordBatch) -> None:
        import pyarrow
        import pyarrow.compute as pc

        for name in MEASURED:
            if name not in rows.schema.names:
                continue
            column = rows.column(name)
            found = pc.min_max(column.cast(pyarrow.int64())).as_py()
            if found["min"] is not None:
                self._least[name] = min(found["min"], self._least.get(name, found["min"]))
                self._most[name] = max(found["max"], self._most.get(name, found["max"]))


def _by_directory(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the records of each topic and date without these two columns, with the directory that they belong to."""
    import pyarrow.compute as pc

    topics, dates = batch.column("topic"), batch.column("date")
    rest = batch.drop_columns(list(DIRECTORIES))
    for topic in pc.unique(topics).to_pylist():
        of_topic = pc.equal(topics, topic)
        for date in pc.unique(dates.filter(of_topic)).to_pylist():
            of_date = pc.is_null(dates) if date is None else pc.equal(dates, date)
            chosen = pc.and_(of_topic, pc.fill_null(of_date, False))
            directory = f"topic={topic}/date={NO_DATE if date is None else date.isoformat()}"
            yield directory, rest if _all(chosen) else rest.filter(chosen)


def _all(chosen: Any) -> bool:
    return bool(chosen.true_count == len(chosen))
