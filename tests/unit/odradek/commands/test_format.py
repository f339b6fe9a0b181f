"""`odradek format`: the identity of log directories."""

import json
from pathlib import Path

import pytest

from odradek.cli.app import run

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def formatted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    """Run the command; return its document."""
    assert run(["format", "--json", *arguments]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def test_directories_get_one_cluster_and_ids_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cluster that was said, once; a second time nothing changes."""
    logs = f"log.dirs={tmp_path}/a,{tmp_path}/b"
    arguments = ("--override", logs, "--override", "node.id=7", "--cluster-id", CLUSTER)
    first = formatted(capsys, *arguments)
    content = (tmp_path / "a" / "meta.properties").read_text()
    assert {"node.id=7", f"cluster.id={CLUSTER}", "version=1"} <= set(content.splitlines())
    assert (first["cluster_id"], first["node_id"]) == (CLUSTER, 7)
    directories = first["directories"]
    assert isinstance(directories, list)
    assert len({one["directory_id"] for one in directories}) == 2
    assert all(one["is_new"] for one in directories)
    second = formatted(capsys, *arguments)
    assert second["directories"] == [one | {"is_new": False} for one in directories]
    assert (tmp_path / "a" / "meta.properties").read_text() == content


def test_a_new_cluster_has_a_new_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each time another."""
    ids = {formatted(capsys, "--override", f"log.dirs={tmp_path}/{name}")["cluster_id"] for name in "ab"}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--cluster-id", "x"), "--cluster-id: 'x' is not a uuid"),
        (("--override", "node.id=x"), "node.id=x"),
        (("--cluster-id", "AAAAAAAAAAAAAAAAAAAABQ", "--override", "node.id=1"), "belongs to cluster"),
        (("--override", "node.id=2"), "belongs to node 1"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    """Ids that are none, settings that cannot be read, directories of another cluster or node."""
    logs = ("--override", f"log.dirs={tmp_path}")
    formatted(capsys, *logs, "--cluster-id", CLUSTER)
    assert run(["format", *logs, *arguments]) != 0
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1
