"""Offset checkpoints: Kafka's text, and what is not that."""

import pytest

from odradek.storage.checkpoints.checkpoint_file import (
    MAX_CHECKPOINT_BYTES,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from odradek.storage.errors import CorruptFile
from odradek.storage.names import TopicPartition
from tests.support.memory_files import MemoryFiles

PATH = "/recovery-point-offset-checkpoint"


def _read(content: bytes) -> dict[TopicPartition, int]:
    fs = MemoryFiles()
    fs.write_bytes(PATH, content)
    return read_offset_checkpoint(fs, PATH)


def test_file_has_kafkas_bytes() -> None:
    """Version, count, and a line of topic, partition and offset for each entry."""
    fs = MemoryFiles()
    entries = {TopicPartition("__transaction_state", 16): 20, TopicPartition("t", 0): 3025}
    write_offset_checkpoint(fs, PATH, entries)
    assert fs.read_bytes(PATH) == b"0\n2\n__transaction_state 16 20\nt 0 3025\n"
    assert read_offset_checkpoint(fs, PATH) == entries


def test_file_without_entries() -> None:
    """An empty map is written as such; a new file and an empty one have none."""
    fs = MemoryFiles()
    assert read_offset_checkpoint(fs, PATH) == {}
    write_offset_checkpoint(fs, PATH, {})
    assert fs.read_bytes(PATH) == b"0\n0\n"
    assert [_read(content) for content in (b"", b"0", b"0\n", b"0\n0", b"0\n0\n")] == [{}] * 5


def test_white_space_is_taken_as_kafka_does() -> None:
    """Words may be apart by any white space, and lines end as on Windows."""
    assert _read(b"0\r\n1\r\na \t 1   5\r\n") == {TopicPartition("a", 1): 5}


def test_write_is_durable_unless_told_otherwise() -> None:
    """With sync the new content survives a power failure; without, at least one whole content does."""
    fs = MemoryFiles()
    write_offset_checkpoint(fs, PATH, {TopicPartition("a", 0): 1})
    assert read_offset_checkpoint(fs.crash(kept=0.0), PATH) == {TopicPartition("a", 0): 1}
    fs = MemoryFiles()
    write_offset_checkpoint(fs, PATH, {TopicPartition("a", 0): 1}, sync=False)
    assert read_offset_checkpoint(fs.crash(kept=0.0), PATH) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"1\n0\n",
        b"x\n",
        b"\n",
        b"0\n1\n",
        b"0\n0\na 0 1\n",
        b"0\n2\na 0 1\n",
        b"0\n-1\n",
        b"0\n99999999999\n",
        b"0\n1\na 0\n",
        b"0\n1\na 0 1 2\n",
        b"0\n1\na b 1\n",
        b"0\n1\na 0 -1\n",
        b"0\n1\na -1 0\n",
        b"0\n1\na 2147483648 0\n",
        b"0\n1\na 0 9223372036854775808\n",
        b"0\n1\na 0 " + b"9" * 5000 + b"\n",
        b"0\n1\na 0 1_0\n",
        "0\n1\na 0 ٣\n".encode(),
        b"0\n1\n\xff 0 1\n",
        b"0\n1\na 0 1\n\n",
        b"\0" * 100,
    ],
)
def test_malformed_file_is_corrupt(content: bytes) -> None:
    """Anything else is CorruptFile, which names the file."""
    with pytest.raises(CorruptFile, match="recovery-point-offset-checkpoint"):
        _read(content)


def test_message_does_not_repeat_a_huge_line() -> None:
    """The message of an error stays readable, whatever the file has."""
    with pytest.raises(CorruptFile) as raised:
        _read(b"0\n1\n" + b"x" * 100_000)
    assert len(str(raised.value)) < 300


def test_a_file_larger_than_any_checkpoint_is_not_taken_apart() -> None:
    """A list of its lines would take ten times its size at every start."""
    content = b"0\n7\n" + b"\n" * MAX_CHECKPOINT_BYTES
    with pytest.raises(CorruptFile, match=f"more than the {MAX_CHECKPOINT_BYTES} of a checkpoint"):
        _read(content)
