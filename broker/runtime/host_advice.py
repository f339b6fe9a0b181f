"""What about the machine will be trouble later: limits that are too low, file systems that lose data.

Pure but for `look_at_host`. `odradek serve` says it at start, one line each, and only where it matters.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

FEW_DESCRIPTORS: Final = 10_000
"""Each connection takes one, and each partition in use; Apache Kafka's own advice is 100,000."""
IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "hugetlbfs"})
REMOTE: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ncpfs", "fuse.sshfs", "fuse.s3fs"})
OF_A_CONTAINER: Final = frozenset({"overlay", "aufs"})
_MOUNTS: Final = "/proc/self/mountinfo"
_LARGEST_TABLE: Final = 4 * 1024 * 1024


class Advice(NamedTuple):
    """One thing that will be trouble, and what to do about it."""

    subject: str
    problem: str
    remedy: str


class Mount(NamedTuple):
    """A mounted file system."""

    path: str
    kind: str


class HostFacts(NamedTuple):
    """What there is to know of the machine."""

    descriptors: int
    """How many files and connections the process may have open; negative: as many as it wants."""
    mounts: Sequence[Mount] = ()
    """The later ones cover the earlier ones. Empty where the system does not tell."""


def find_advice(facts: HostFacts, log_dirs: Sequence[str], is_container: bool = False) -> Iterator[Advice]:
    """Yield what will be trouble; `log_dirs` are real paths, without links."""
    if 0 <= facts.descriptors < FEW_DESCRIPTORS:
        yield Advice(
            "open files",
            f"at most {facts.descriptors:,} at once, and each connection and each partition in use takes one",
            f"raise the hard limit to {FEW_DESCRIPTORS:,} or more: LimitNOFILE= of a systemd unit, nofile in"
            " /etc/security/limits.conf, --ulimit nofile= of docker run",
        )
    for path in log_dirs:
        kind = file_system_of(facts.mounts, path)
        if kind in IN_MEMORY:
            yield Advice(
                f"log.dirs {path}",
                f"it is in memory ({kind}): all data is lost when this machine ends",
                "name a directory on a disk, unless that is what you want",
            )
        elif is_container and kind in OF_A_CONTAINER:
            yield Advice(
                f"log.dirs {path}",
                "it is in no volume: all data is lost when this container is removed",
                f"mount one there (-v odradek:{path}), or leave log.dirs as the image has it",
            )
        elif kind in REMOTE:
            yield Advice(
                f"log.dirs {path}",
                f"it is on a network file system ({kind}): what was synced may be lost, two brokers may open it at"
                " once, and a server that hangs stops this broker",
                "name a directory on a disk of this machine",
            )


def file_system_of(mounts: Sequence[Mount], path: str) -> str | None:
    """Return the kind of file system that a path lies on, None where it is not known."""
    found = Mount("", "")
    for mount in mounts:
        inside = path == mount.path or path.startswith(mount.path.rstrip("/") + "/")
        if inside and len(mount.path) >= len(found.path):
            found = mount
    return found.kind or None


def read_mounts(table: str) -> list[Mount]:
    """Return what a table of mounts has, as in /proc/self/mountinfo (proc(5)); lines of another form are left out."""
    mounts = []
    for line in table.splitlines():
        before, separator, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if separator and len(fields) > 4:
            mounts.append(Mount(_unescaped(fields[4]), kinds[0]))
    return mounts


def look_at_host() -> HostFacts:
    """Return what the operating system tells."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = -1 if hard == resource.RLIM_INFINITY else hard
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            table = file.read(_LARGEST_TABLE)
    except OSError:
        return HostFacts(descriptors)
    return HostFacts(descriptors, read_mounts(table))


def real_paths(log_dirs: Sequence[str]) -> list[str]:
    """Return the paths without links, of directories that need not be there yet."""
    return [os.path.realpath(path) for path in log_dirs]


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
