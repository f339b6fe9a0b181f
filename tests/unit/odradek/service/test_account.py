"""What a user reaches, told from the permissions of files."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.service.account import ServiceAccount, find_account, first_closed, may_write

STRANGER = ServiceAccount("stranger", 2**31 - 7, 2**31 - 7, frozenset({2**31 - 7}), "stranger")


def owner(path: Path, name: str = "owner") -> ServiceAccount:
    """Return an account that owns a path; never root, who may do everything, unless its files are root's."""
    status = path.stat()
    return ServiceAccount(name, status.st_uid, status.st_gid, frozenset({status.st_gid}), name)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that everybody reaches, with a file in it: not below that of pytest, which keeps others out."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        directory = Path(path)
        directory.chmod(0o711)
        (directory / "file").write_text("")
        (directory / "file").chmod(0o644)
        yield directory


def test_a_file_is_reached_through_open_directories(open_directory: Path) -> None:
    """Every directory can be passed and the file can be read; what is not there yet closes nothing."""
    assert first_closed(STRANGER, open_directory / "file") is None
    assert first_closed(STRANGER, open_directory / "new" / "deeper") is None


@pytest.mark.parametrize(("part", "mode"), [("file", 0o640), ("", 0o750)])
def test_the_first_part_that_is_closed_is_named(open_directory: Path, part: str, mode: int) -> None:
    """A file that cannot be read, or a directory on the way that cannot be passed."""
    (open_directory / part).chmod(mode)
    assert first_closed(STRANGER, open_directory / "file") == open_directory / part
    assert first_closed(owner(open_directory), open_directory / "file") is None


def test_links_lead_to_what_counts(open_directory: Path) -> None:
    """A link in an open place to a file in a closed one is closed."""
    (open_directory / "closed").mkdir(mode=0o700)
    (open_directory / "closed" / "file").write_text("")
    (open_directory / "link").symlink_to("closed/file")
    assert first_closed(STRANGER, open_directory / "link") is not None


def test_a_member_of_the_group_has_the_rights_of_the_group(open_directory: Path) -> None:
    """And not those of everybody else, even where these are more."""
    status = open_directory.stat()
    member = STRANGER.__class__("member", STRANGER.uid, STRANGER.gid, frozenset({status.st_gid}), "member")
    open_directory.chmod(0o775)
    assert may_write(member, open_directory)
    assert not may_write(STRANGER, open_directory)
    open_directory.chmod(0o757)
    assert not may_write(member, open_directory)
    assert may_write(STRANGER, open_directory)


def test_users_of_this_machine_are_found_by_name() -> None:
    """Root is everywhere; nobody has an impossible name."""
    root = find_account("root")
    assert root is not None
    assert (root.uid, root.gid in root.groups) == (0, True)
    assert find_account("no:such:user") is None
