"""What an archive is made of is settled by its first run; others are refused, and not mixed in."""

import io

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
        settle(store, "archive", Layout("delta", ("value", "partition", "offset"), "text"))
    assert str(refused.value) == (
        "the archive in archive was begun with parquet for --format, not delta;"
        f" {','.join(COLUMNS)} for --columns, not value,partition,offset; bytes for keys and values (--text), not text:"
        " files of both in one directory could not be read together, so give the same again, or another --output"
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
    contents = {"archive/topic=a/date=2026-11-21/app-0000000000-00000.parquet": _file(Layout(keys="text"))}
    for wrong in (Layout(), Layout("delta", keys="text"), Layout(columns=("partition", "offset"), keys="text")):
        with pytest.raises(WrongOptionError, match="was begun with "):
            settle(MemoryStore(contents), "archive", wrong)
    settle(MemoryStore(contents), "archive", Layout(keys="text"))
    assert f"archive/{NAME}" in contents


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
