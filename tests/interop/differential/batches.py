"""Record batches as their fields, for answers whose bytes cannot be equal."""

import struct
from typing import Any

from tests.support.wire import Message

HEADER = struct.Struct(">qiibIhiqqqhii")
CONTROL = 0x20
LOG_APPEND_TIME = 0x08


def with_batches(value: Any, name: str = "") -> Any:
    """Return an answer with records replaced by a list of what their batches say."""
    if isinstance(value, dict):
        return {key: with_batches(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [with_batches(each, name) for each in value]
    return _batches(value) if name == "records" and value else value


def _batches(data: bytes) -> list[Message]:
    found: list[Message] = []
    position = 0
    while position < len(data):
        batch = _batch(data, position)
        found.append(batch)
        position += 12 + batch["length"]
    return found


def _batch(data: bytes, position: int) -> Message:
    """Return a batch's fields, without the checksum, which is over the others; all bytes of its records are kept."""
    names = (
        "base_offset",
        "length",
        "leader_epoch",
        "magic",
        "crc",
        "attributes",
        "last_offset_delta",
        "base_timestamp",
        "max_timestamp",
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "count",
    )
    fields = dict(zip(names, HEADER.unpack_from(data, position), strict=True))
    del fields["crc"]
    if fields["attributes"] & (CONTROL | LOG_APPEND_TIME):  # the broker's own time
        del fields["base_timestamp"]
        fields["timestamp"] = fields.pop("max_timestamp")
    return {**fields, "body": data[position + HEADER.size : position + 12 + fields["length"]].hex()}
