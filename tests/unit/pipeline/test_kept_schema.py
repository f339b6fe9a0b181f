"""The schema of JSON values in an archive: found or given once, only added to, by one run at a time."""

import pytest

from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.kept_schema import DIRECTORY, KeptSchema
from odradek.pipeline.value_schema import ValueSchema, checked
from tests.unit.pipeline.memory_store import MemoryStore


def _schema(**fields: str) -> ValueSchema:
    return checked({"type": "struct", "fields": [{"name": name, "type": each} for name, each in fields.items()]}, "it")


def test_fields_are_added_and_kept() -> None:
    """A later run has what was kept; one that names more fields adds them, and one that names fewer takes none away."""
    store = MemoryStore()
    kept = KeptSchema(store, "archive")
    assert kept.schema is None
    kept.begin(_schema(a="long"))
    KeptSchema(store, "archive").add(_schema(b="string"))
    KeptSchema(store, "archive").add(_schema(a="long"))
    assert KeptSchema(store, "archive").schema == _schema(a="long", b="string")
    assert store.files(f"archive/{DIRECTORY}") == ["00000.json", "00001.json"]
    with pytest.raises(WrongOptionError, match="a is long in the archive and cannot become double"):
        KeptSchema(store, "archive").add(_schema(a="double"))


def test_of_two_first_runs_one_settles_it() -> None:
    """A run that finds a schema while another one has kept its own goes on with that one."""
    store = MemoryStore()
    late = KeptSchema(store, "archive")
    KeptSchema(store, "archive").add(_schema(a="long"))
    late.begin(_schema(a="string"))
    assert late.schema == _schema(a="long")


def test_two_that_add_at_once_both_do() -> None:
    """Fields that another run adds between the look and the change are not lost."""
    store = MemoryStore()
    KeptSchema(store, "archive").begin(_schema(a="long"))

    class Late(MemoryStore):
        def create(self, path: str, data: bytes) -> bool:
            if not others:
                others.append(KeptSchema(store, "archive"))
                others[0].add(_schema(b="long"))
            return super().create(path, data)

    others: list[KeptSchema] = []
    mine = KeptSchema(Late(store.contents), "archive")
    mine.add(_schema(c="long"))
    assert mine.schema == KeptSchema(store, "archive").schema == _schema(a="long", b="long", c="long")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"type": "struct", "fields": []}'])
def test_what_cannot_be_read_is_named(text: bytes) -> None:
    """A damaged schema ends the run with its path."""
    with pytest.raises(PipelineError, match=r"archive/_odradek/value-schema/00003\.json is damaged, and says what is"):
        KeptSchema(MemoryStore({f"archive/{DIRECTORY}/00003.json": text}), "archive")
