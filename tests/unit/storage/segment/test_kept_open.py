"""Data files that stay open: so many, and none whose name is another one by now."""

from pathlib import Path

import pytest

from odradek.storage.files import PosixFiles
from odradek.storage.segment import segment as segment_module
from odradek.storage.segment.index_set import IndexSettings
from odradek.storage.segment.kept_open import KeptOpen
from odradek.storage.segment.segment import Segment


class Held:
    """A holder that counts."""

    def __init__(self) -> None:
        self.is_open = False

    def open(self, kept: KeptOpen) -> None:
        """Open the file."""
        self.is_open = True
        kept.opened(self)

    def give_back(self) -> None:
        """Close it."""
        self.is_open = False


def test_the_oldest_ones_are_given_back() -> None:
    """One that is opened again is a young one, and one that is gone is passed over."""
    kept = KeptOpen()
    kept.allow(3)
    held = [Held() for _ in range(5)]
    for each in held[:3]:
        each.open(kept)
    assert [each.is_open for each in held] == [True, True, True, False, False]
    held[3].open(kept)
    assert [each.is_open for each in held] == [False, True, True, True, False]
    del held[1]
    held[3].open(kept)
    held[0].open(kept)
    assert [each.is_open for each in held] == [True, False, True, True]


def test_without_a_limit_all_stay_open() -> None:
    """As for a command, which reads a directory and ends."""
    kept = KeptOpen()
    held = [Held() for _ in range(100)]
    for each in held:
        each.open(kept)
    assert all(each.is_open for each in held)


@pytest.fixture
def segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Segment]:
    """Three empty segments on a disk, of which one file may be open."""
    kept = KeptOpen()
    kept.allow(1)
    monkeypatch.setattr(segment_module, "KEPT_OPEN", kept)
    made = [Segment(PosixFiles(), str(tmp_path), offset, IndexSettings(4096, 1 << 20), 0, 0) for offset in range(3)]
    for each in made:
        each.make_files()
    return made


def test_a_segment_opens_its_file_again(segments: list[Segment]) -> None:
    """What is written before and after is one file; whoever uses the old descriptor keeps it."""
    first, second, _ = segments
    old = first.file
    old.write(b"one ")
    second.file.write(b"x")
    assert first._file is None
    assert old.pread(4, 0) == b"one "
    first.file.write(b"two")
    assert second._file is None
    assert first.file.pread(9, 0) == b"one two"


def test_the_file_of_a_deleted_segment_stays_open(segments: list[Segment]) -> None:
    """It could not be opened by its name any more."""
    first, second, third = segments
    first.file.write(b"data")
    first.mark_deleted()
    for other in (second, third):
        other.file.write(b"x")
    assert first.file.pread(4, 0) == b"data"
