"""Reading a log directory as Spark does it, without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from odradek.storage.files import FileSystem
from pyspark_odradek.log_files.conditions import conditions_of
from pyspark_odradek.log_files.options import log_options
from pyspark_odradek.log_files.planning import plan
from pyspark_odradek.log_files.segments import read_pieces

Row = dict[str, Any]


def read_rows(fs: FileSystem, path: str, filters: Iterable[Any] = (), **options: str) -> list[Row]:
    """Return the rows that come out of all tasks, in their order; they are not filtered any further."""
    dotted = {name.replace("_", "."): value for name, value in options.items()}
    wanted = log_options({"path": path, **dotted})
    tasks = plan(fs, wanted, conditions_of(filters))
    return [
        row
        for pieces in tasks
        for batch in read_pieces(fs, pieces, wanted.include_headers, wanted.skip_damaged)
        for row in batch.to_pylist()
    ]


def offsets_of(rows: Iterable[Row]) -> list[int]:
    """Return the offsets of rows."""
    return [row["offset"] for row in rows]
