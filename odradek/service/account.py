"""What the user that a service runs as can reach, by the permissions of files. Reads nothing but those."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A user of this machine, by number; `groups` has all that it is in."""

    name: str
    uid: int
    gid: int
    groups: frozenset[int]
    group_name: str


def find_account(name: str) -> ServiceAccount | None:
    """Return a user of this machine, None where there is none of that name."""
    import grp
    import pwd

    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    try:
        group = grp.getgrgid(found.pw_gid).gr_name
    except KeyError:
        group = str(found.pw_gid)
    groups = frozenset(os.getgrouplist(name, found.pw_gid))
    return ServiceAccount(name, found.pw_uid, found.pw_gid, groups, group)


def first_closed(account: ServiceAccount, path: Path) -> Path | None:
    """Return the first part of a path that the user cannot pass or read; None where it reaches the whole of it.

    What is not there closes nothing. Links are followed. Raises OSError where this process cannot look itself.
    """
    for part in _parts(path):
        try:
            status = part.stat()
        except FileNotFoundError:
            return None
        wanted = stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else stat.S_IROTH
        if not _may(account, status, wanted):
            return part
    return None


def may_write(account: ServiceAccount, path: Path) -> bool:
    """Whether the user may make files in a directory. Raises OSError."""
    return _may(account, path.stat(), stat.S_IWOTH | stat.S_IXOTH)


def _parts(path: Path) -> Iterator[Path]:
    for each in dict.fromkeys([path, path.resolve()]):
        yield from reversed(each.parents)
        yield each


def _may(account: ServiceAccount, status: os.stat_result, wanted: int) -> bool:
    if account.uid == 0:
        return True
    if status.st_uid == account.uid:
        wanted <<= 6
    elif status.st_gid in account.groups:
        wanted <<= 3
    return status.st_mode & wanted == wanted
