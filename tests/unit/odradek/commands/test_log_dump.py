"""What `odradek log dump` is given."""

from pathlib import Path

import pytest

from odradek.commands.log_dump import files_of
from odradek.terminal.errors import CommandError


def test_a_directory_stands_for_the_files_in_it(tmp_path: Path) -> None:
    """Kafka's files of a partition in order, nothing else and nothing below; a file is itself, there or not."""
    names = ["00000000000000000000.index", "00000000000000000000.log", "partition.metadata"]
    for name in [*names, "notes.txt"]:
        (tmp_path / name).touch()
    (tmp_path / "orders-0").mkdir()
    assert files_of(str(tmp_path)) == [str(tmp_path / name) for name in names]
    assert files_of(str(tmp_path / "missing.log")) == [str(tmp_path / "missing.log")]


def test_a_directory_without_such_files(tmp_path: Path) -> None:
    """The error says which one to give instead."""
    with pytest.raises(CommandError, match="give that of a partition, such as odradek-data/orders-0"):
        files_of(str(tmp_path))
    (tmp_path / "lines-3").mkdir()
    with pytest.raises(CommandError, match=f"such as {tmp_path}/lines-3"):
        files_of(str(tmp_path))
