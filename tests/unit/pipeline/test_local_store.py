"""Files of an archive on a local file system."""

import errno
import os
from pathlib import Path
from threading import Barrier, Thread

import pytest

from odradek.pipeline import local_store
from odradek.pipeline.errors import PipelineError
from odradek.pipeline.local_store import LocalStore, local_path

STORE = LocalStore()


def test_files_are_created_found_renamed_and_removed(tmp_path: Path) -> None:
    """The operations of a store, by a path and by a URL of it."""
    root = f"file://{tmp_path}/an%20archive"
    assert STORE.files(root) == []
    assert STORE.read(f"{root}/a/1.json") is None
    assert STORE.create(f"{root}/a/1.json", b"\x00one")
    assert not STORE.create(f"{root}/a/1.json", b"two")
    assert STORE.read(f"{tmp_path}/an archive/a/1.json") == b"\x00one"
    assert STORE.rename(f"{root}/a/1.json", f"{root}/date=2026-11-21/b")
    assert not STORE.rename(f"{root}/a/1.json", f"{root}/date=2026-11-21/b")
    assert STORE.files(root) == ["date=2026-11-21/b"]
    STORE.remove(f"{root}/date=2026-11-21")
    STORE.remove(f"{root}/not there")
    assert not STORE.exists(f"{root}/date=2026-11-21")
    assert local_path("file:/a/b") == local_path("file:///a/b") == "/a/b"


def test_of_many_that_create_a_file_at_once_one_does(tmp_path: Path) -> None:
    """Creating is one step: of all who try at the same moment one is told True, and its data is what is there."""
    path = str(tmp_path / "commits" / "1.json")
    ready, made = Barrier(16), []

    def create(number: int) -> None:
        ready.wait()
        if STORE.create(path, b"%d" % number * 10_000):
            made.append(number)

    threads = [Thread(target=create, args=(number,)) for number in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert STORE.read(path) == b"%d" % made[0] * 10_000
    assert len(made) == 1
    assert STORE.files(str(tmp_path)) == ["commits/1.json"]


def test_a_file_system_without_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file cannot be created in one step an archive does not begin, and nothing is left there."""

    def link(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(PipelineError, match="keeps two runs of an archive apart: use a directory on another file"):
        STORE.create(f"{tmp_path}/1.json", b"")
    assert STORE.files(str(tmp_path)) == []


def test_what_the_file_system_refuses_is_told_with_the_path() -> None:
    """An error is a sentence with the path."""
    with pytest.raises(PipelineError, match="/proc/version/x/y: "):
        STORE.create("/proc/version/x/y", b"")


def test_what_spark_wrote_is_synced_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File and directory, whatever form the archive's path has; Spark is given the file system with it."""
    synced: list[str] = []
    monkeypatch.setattr(local_store, "_sync", synced.append)
    (tmp_path / "staged").mkdir()
    LocalStore().settle([f"file:{tmp_path}/staged/a.parquet"])
    assert synced == [f"{tmp_path}/staged/a.parquet", f"{tmp_path}/staged"]
    assert LocalStore().for_spark(f"file:{tmp_path}") == LocalStore().for_spark(str(tmp_path)) == f"file://{tmp_path}"
