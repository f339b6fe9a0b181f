"""The common form of Kafka's checkpoint files: a version, a count, and that many lines.

The four of a log directory have an offset per partition: recovery point, log start, high watermark and first uncleaned
offset, which differ by name only (see `storage.names`). Follows Kafka's storage format, "Small text / JSON files"
(`CheckpointFile`, `OffsetCheckpointFile`).
"""

from collections.abc import Iterator, Mapping, Sequence

from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.names import TopicPartition

MAX_INT32 = 0x7FFF_FFFF
MAX_INT64 = 0x7FFF_FFFF_FFFF_FFFF

MAX_CHECKPOINT_BYTES = 32 << 20
"""Largest content that is taken apart, into ten times the memory: several hundred thousand partitions."""

_VERSION = "0"
_MAX_DIGITS = 20
_SHOWN = 100


def format_checkpoint(lines: Sequence[str]) -> bytes:
    """Return the content of a checkpoint file with these entries."""
    return "\n".join((_VERSION, str(len(lines)), *lines, "")).encode()


def parse_checkpoint(content: bytes, path: str, fields: int) -> Iterator[list[str]]:
    """Yield the `fields` words of each line. Raises CorruptFile, which names `path`, before the first line or after it.

    An empty file, or one with a version and no count, has no entries: so Kafka leaves it when it creates one.
    """
    if len(content) > MAX_CHECKPOINT_BYTES:
        raise CorruptFile(path, f"{len(content)} bytes are more than the {MAX_CHECKPOINT_BYTES} of a checkpoint")
    try:
        lines = content.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        raise CorruptFile(path, "not UTF-8 text") from None
    if not lines[-1]:
        lines.pop()
    if not lines:
        return
    if lines[0] != _VERSION:
        raise CorruptFile(path, f"version {_shorten(lines[0])} where {_VERSION} is expected")
    if len(lines) == 1:
        return
    count = parse_number(lines[1], path, MAX_INT32)
    if count != len(lines) - 2:
        raise CorruptFile(path, f"{count} entries are announced, but there are {len(lines) - 2}")
    for line in lines[2:]:
        words = line.split()
        if len(words) != fields:
            raise CorruptFile(path, f"malformed line {_shorten(line)}")
        yield words


def parse_number(text: str, path: str, maximum: int) -> int:
    """Return the number from 0 to `maximum`; raise CorruptFile, which names `path`, if the text is none."""
    if len(text) <= _MAX_DIGITS and text.isascii() and text.isdigit() and int(text) <= maximum:
        return int(text)
    raise CorruptFile(path, f"{_shorten(text)} is not a number from 0 to {maximum}")


def read_offset_checkpoint(fs: FileSystem, path: str) -> dict[TopicPartition, int]:
    """Return the offset of each partition, nothing if there is no file; raise CorruptFile."""
    try:
        content = fs.read_bytes(path)
    except FileNotFoundError:
        return {}
    return {
        TopicPartition(topic, parse_number(partition, path, MAX_INT32)): parse_number(offset, path, MAX_INT64)
        for topic, partition, offset in parse_checkpoint(content, path, 3)
    }


def write_offset_checkpoint(
    fs: FileSystem, path: str, entries: Mapping[TopicPartition, int], sync: bool = True
) -> None:
    """Replace the file as a whole; durable on return, unless `sync` is given up."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in entries.items()]
    fs.write_atomic(path, format_checkpoint(lines), sync)


def _shorten(text: str) -> str:
    return repr(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else "")
