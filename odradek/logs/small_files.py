"""The rows of files that are read whole: producer snapshots, checkpoints, and the files that say whose a directory is.

Values by their name; what cannot be such a file is a CorruptFile with its path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator

from odradek.logs.kinds import LogFileKind
from odradek.logs.message_json import Json
from odradek.protocol.uuids import to_text
from odradek.storage.checkpoints.checkpoint_file import read_offset_checkpoint
from odradek.storage.checkpoints.leader_epochs import read_leader_epochs
from odradek.storage.checkpoints.partition_metadata import read_topic_id
from odradek.storage.directories.meta_properties import parse_properties
from odradek.storage.errors import CorruptFile
from odradek.storage.files import FileSystem
from odradek.storage.producers.producer_entry import ProducerEntry
from odradek.storage.producers.producer_snapshot import decode_snapshot

MAX_SNAPSHOT = 64 << 20
"""Largest producer snapshot that is read: one of more than a million producers, which are shown one by one."""
MAX_CHECKPOINT = 16 << 20
"""Largest checkpoint that is read: one of hundreds of thousands of partitions."""
MAX_SMALL_FILE = 1 << 20
"""Largest of the other files, which have a few lines."""
_LARGEST = {
    LogFileKind.PRODUCER_SNAPSHOT: MAX_SNAPSHOT,
    LogFileKind.OFFSET_CHECKPOINT: MAX_CHECKPOINT,
    LogFileKind.LEADER_EPOCHS: MAX_CHECKPOINT,
}
_SEQUENCES = 1 << 31


def small_file_rows(fs: FileSystem, path: str, kind: LogFileKind) -> Iterator[dict[str, Json]]:
    """Return the lines of a file of that kind. Raises CorruptFile, OSError."""
    size = fs.size(path)
    if size > _LARGEST.get(kind, MAX_SMALL_FILE):
        raise CorruptFile(path, f"{size} bytes are more than such a file can have")
    directory = os.path.dirname(path)
    values: Iterable[dict[str, Json]]
    match kind:
        case LogFileKind.PRODUCER_SNAPSHOT:
            values = map(_producer, decode_snapshot(fs.read_bytes(path), path))
        case LogFileKind.OFFSET_CHECKPOINT:
            found = read_offset_checkpoint(fs, path)
            values = ({"topic": topic, "partition": number, "offset": at} for (topic, number), at in found.items())
        case LogFileKind.LEADER_EPOCHS:
            epochs = read_leader_epochs(fs, directory or ".")
            values = ({"epoch": epoch, "start_offset": start} for epoch, start in epochs)
        case LogFileKind.PARTITION_METADATA:
            topic_id = read_topic_id(fs, directory or ".")
            values = [{"topic_id": to_text(topic_id)}] if topic_id else []
        case LogFileKind.META_PROPERTIES:
            values = [dict(_properties(fs.read_bytes(path), path))]
        case _:
            values = [_json_object(fs.read_bytes(path), path)]
    return iter(values)


def _producer(snapshot: tuple[int, ProducerEntry]) -> dict[str, Json]:
    producer_id, entry = snapshot
    first = entry.transaction_first_offset
    values: dict[str, Json] = {
        "producer_id": producer_id,
        "producer_epoch": entry.epoch,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_first_offset": first if first >= 0 else None,
        "last_timestamp": entry.last_timestamp,
    }
    for sequence, offset, delta, timestamp in entry.batches[-1:]:
        values |= {
            "first_sequence": (sequence - delta) % _SEQUENCES if sequence >= 0 else sequence,
            "last_sequence": sequence,
            "last_offset": offset,
            "offset_delta": delta,
            "timestamp": timestamp,
        }
    return values


def _properties(content: bytes, path: str) -> dict[str, str]:
    try:
        return parse_properties(content.decode())
    except ValueError as error:
        raise CorruptFile(path, str(error)) from None


def _json_object(content: bytes, path: str) -> dict[str, Json]:
    """Return the content of a file of JSON; an empty one, as older brokers left the marker of a clean stop, is {}."""
    if not content.strip():
        return {}
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise CorruptFile(path, "not JSON") from None
    if not isinstance(value, dict):
        raise CorruptFile(path, "not a JSON object")
    return value
