"""What an archive is made of is settled by its first run; others are refused, and not mixed in."""

import io
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet
import pytest

from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.layout import COLUMNS, NAME, Layout, chosen_columns, schema_of, settle
from tests.unit.pipeline.memory_store import MemoryStore


def test_the_first_run_settles_it() -> None:
    """The same layout goes on; another format, other columns and text instead of bytes are refused in a sentence."""
    store = MemoryStore()
    settle(store, "archive", Layout())
    settle(store, "archive", Layout())
    with pytest.raises(WrongOptionError) as refused:
        settle(store, "archive", Layout("delta", ("value", "partition", "offset"), "text", "json"))
    assert str(refused.value) == (
        "the archive in archive was begun with parquet for --format, not delta;"
        f" {','.join(COLUMNS)} for --columns, not value,partition,offset; bytes for keys (--text), not text;"
        " bytes for values (--value), not json: files of both in one directory could not be read together, so give the"
        " same again, or another --output"
    )


def test_of_two_first_runs_one_settles_it() -> None:
    """A run that finds that another one was quicker is held to what that one settled."""
    store = MemoryStore()

    class Late(MemoryStore):
        def create(self, path: str, data: bytes) -> bool:
            settle(store, "archive", Layout("delta"))
            return super().create(path, data)

    with pytest.raises(WrongOptionError, match="begun with delta for --format, not parquet"):
        settle(Late(store.contents), "archive", Layout())


def test_an_archive_of_before_is_what_its_files_are() -> None:
    """Where nothing was kept, a file of the archive says which columns it has, and whether they are text."""
    text = Layout(keys="text", values="text")
    contents = {"archive/topic=a/date=2026-11-21/app-0000000000-00000.parquet": _file(text)}
    for wrong in (
        Layout(),
        Layout(keys="text"),
        replace(text, format="delta"),
        replace(text, columns=("partition", "offset")),
    ):
        with pytest.raises(WrongOptionError, match="was begun with "):
            settle(MemoryStore(contents), "archive", wrong)
    settle(MemoryStore(contents), "archive", text)
    assert f"archive/{NAME}" in contents


@pytest.mark.parametrize("keys", ["bytes", "text"])
def test_values_that_were_not_told_are_as_keys(keys: str) -> None:
    """An archive that was begun before values could be kept otherwise than keys goes on."""
    told = json.dumps({"format": "parquet", "columns": COLUMNS, "keys": keys})
    settle(MemoryStore({f"archive/{NAME}": told.encode()}), "archive", Layout(keys=keys, values=keys))


def _file(layout: Layout) -> bytes:
    schema = schema_of(layout)
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist([], schema), file)
    return file.getvalue()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"format": "parquet"}', b"\xff"])
def test_what_cannot_be_read_is_named(text: bytes) -> None:
    """A damaged file ends the run with its path."""
    with pytest.raises(PipelineError, match=r"archive/_odradek/archive\.json is damaged"):
        settle(MemoryStore({f"archive/{NAME}": text}), "archive", Layout())


def test_columns_are_chosen_by_name() -> None:
    """Columns come in one order, whatever was asked first, with partition and offset; others are refused."""
    assert chosen_columns(None) == COLUMNS
    assert chosen_columns("value, key") == ("key", "value", "partition", "offset")
    with pytest.raises(WrongOptionError, match="--columns names 'topic'; there are key, value, partition"):
        chosen_columns("topic")
