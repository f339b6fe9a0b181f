"""What an archive is made of: its format and columns, kept in the archive so that no later run mixes in others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.store import Store
from odradek.pipeline.value_schema import ValueSchema, arrow_type
from pyspark_odradek.schema import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: Final = ("key", "value", "partition", "offset", "timestamp", "timestampType", "headers")
"""What is kept of a record if nothing else is said; the topic and the date are in the names of directories."""
ALWAYS: Final = ("partition", "offset")
PARQUET, DELTA, ICEBERG = "parquet", "delta", "iceberg"
BYTES, TEXT, JSON = "bytes", "text", "json"
UNPARSED: Final = "unparsed"
"""The column with the bytes of values that are not, as a whole, what the schema of JSON values says."""
NAME: Final = "_odradek/archive.json"


@dataclass(frozen=True, slots=True)
class Layout:
    """What files of an archive hold; all applications that share a directory have the same."""

    format: str = PARQUET
    columns: tuple[str, ...] = COLUMNS
    keys: str = BYTES
    """How keys are kept: as bytes or as text."""
    values: str = BYTES
    """How values are kept: as bytes, as text, or as the fields of JSON."""


def chosen_columns(text: str | None) -> tuple[str, ...]:
    """Return the columns that --columns names, in the order of all of them. Raises WrongOptionError."""
    if text is None:
        return COLUMNS
    named = {each.strip() for each in text.split(",")}
    for each in sorted(named):
        if each not in COLUMNS:
            raise WrongOptionError(f"--columns names {each!r}; there are {', '.join(COLUMNS)}")
    return tuple(name for name in COLUMNS if name in named or name in ALWAYS)


def check_layout(store: Store, archive: str, wanted: Layout) -> None:
    """Check that the layout of an archive, if there is one, is this. Raises as `settle` does."""
    there = kept(store, archive)
    if there is not None:
        _check(archive, there, wanted)


def settle(store: Store, archive: str, wanted: Layout) -> None:
    """Keep the layout of an archive, or check that it is the one that was kept.

    Raises:
        WrongOptionError: the archive has another one.
        PipelineError: what is kept cannot be read.
    """
    path = f"{archive}/{NAME}"
    check_layout(store, archive, wanted)
    if store.read(path) is None:
        store.create(path, json.dumps(asdict(wanted)).encode())
        check_layout(store, archive, wanted)  # another run may have been quicker


def kept(store: Store, archive: str) -> Layout | None:
    """Return the layout of an archive, None where there is none. Raises PipelineError for one that cannot be read."""
    path = f"{archive}/{NAME}"
    text = store.read(path)
    return _of_before(store, archive) if text is None else _from_text(text, path)


def schema_of(layout: Layout, of_values: ValueSchema | None = None) -> pa.Schema:
    """Return the Arrow schema of records as they are kept, with the topic and the date last.

    `of_values` is the schema of values that are kept as JSON.
    """
    import pyarrow as pa

    all_of = arrow_schema(include_headers=True)
    kept: list[pa.Field] = []
    for name in layout.columns:
        if layout.values == JSON and name == "value":
            assert of_values is not None, "it is known before anything is kept"
            kept += [pa.field(name, arrow_type(of_values)), pa.field(UNPARSED, pa.binary())]
        elif {"key": layout.keys, "value": layout.values}.get(name) == TEXT:
            kept.append(pa.field(name, pa.string()))
        else:
            kept.append(all_of.field(name))
    return pa.schema([*kept, all_of.field("topic"), pa.field("date", pa.date32())])


def _check(archive: str, there: Layout, wanted: Layout) -> None:
    differing = [
        f"{_shown(getattr(there, name))} for {what}, not {_shown(getattr(wanted, name))}"
        for name, what in (
            ("format", "--format"),
            ("columns", "--columns"),
            ("keys", "keys (--text)"),
            ("values", "values (--value)"),
        )
        if getattr(there, name) != getattr(wanted, name)
    ]
    if differing:
        raise WrongOptionError(
            f"the archive in {archive} was begun with {'; '.join(differing)}: files of both in one directory could not"
            " be read together, so give the same again, or another --output"
        )


def _shown(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _from_text(text: bytes, path: str) -> Layout:
    try:
        found = json.loads(text)
        keys = str(found["keys"])
        values = str(found.get("values", keys))  # before there was --value they were kept as keys are
        return Layout(str(found["format"]), tuple(map(str, found["columns"])), keys, values)
    except (ValueError, KeyError, TypeError) as wrong:
        raise PipelineError(f"{path} is damaged: {wrong}") from wrong


def _of_before(store: Store, archive: str) -> Layout | None:
    """Return the layout of an archive that was begun before layouts were kept, by one of its files, if it has any."""
    import pyarrow as pa
    import pyarrow.parquet

    for name in store.files(archive):
        if name.startswith("topic=") and name.endswith(".parquet"):
            schema = pyarrow.parquet.read_schema(pa.BufferReader(store.read(f"{archive}/{name}") or b""))
            columns = tuple(each for each in COLUMNS if each in schema.names)
            text = any(pa.types.is_string(schema.field(each).type) for each in ("key", "value") if each in columns)
            keys = TEXT if text else BYTES
            return Layout(PARQUET, columns, keys, keys)
    return None
