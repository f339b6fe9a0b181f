"""Files that wait for their removal."""

import errno

import pytest

from odradek.storage.deletions import Doomed, PendingDeletions
from tests.support.memory_files import MemoryFiles


def test_delay_begins_with_the_first_look() -> None:
    """What was added is due its delay after the scheduler came by, in no earlier moment."""
    waiting = PendingDeletions(MemoryFiles())
    waiting.add_file("/f", 100)
    waiting.add_directory("/d", 50)
    assert len(waiting) == 2
    assert waiting.take_due(1000) == []
    assert waiting.take_due(1049) == []
    assert waiting.take_due(1050) == [Doomed("/d", True)]
    assert waiting.take_due(1100) == [Doomed("/f", False)]
    assert len(waiting) == 0


def test_without_delay_it_is_due_at_once() -> None:
    """file.delete.delay.ms=0 is allowed."""
    waiting = PendingDeletions(MemoryFiles())
    waiting.add_file("/f", 0)
    assert waiting.take_due(5) == [Doomed("/f", False)]


def test_files_and_directories_are_removed_and_may_be_gone() -> None:
    """A directory goes with all that is in it; what somebody else removed is no error."""
    fs = MemoryFiles()
    fs.mkdir("/d")
    fs.write_bytes("/d/x", b"")
    fs.write_bytes("/f", b"")
    waiting = PendingDeletions(fs)
    doomed = [Doomed("/d", True), Doomed("/f", False)]
    waiting.remove(doomed)
    waiting.remove(doomed)
    assert fs.listdir("/") == []


def test_error_of_the_disk_is_passed_on_and_what_it_kept_is_tried_again() -> None:
    """The caller logs it; whatever else was due is removed, and what was not is due again with the next look."""
    fs = MemoryFiles()
    fs.write_bytes("/f", b"")
    fs.write_bytes("/g", b"")
    fs.fail("unlink", errno.EIO)
    waiting = PendingDeletions(fs)
    with pytest.raises(OSError, match="Input/output error"):
        waiting.remove([Doomed("/f", False), Doomed("/g", False)])
    assert fs.listdir("/") == ["f"]
    assert waiting.take_due(1) == [Doomed("/f", False)]
