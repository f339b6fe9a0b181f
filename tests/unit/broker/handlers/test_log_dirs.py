"""DescribeLogDirs: which partition takes how much on which disk."""

from pathlib import Path

import pytest

from odradek.broker.handlers.log_dirs import MOST_PARTITIONS, LogDirHandlers
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from tests.support.memory_files import MemoryFiles
from tests.support.partitions import DATA, Node, context


def describe(node: Node, topics: dict[str, list[int]] | None = None) -> list[DescribeLogDirsResult]:
    asked = None
    if topics is not None:
        asked = [DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics.items()]
    response = LogDirHandlers(node.table, node.logs).describe_log_dirs(context(5), DescribeLogDirsRequest(topics=asked))
    assert response.error_code == 0
    return response.results


def sizes(found: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    """Return the size of every partition of an answer, by name."""
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in found.topics
        for partition in topic.partitions
    }


def test_all_partitions_have_their_size() -> None:
    """Bytes of the data files; nothing is on its way to another directory, and no replica is behind."""
    node = Node()
    node.create("t", 2)
    size = node.append("t", b"x").size
    node.create("u")
    [found] = describe(node)
    assert (found.error_code, found.log_dir, found.is_cordoned) == (0, DATA, False)
    assert sizes(found) == {("t", 0): size, ("t", 1): 0, ("u", 0): 0}
    assert {(each.offset_lag, each.is_future_key) for topic in found.topics for each in topic.partitions} == {
        (0, False)
    }


def test_only_what_is_asked_for_is_told() -> None:
    """Partitions that are not there are passed over, the directory is told all the same."""
    node = Node()
    node.create("t", 3)
    [found] = describe(node, {"t": [1, 9], "none": [0]})
    assert list(sizes(found)) == [("t", 1)]
    [found] = describe(node, {})
    assert (found.log_dir, sizes(found)) == (DATA, {})


def test_partitions_stand_under_their_directory() -> None:
    """New ones go where the fewest are; directories of which one begins like the other are told apart."""
    node = Node(paths=("/disk", "/disk2"))
    node.create("t", 4)
    one, two = describe(node)
    assert (one.log_dir, two.log_dir) == ("/disk", "/disk2")
    assert (len(sizes(one)), len(sizes(two))) == (2, 2)
    assert not sizes(one).keys() & sizes(two).keys()


def test_space_of_the_volume_is_told() -> None:
    """How large it is, and how much of it is free (KIP-827)."""
    node = Node(MemoryFiles(capacity=1_000_000))
    [found] = describe(node)
    assert found.total_bytes == 1_000_000
    assert found.usable_bytes == 1_000_000 - node.files.used


def test_directory_that_cannot_be_read_is_a_storage_error() -> None:
    """The others are described."""
    node = Node(paths=("/one", "/two"))
    node.files.rmtree("/one")
    one, two = describe(node)
    assert (one.error_code, one.log_dir, one.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, "/one", [])
    assert two.error_code == 0


def test_directory_is_told_with_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path relative to where the broker was started says nothing to a client."""
    monkeypatch.chdir(tmp_path)
    node = Node(paths=("./data",))
    [found] = describe(node)
    assert found.log_dir == str(tmp_path / "data")


def test_directory_of_the_metadata_alone_is_not_described() -> None:
    """Only log.dirs hold partitions; metadata.log.dir does not, if it is another one."""
    node = Node(paths=("/a",), metadata_path="/m")
    assert [directory.path for directory in node.logs.directories] == ["/a", "/m"]
    assert [found.log_dir for found in describe(node)] == ["/a"]


def test_more_partitions_than_fit_in_a_turn_are_refused() -> None:
    """They may be asked for in several requests, or all there are in one."""
    asked = [DescribableLogDirTopic(topic="none", partitions=[0] * MOST_PARTITIONS)]
    node = Node()
    with pytest.raises(KafkaError):
        LogDirHandlers(node.table, node.logs).describe_log_dirs(context(5), DescribeLogDirsRequest(topics=asked))


def test_a_failed_directory_is_told_with_its_error() -> None:
    """And nothing of what is in it."""
    node = Node(paths=("/a", "/b"))
    node.create("t", 2)
    node.logs.fail_directory("/b", "Input/output error")
    first, second = describe(node)
    assert (first.error_code, first.log_dir) == (0, "/a")
    assert (second.error_code, second.log_dir, second.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, "/b", [])
