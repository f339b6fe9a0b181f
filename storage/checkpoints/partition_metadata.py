"""The file `partition.metadata`, which ties the directory of a partition to the id of its topic (KIP-516).

A topic that is deleted and created again has another id, so data of the old one is not taken for the new one's. Follows
Kafka's storage format, "Small text / JSON files" (`PartitionMetadataFile`).
"""

from uuid import UUID

from odradek.protocol.uuids import ZERO_UUID, from_text, to_text
from odradek.storage.checkpoints.checkpoint_file import MAX_INT32, parse_number
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.names import PARTITION_METADATA_FILE

_VERSION = 0


def write_topic_id(fs: FileSystem, directory: str, topic_id: UUID, sync: bool = True) -> None:
    """Replace the file; durable on return, unless `sync` is given up."""
    content = f"version: {_VERSION}\ntopic_id: {to_text(topic_id)}"
    fs.write_atomic(f"{directory}/{PARTITION_METADATA_FILE}", content.encode(), sync)


def read_topic_id(fs: FileSystem, directory: str) -> UUID | None:
    """Return the topic id, None if there is no file; raise CorruptFile.

    Any version is read, as in Kafka: a later one may say more, but not something else.
    """
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    try:
        content = fs.read_bytes(path)
    except FileNotFoundError:
        return None
    try:
        lines = content.decode().split("\n", 2)
        if len(lines) < 2:
            raise CorruptFile(path, "the topic id is missing")
        parse_number(_value_of("version", lines[0], path), path, MAX_INT32)
        topic_id = from_text(_value_of("topic_id", lines[1], path))
    except ValueError as error:
        raise CorruptFile(path, f"malformed partition metadata: {error}") from None
    if topic_id == ZERO_UUID:
        raise CorruptFile(path, "the topic id is zero")
    return topic_id


def _value_of(key: str, line: str, path: str) -> str:
    found, colon, value = line.partition(":")
    if found != key or not colon or not value[:1].isspace():
        raise CorruptFile(path, f"malformed line {line[:100]!r} where {key!r} is expected")
    return value.strip()
