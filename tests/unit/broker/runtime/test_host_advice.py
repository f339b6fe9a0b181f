"""What is said about the machine at start, and that it is only said where it matters."""

from pathlib import Path

import pytest

from odradek.broker.runtime.host_advice import (
    FEW_DESCRIPTORS,
    HostFacts,
    Mount,
    file_system_of,
    find_advice,
    look_at_host,
    read_mounts,
    real_paths,
)

TABLE = r"""
22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /tmp rw,nosuid shared:13 - tmpfs tmpfs rw,size=8000k
31 22 0:27 / /mnt/my\040disk rw - xfs /dev/sdb1 rw
32 22 0:28 / /srv/data rw,relatime shared:9 master:3 - nfs4 server:/export rw,vers=4.2
33 30 0:29 / /tmp/inner rw - ext4 /dev/sdc1 rw
no mount at all
34 22 - broken
"""
MOUNTS = read_mounts(TABLE)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/odradek", "ext4"),
        ("/tmp", "tmpfs"),
        ("/tmp/x", "tmpfs"),
        ("/tmpx", "ext4"),
        ("/tmp/inner/data", "ext4"),
        ("/mnt/my disk/data", "xfs"),
        ("/srv/data/kafka", "nfs4"),
    ],
)
def test_a_path_lies_on_the_nearest_mount(path: str, kind: str) -> None:
    """The longest mount point above it, with blanks as the table writes them; broken lines are left out."""
    assert file_system_of(MOUNTS, path) == kind


def test_of_two_mounts_in_one_place_the_later_counts() -> None:
    """It covers the earlier one."""
    assert file_system_of([Mount("/a", "ext4"), Mount("/a", "tmpfs")], "/a/b") == "tmpfs"
    assert file_system_of([], "/a") is None


def test_nothing_is_said_of_a_good_machine() -> None:
    """Enough descriptors, or no limit, and a disk."""
    for descriptors in (FEW_DESCRIPTORS, -1):
        assert list(find_advice(HostFacts(descriptors, MOUNTS), ["/var/lib/odradek", "/mnt/my disk"])) == []


def test_few_descriptors_are_named_with_the_ways_to_raise_them() -> None:
    """The figure, and where systemd, a login and Docker take it from."""
    [advice] = find_advice(HostFacts(4096), ["/var"])
    assert "4,096" in advice.problem
    for way in ("LimitNOFILE=", "limits.conf", "--ulimit"):
        assert way in advice.remedy


@pytest.mark.parametrize(
    ("path", "word"), [("/tmp/data", "memory (tmpfs)"), ("/srv/data", "network file system (nfs4)")]
)
def test_directories_that_lose_data_are_named(path: str, word: str) -> None:
    """One line for each that lies in memory or on another machine."""
    [advice] = find_advice(HostFacts(-1, MOUNTS), ["/var", path])
    assert path in advice.subject
    assert word in advice.problem


def test_a_container_without_a_volume_is_told() -> None:
    """Its own layer goes with it; on a machine that is an overlay itself, and below a volume, nothing is said."""
    mounts = [Mount("/", "overlay"), Mount("/var/lib/odradek", "ext4")]
    [advice] = find_advice(HostFacts(-1, mounts), ["/var/lib/odradek", "/data"], is_container=True)
    assert advice.subject == "log.dirs /data"
    assert "-v odradek:/data" in advice.remedy
    assert list(find_advice(HostFacts(-1, mounts), ["/data"])) == []


def test_links_are_followed_to_where_data_lies(tmp_path: Path) -> None:
    """A directory that is not there yet lies where its parent does."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    assert real_paths([str(tmp_path / "link" / "new")]) == [str(tmp_path.resolve() / "disk" / "new")]


def test_this_machine_can_be_looked_at() -> None:
    """A limit, and on Linux the file system of the root."""
    facts = look_at_host()
    assert facts.descriptors != 0
    if Path("/proc/self/mountinfo").exists():
        assert file_system_of(facts.mounts, "/proc/self") == "proc"
