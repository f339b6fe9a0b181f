"""Whose a log directory is: Kafka's text in both versions, and directories that do not belong together."""

import sys
from collections.abc import Callable
from itertools import count
from uuid import UUID

import pytest

from odradek.protocol.uuids import ZERO_UUID, from_text, to_text
from odradek.storage.directories.meta_properties import (
    MetaProperties,
    format_properties,
    parse_properties,
    read_meta_properties,
    settle_directories,
    write_meta_properties,
)
from odradek.storage.errors import CorruptFile, IncompatibleDirectory
from tests.support.memory_files import MemoryFiles

KAFKAS = b"""\
#
#Sat Nov 21 07:45:17 UTC 2026
node.id=1
directory.id=vBLE6m7Z_KPYkWtE-GSXog
version=1
cluster.id=r-pv_in1Tgyd2zsWQItJow
"""
"""A file that Apache Kafka 4.3 has written."""

META = MetaProperties("r-pv_in1Tgyd2zsWQItJow", 1, from_text("vBLE6m7Z_KPYkWtE-GSXog"))


def _read(content: bytes) -> MetaProperties | None:
    fs = MemoryFiles()
    fs.write_bytes("/meta.properties", content)
    return read_meta_properties(fs, "")


def _counting_ids() -> Callable[[], UUID]:
    numbers = count(1000)
    return lambda: UUID(int=next(numbers))


def test_kafkas_file_is_read() -> None:
    """Comments are skipped, the order does not matter."""
    assert _read(KAFKAS) == META
    assert _read(b"\n".join(reversed(KAFKAS.split(b"\n")))) == META


def test_file_is_written_as_kafka_does() -> None:
    """The same lines in the same order, but for the date, which would make no two files equal."""
    fs = MemoryFiles()
    write_meta_properties(fs, "", META)
    lines = KAFKAS.splitlines(keepends=True)
    assert fs.read_bytes("/meta.properties") == b"".join(lines[:1] + lines[2:])
    assert read_meta_properties(fs.crash(kept=0.0), "") == META


def test_new_directory_says_nothing() -> None:
    """Where there is no file the directory is new."""
    assert read_meta_properties(MemoryFiles(), "") is None


def test_version_0_is_read_and_written() -> None:
    """A directory from ZooKeeper's times has a broker id, or nothing at all."""
    assert _read(b"") == MetaProperties(None, None, None, 0)
    old = MetaProperties("abc", 3, None, 0)
    assert _read(b"version=0\nbroker.id=3\ncluster.id=abc\n") == old
    fs = MemoryFiles()
    write_meta_properties(fs, "", old)
    assert read_meta_properties(fs, "") == old
    assert b"broker.id=3\n" in fs.read_bytes("/meta.properties")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"version=1\nnode.id=1\n", "cluster.id is missing"),
        (b"version=1\ncluster.id=a\n", "node.id is missing"),
        (b"version=1\ncluster.id=a\nnode.id=x\n", "not a number"),
        (b"version=1\ncluster.id=a\nnode.id=-1\n", "not a number"),
        (b"version=1\ncluster.id=a\nnode.id=99999999999\n", "not a number"),
        (b"version=one\n", "not a number"),
        (b"version=1\ncluster.id=a\nnode.id=1\ndirectory.id=short\n", "not a uuid"),
        (b"\xff\xfe", "utf-8"),
        (b"a=\\u12", "u12"),
    ],
)
def test_malformed_file_is_corrupt(content: bytes, reason: str) -> None:
    """What is missing or is not what it should be is CorruptFile, which names the file."""
    with pytest.raises(CorruptFile, match=rf"meta.properties: .*{reason}"):
        _read(content)


def test_newer_version_is_refused() -> None:
    """A directory of a newer broker is left alone, and the message says what to do."""
    with pytest.raises(IncompatibleDirectory, match=r"version 2.*choose another directory in log.dirs"):
        _read(b"version=2\nnode.id=1\ncluster.id=a\n")


