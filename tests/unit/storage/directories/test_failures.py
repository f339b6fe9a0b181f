"""When a log directory counts as failed."""

import errno
import os

import pytest

from odradek.storage.directories.failures import DirectoryFailures, is_lasting
from tests.support.memory_files import MemoryFiles

PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EINTR)
LASTING = (errno.EIO, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.ENOTCONN)


def failing(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class Told:
    """Failures of two directories, one of which has a name that begins like the other's."""

    def __init__(self, *, begun: bool = True) -> None:
        self.fs = MemoryFiles()
        for path in ("/disk", "/disk2"):
            self.fs.mkdir(path)
        self.told: list[str] = []
        self.failures = DirectoryFailures(self.fs, ["/disk", "/disk2"])
        if begun:
            self.failures.begin(lambda path, _reason: self.told.append(path))


@pytest.mark.parametrize("number", PASSING)
def test_what_passes_by_itself_fails_no_directory(number: int) -> None:
    """A full disk above all: the broker goes on as soon as there is space."""
    scene = Told()
    scene.failures.note("/disk/t-0", failing(number))
    assert (scene.told, is_lasting(failing(number))) == ([], False)


@pytest.mark.parametrize("number", LASTING)
def test_a_disk_or_file_system_that_is_gone_fails_its_directory_once(number: int) -> None:
    """However often, and on whatever partition, it is met."""
    scene = Told()
    for path in ("/disk2/t-0", "/disk2", "/disk2/u-1/00000000000000000000.log"):
        scene.failures.note(path, failing(number))
    assert scene.told == ["/disk2"]


def test_a_missing_file_fails_its_directory_where_that_is_missing_too() -> None:
    """Somebody may have removed a file; a directory that is gone was unmounted."""
    scene = Told()
    scene.failures.note("/disk/t-0", failing(errno.ENOENT))
    assert scene.told == []
    scene.fs.rmtree("/disk")
    scene.failures.note("/disk/t-0", failing(errno.ENOENT))
    assert scene.told == ["/disk"]


def test_nothing_else_is_noted() -> None:
    """Other errors, other paths, and nothing at all where nobody asked."""
    scene, unasked = Told(), Told(begun=False)
    scene.failures.note("/disk/t-0", ValueError())
    scene.failures.note("/disk/t-0", None)
    scene.failures.note("/elsewhere/t-0", failing(errno.EIO))
    unasked.failures.note("/disk/t-0", failing(errno.EIO))
    assert scene.told == unasked.told == []
