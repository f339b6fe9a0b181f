"""Names of directories and files, as Kafka writes them."""

import pytest

from odradek.storage.names import (
    DirectoryName,
    DirectoryState,
    FileName,
    TopicPartition,
    directory_name,
    file_name,
    marked_directory_name,
    parse_directory_name,
    parse_file_name,
)

UNIQUE = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "topic", "partition", "state"),
    [
        ("orders-0", "orders", 0, DirectoryState.CURRENT),
        ("with-dash.and.dot-12", "with-dash.and.dot", 12, DirectoryState.CURRENT),
        ("-0", None, 0, DirectoryState.CURRENT),
        ("orders--1", "orders-", 1, DirectoryState.CURRENT),
        (f"orders-3.{UNIQUE}-delete", "orders", 3, DirectoryState.DELETED),
        (f"a.b-3.{UNIQUE}-future", "a.b", 3, DirectoryState.FUTURE),
        (f"orders-3.{UNIQUE}-stray", "orders", 3, DirectoryState.STRAY),
        ("__cluster_metadata-0", "__cluster_metadata", 0, DirectoryState.CURRENT),
    ],
)
def test_directory_names_are_taken_apart(name: str, topic: str | None, partition: int, state: DirectoryState) -> None:
    """Topic and partition are split at the last dash, after the mark is taken off."""
    expected = None if topic is None else DirectoryName(TopicPartition(topic, partition), state)
    assert parse_directory_name(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        "orders",
        "orders-",
        "orders-x",
        "orders-01",
        "orders-+1",
        "orders-2147483648",
        "orders-٣",
        "orders-1.5",
        "orders-3-delete",
        "orders-3.-delete",
        f"orders.{UNIQUE}-delete",
        "remote-log-index-cache",
        "lost+found",
        "-" * 1000,
    ],
)
def test_other_names_are_not_partitions(name: str) -> None:
    """What Kafka would not write is not the directory of a partition."""
    assert parse_directory_name(name) is None


@pytest.mark.parametrize("state", [DirectoryState.DELETED, DirectoryState.STRAY])
def test_marked_names_are_cut_to_what_a_file_system_takes(state: DirectoryState) -> None:
    """The longest topic name still gives a directory name of 255 characters, with its partition in it."""
    name = marked_directory_name(TopicPartition("t" * 249, 1234), state, UNIQUE)
    assert len(name) == 255
    assert name.endswith(f"t-1234.{UNIQUE}{state.value}")
    parsed = parse_directory_name(name)
    assert parsed is not None
    assert parsed.state is state


def test_future_name_is_not_cut() -> None:
    """A replica on its way must keep its topic."""
    name = marked_directory_name(TopicPartition("t" * 249, 1), DirectoryState.FUTURE, UNIQUE)
    assert parse_directory_name(name) == DirectoryName(TopicPartition("t" * 249, 1), DirectoryState.FUTURE)


def test_partition_is_shown_like_its_directory() -> None:
    """People read the same name in messages and on disk."""
    partition = TopicPartition("orders", 7)
    assert str(partition) == directory_name(partition) == "orders-7"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("00000000000000000000.log", FileName(0, ".log", "")),
        ("00000000000000003003.index", FileName(3003, ".index", "")),
        ("00000000000000003003.timeindex.swap", FileName(3003, ".timeindex", ".swap")),
        ("00000000000000003003.log.cleaned", FileName(3003, ".log", ".cleaned")),
        ("00000000000000003003.txnindex.deleted", FileName(3003, ".txnindex", ".deleted")),
        ("09223372036854775807.snapshot", FileName((1 << 63) - 1, ".snapshot", "")),
        ("09223372036854775808.snapshot", None),
        ("00000000000000000000.log.other", None),
        ("00000000000000000000.log.swap.swap", None),
        ("00000000000000000000-0000000001.checkpoint", None),
        ("leader-epoch-checkpoint", None),
        ("x.log", None),
        (".log", None),
        ("", None),
        ("1" * 10000 + ".log", None),
    ],
)
def test_file_names_are_taken_apart(name: str, expected: FileName | None) -> None:
    """Offset, kind and state come from the name; other files are left alone."""
    assert parse_file_name(name) == expected


def test_file_names_have_twenty_digits() -> None:
    """Names sort like offsets."""
    assert file_name(3003, ".log") == "00000000000000003003.log"
    assert file_name((1 << 63) - 1, ".snapshot") == "09223372036854775807.snapshot"
