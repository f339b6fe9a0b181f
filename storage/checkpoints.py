"""The four checkpoint files of a log directory that hold an offset per partition.

Recovery point, log start, high watermark and first uncleaned offset have the same form and differ by name only (see
`storage.names`). Follows Kafka's storage format, "Small text / JSON files" (`OffsetCheckpointFile`).
"""

from collections.abc import Mapping

from odradek.storage.checkpoint_text import MAX_INT32, MAX_INT64, format_checkpoint, parse_checkpoint, parse_number
from odradek.storage.files import FileSystem
from odradek.storage.names import TopicPartition


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
