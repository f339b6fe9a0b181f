"""Data files as tasks write them: by topic and date, of a limited size, with what is in them."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from odradek.pipeline.data_files import OPEN_FILES, ArchiveTask, DataFile
from odradek.pipeline.local_store import LocalStore
from pyspark_odradek.offsets import OffsetRange, TopicPartition
from tests.unit.pipeline.archived_records import counted, records, write

A0 = TopicPartition("a", 0)


def _task(directory: Path, compression: str = "zstd", file_bytes: int = 1 << 20) -> ArchiveTask:
    return ArchiveTask(LocalStore(), str(directory), "app", compression, file_bytes)


def test_records_go_to_files_by_topic_and_date(tmp_path: Path) -> None:
    """Each topic and date has a directory; a file is as it was counted, and has no columns of its directories."""
    files = write(LocalStore(), (str(tmp_path), "app"), [OffsetRange(A0, 0, 10)])
    days = [each.path.split("/")[:2] for each in files]
    assert days == [["topic=a", f"date=2026-11-{day}"] for day in (21, 22, 23)]
    first = files[0]
    assert first.size == (tmp_path / first.path).stat().st_size
    assert (first.rows, first.least, first.most) == (
        4,
        {"partition": 0, "offset": 0, "timestamp": 1_795_219_200_000_000},
        {"partition": 0, "offset": 3, "timestamp": 1_795_219_200_000_000 + 3 * 21_600_000_000},
    )
    found = pyarrow.parquet.read_table(tmp_path / first.path, partitioning=None)
    assert found.schema.names == ["key", "value", "partition", "offset", "timestamp", "timestampType", "headers"]
    assert found.column("headers").to_pylist() == [[{"key": "h", "value": b"\xff"}]] * 4
    assert counted([str(tmp_path / each.path) for each in files]) == {A0: 10}


def test_a_record_without_a_date_has_a_directory(tmp_path: Path) -> None:
    """Where a timestamp has no date the directory is the one that readers take for null."""
    batch = records(OffsetRange(A0, 0, 2))
    dates = pa.array([date(2026, 11, 21), None], pa.date32())
    batch = batch.set_column(batch.schema.names.index("date"), "date", dates)
    (written,) = _task(tmp_path)(iter([batch]))
    days = sorted(row["path"].split("/")[1] for row in written.to_pylist())
    assert days == ["date=2026-11-21", "date=__HIVE_DEFAULT_PARTITION__"]


def test_files_have_a_limited_size(tmp_path: Path) -> None:
    """A file that is large enough is ended, and what follows goes to another one; nothing is lost between them."""
    batches = [records(OffsetRange(A0, offset, offset + 1)) for offset in range(3)]
    task = _task(tmp_path, file_bytes=0)
    (written,) = task(iter(batches))
    assert [row["rows"] for row in written.to_pylist()] == [1, 1, 1]
    assert counted([str(tmp_path / row["path"]) for row in written.to_pylist()]) == {A0: 3}


def test_only_so_many_files_are_open(tmp_path: Path) -> None:
    """Records of very many days do not open as many files at once."""
    days = OPEN_FILES + 8
    (written,) = _task(tmp_path)(iter([records(OffsetRange(A0, 0, 4 * days))]))
    rows = written.to_pylist()
    assert len({row["path"].split("/")[1] for row in rows}) == days
    assert counted([str(tmp_path / row["path"]) for row in rows]) == {A0: 4 * days}


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "none"])
def test_names_tell_the_compression(tmp_path: Path, compression: str) -> None:
    """What follows the first dot is the compression, and the format."""
    (written,) = _task(tmp_path, compression)(iter([records(OffsetRange(A0, 0, 1))]))
    (row,) = written.to_pylist()
    ending = "parquet" if compression == "none" else f"{compression}.parquet"
    assert DataFile(row["path"]).ending == ending
    assert DataFile("topic=a/date=x/part-00000-1f.c000.zstd.parquet").ending == "zstd.parquet", "of Spark's writer"
    codec = pyarrow.parquet.ParquetFile(tmp_path / row["path"]).metadata.row_group(0).column(0).compression
    assert codec.lower() == {"none": "uncompressed"}.get(compression, compression)


def test_a_task_without_records_writes_nothing(tmp_path: Path) -> None:
    """A task of which nothing is kept has no file."""
    assert list(_task(tmp_path)(iter([]))) == []
    assert list(tmp_path.iterdir()) == []
