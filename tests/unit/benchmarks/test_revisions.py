"""A revision comes out of git as files, and what starts it finds those and no others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import revisions


def test_a_revision_that_git_does_not_know_is_refused_by_name(tmp_path: Path) -> None:
    """The message names the revision, so that a typing error is seen."""
    with pytest.raises(revisions.RevisionUnavailableError, match="git has no revision no-such-revision: "):
        revisions.check_out("no-such-revision", tmp_path)


def test_the_sources_of_a_revision_are_those_that_run(tmp_path: Path) -> None:
    """`odradek` is imported from the revision's folder, whatever is installed."""
    package = tmp_path / "sources" / "odradek"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import sys; print(__file__, *sys.argv[1:])")
    target = revisions.target_in(tmp_path / "sources", "older")
    prepared = target.prepare(tmp_path / "data", {"num.partitions": "2"}, (1, 2))
    done = subprocess.run(prepared.command, capture_output=True, text=True, check=True, timeout=60)
    file, *arguments = done.stdout.split()
    assert file == str(package / "__main__.py")
    assert arguments[:3] == ["serve", "--override", f"log.dirs={tmp_path / 'data'}"]
    assert "listeners=PLAINTEXT://127.0.0.1:1" in arguments
    assert "num.partitions=2" in arguments
