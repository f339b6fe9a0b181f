"""A record as one line of JSON, and back.

    {"topic": "orders", "partition": 0, "offset": 7, "timestamp": 1795255200000, "timestamp_type": "create",
     "key": "k", "value": "v", "headers": [["name", "value"]]}

Keys, values and those of headers are strings where they are UTF-8, null where there is none, and `{"base64": "..."}`
otherwise, so nothing is lost. Only key, value, headers, partition and timestamp are read back. A line with any other
field than these eight is refused: it would be a key or a value that is misspelt, and lost.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from odradek.records.consumed import Consumed

_KNOWN = frozenset({"topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers"})
_NAMES_SHOWN = 3

JsonBytes: TypeAlias = str | dict[str, str] | None


class ParsedRecord(NamedTuple):
    """What one line says; None where it says nothing."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    partition: int | None
    timestamp_ms: int | None


def record_line(record: Consumed, decoded: Mapping[str, object] | None = None) -> bytes:
    """Return a record as a line of JSON, line feed included.

    `decoded` has values of `key` and `value` that were read by a schema, in the place of their bytes.
    """
    fields = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "timestamp_type": record.timestamp_type,
        "key": bytes_to_json(record.key),
        "value": bytes_to_json(record.value),
        "headers": [[name, bytes_to_json(value)] for name, value in record.headers],
        **(decoded or {}),
    }
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def parse_record(line: bytes) -> ParsedRecord:
    """Read a line of JSON; ValueError says what is wrong with it."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as wrong:
        raise ValueError(f"it is no JSON: {wrong}") from None
    if not isinstance(fields, dict):
        raise ValueError('it is no JSON object with "key", "value" and "headers"')
    if fields and not fields.keys() & _KNOWN:
        raise ValueError(
            f'it has none of "key", "value", "headers", "partition" and "timestamp" (but {_shown(fields)}); with'
            " --value-json the whole line is the value"
        )
    if unknown := [name for name in fields if name not in _KNOWN]:
        raise ValueError(
            f'besides "key", "value", "headers", "partition" and "timestamp" it has {_shown(unknown)}, which no record'
            " has; with --value-json the whole line is the value"
        )
    return ParsedRecord(
        key=_bytes(fields.get("key"), "key"),
        value=_bytes(fields.get("value"), "value"),
        headers=_headers(fields.get("headers")),
        partition=_number(fields.get("partition"), "partition"),
        timestamp_ms=_number(fields.get("timestamp"), "timestamp"),
    )


def check_json(line: bytes) -> None:
    """See that a line is JSON, of whatever kind; ValueError says what is wrong with it."""
    try:
        json.loads(line)
    except (ValueError, RecursionError) as wrong:
        raise ValueError(f"it is no JSON: {wrong}") from None


def bytes_to_json(data: bytes | None) -> JsonBytes:
    """Return bytes as a JSON value that holds all of them."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _bytes(value: object, name: str) -> bytes | None:
    match value:
        case None:
            return None
        case str():
            return value.encode("utf-8", "surrogatepass")
        case {"base64": str(text), **others} if not others:
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError) as wrong:
                raise ValueError(f'"{name}" is no base64: {wrong}') from None
        case _:
            raise ValueError(f'"{name}" is neither a string nor null nor {{"base64": ...}}')


def _headers(value: object) -> list[tuple[str, bytes | None]]:
    if value is None:
        return []
    if isinstance(value, dict):
        value = list(value.items())
    if not isinstance(value, list):
        raise ValueError('"headers" is neither a list of [name, value] nor an object')
    headers = []
    for each in value:
        match each:
            case [str(name), content] | (str(name), content):
                headers.append((name, _bytes(content, f"headers.{name}")))
            case _:
                raise ValueError('"headers" is neither a list of [name, value] nor an object')
    return headers


def _shown(fields: Iterable[str]) -> str:
    names = [repr(name[:20]) for name in fields]
    return ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")


def _number(value: object, name: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError(f'"{name}" is no number of zero or more')
    return value