def test_escapes_of_java_are_understood() -> None:
    """A value with special characters comes back as it was, whoever has written it."""
    assert _read(b"version = 1\ncluster.id: a\\=b\\:c \\u00e9\n  node.id 7\n! note\n") == MetaProperties("a=b:c é", 7)
    fs = MemoryFiles()
    special = MetaProperties("a=b:c\\ é\n", 7)
    write_meta_properties(fs, "", special)
    assert read_meta_properties(fs, "") == special


def test_plain_file_needs_no_library() -> None:
    """What brokers write is read without importing javaproperties, which takes longer than the rest of a start."""
    loaded = sys.modules.pop("javaproperties", None)
    try:
        assert _read(KAFKAS) == META
        assert format_properties({"a": "b"}) == "#\na=b\n"
        assert "javaproperties" not in sys.modules
    finally:
        if loaded is not None:
            sys.modules["javaproperties"] = loaded


def test_properties_with_continued_lines() -> None:
    """Java's line continuation is left to the library."""
    assert parse_properties("a=1\\\n  2\nb=3\n") == {"a": "12", "b": "3"}


def test_first_start_draws_a_cluster_and_directory_ids() -> None:
    """New directories get a new cluster, or the one that was asked for, and an id each."""
    settled = settle_directories({"/a": None, "/b": None}, 5, _counting_ids())
    assert settled == {
        "/a": MetaProperties(to_text(UUID(int=1000)), 5, UUID(int=1001)),
        "/b": MetaProperties(to_text(UUID(int=1000)), 5, UUID(int=1002)),
    }
    asked = settle_directories({"/a": None}, 5, _counting_ids(), cluster_id="mine")
    assert asked["/a"].cluster_id == "mine"


def test_next_start_changes_nothing() -> None:
    """Directories that belong together stay as they are."""
    other = MetaProperties(META.cluster_id, 1, UUID(int=9))
    found = {"/a": META, "/b": other}
    assert settle_directories(found, 1, _counting_ids()) == found


def test_new_directory_joins_the_others() -> None:
    """A directory that is added gets the cluster of those that are there, whichever comes first."""
    settled = settle_directories({"/new": None, "/a": META}, 1, _counting_ids())
    assert settled == {"/new": MetaProperties(META.cluster_id, 1, UUID(int=1000)), "/a": META}


def test_what_is_missing_is_completed() -> None:
    """A directory from before directory ids gets one, and says it in the form of today."""
    old = MetaProperties(None, None, None, 0)
    settled = settle_directories({"/old": old, "/a": META}, 1, _counting_ids())
    assert settled["/old"] == MetaProperties(META.cluster_id, 1, UUID(int=1000), 1)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"/a": META, "/b": MetaProperties("other", 1)}, "/b belongs to cluster other, but log directory /a belongs"),
        ({"/a": MetaProperties(META.cluster_id, 2)}, r"/a belongs to node 2, but this is node 1: set node\.id=2"),
        ({"/a": META, "/b": META}, r"/a and /b have the same directory\.id.*remove the copy"),
        ({"/a": MetaProperties("c", 1, ZERO_UUID)}, "/a has the reserved directory.id"),
    ],
)
def test_directories_that_do_not_belong_together_are_refused(found: dict[str, MetaProperties], message: str) -> None:
    """The message names the directories, and says what to do."""
    with pytest.raises(IncompatibleDirectory, match=message):
        settle_directories(found, 1, _counting_ids())


def test_other_cluster_than_asked_for_is_refused() -> None:
    """A node that is to join a cluster does not take another one's directory."""
    with pytest.raises(IncompatibleDirectory, match="but this node is started for cluster mine"):
        settle_directories({"/a": META}, 1, _counting_ids(), cluster_id="mine")


def test_a_file_larger_than_any_is_refused_before_it_is_read() -> None:
    """Sixty megabytes of malformed lines would hold up a start for minutes."""
    fs = MemoryFiles()
    fs.write_bytes("/meta.properties", b"a\n" * 100_000)
    with pytest.raises(CorruptFile, match="200000 characters are more than the 65536 of such a file"):
        read_meta_properties(fs, "")
