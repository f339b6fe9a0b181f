"""What `odradek log dump` is given."""

from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.commands.log_dump import files_of


def test_a_directory_stands_for_the_files_in_it(tmp_path: Path) -> None:
    """Kafka's files of a partition in order, nothing else and nothing below; a file is itself, there or not."""
    names = ["00000000000000000000.index", "00000000000000000000.log", "partition.metadata"]
    for name in [*names, "notes.txt"]:
        (tmp_path / name).touch()
    (tmp_path / "orders-0").mkdir()
    assert files_of(str(tmp_path)) == [str(tmp_path / name) for name in names]
    assert files_of(str(tmp_path / "missing.log")) == [str(tmp_path / "missing.log")]


def test_a_directory_without_such_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error says which one to give instead."""
    assert run(["log", "dump", str(tmp_path)]) == 1
    assert "give that of a partition, such as odradek-data/orders-0" in capsys.readouterr().err
    (tmp_path / "lines-3").mkdir()
    assert run(["log", "dump", str(tmp_path)]) == 1
    assert f"none of Kafka's files is in this directory; give that of a partition, such as {tmp_path}/lines-3" in (
        capsys.readouterr().err
    )
