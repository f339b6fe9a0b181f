"""Encoding and decoding of any message at any version, interpreted from its schema; for clarity, not for speed."""

import struct
import uuid
from typing import Any

from tests.support.wire.schema import SCHEMAS, Type

# Values have the types that the schema says, which no static type can express.
Message = dict[str, Any]

_FIXED = {
    "boolean": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}


class UndecodableError(ValueError):
    """Bytes that do not follow the schema."""


def encode(message: str, version: int, fields: Message) -> bytes:
    """Return the body of a message; fields left out are zero, empty or (where that is allowed) null."""
    return _encode(SCHEMAS[message, version], fields)


def decode(message: str, version: int, data: bytes) -> Message:
    """Return the fields of a message body; raises UndecodableError for bytes that are missing or left over."""
    reader = Reader(data)
    fields: Message = _decode(SCHEMAS[message, version], reader)
    if reader.position != len(data):
        raise UndecodableError(f"{len(data) - reader.position} bytes left over after {message} v{version}")
    return fields


def unsigned_varint(number: int) -> bytes:
    """Return a number in seven-bit groups, lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


class Reader:
    """A position in bytes that moves as values are taken."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        end = self.position + count
        if count < 0 or end > len(self.data):
            raise UndecodableError(f"{count} bytes wanted at {self.position} of {len(self.data)}")
        start, self.position = self.position, end
        return self.data[start:end]

    def number(self, format_: str) -> Any:
        """Return the next big-endian number of a struct format character."""
        return struct.unpack(">" + format_, self.take(struct.calcsize(">" + format_)))[0]

    def unsigned_varint(self) -> int:
        """Return the next number in seven-bit groups."""
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7


def _encode(kind: Type, value: Any) -> bytes:
    if isinstance(kind, list):
        return b"".join(_encode_field(field, value) for field in kind)
    if isinstance(kind, dict):
        return _encode_composite(kind, value)
    if kind in _FIXED:
        return struct.pack(">" + _FIXED[kind], value)
    if kind == "uuid":
        return bytes(value.bytes)
    raw = value.encode() if isinstance(value, str) else value
    if "compact" in kind:
        return b"\0" if raw is None else unsigned_varint(len(raw) + 1) + raw
    length = ">h" if "string" in kind else ">i"
    return struct.pack(length, -1) if raw is None else struct.pack(length, len(raw)) + raw


def _encode_composite(kind: dict[str, Any], value: Any) -> bytes:
    if kind["t"] == "nullable struct":
        return b"\xff" if value is None else b"\x01" + _encode(kind["of"], value)
    compact = "compact" in kind["t"]
    if value is None:
        return b"\0" if compact else b"\xff\xff\xff\xff"
    count = unsigned_varint(len(value) + 1) if compact else struct.pack(">i", len(value))
    return count + b"".join(_encode(kind["of"], item) for item in value)


def _encode_field(field: list[Any], struct_value: Message) -> bytes:
    if field[0] != "_tags":
        name, kind = field
        return _encode(kind, struct_value[name] if name in struct_value else _default(kind))
    tags = field[1]["fields"] if len(field) > 1 else {}
    present = sorted((int(tag), name, kind) for tag, (name, kind) in tags.items() if name in struct_value)
    out = unsigned_varint(len(present))
    for tag, name, kind in present:
        body = _encode(kind, struct_value[name])
        out += unsigned_varint(tag) + unsigned_varint(len(body)) + body
    return out


def _default(kind: Type) -> Any:
    if isinstance(kind, list):
        return {}
    if isinstance(kind, dict):
        return None if kind["t"].startswith("nullable") else []
    if kind in _FIXED:
        return 0
    if kind == "uuid":
        return uuid.UUID(int=0)
    if "nullable" in kind:
        return None
    return "" if "string" in kind else b""


def _decode(kind: Type, reader: Reader) -> Any:
    if isinstance(kind, list):
        return _decode_struct(kind, reader)
    if isinstance(kind, dict):
        return _decode_composite(kind, reader)
    if kind in _FIXED:
        return reader.number(_FIXED[kind])
    if kind == "uuid":
        return uuid.UUID(bytes=reader.take(16))
    if "compact" in kind:
        length = reader.unsigned_varint() - 1
    else:
        length = reader.number("h" if "string" in kind else "i")
    if length < 0:
        return None
    raw = reader.take(length)
    return raw.decode() if "string" in kind else raw


def _decode_composite(kind: dict[str, Any], reader: Reader) -> Any:
    if kind["t"] == "nullable struct":
        return None if reader.number("b") < 0 else _decode(kind["of"], reader)
    count = reader.unsigned_varint() - 1 if "compact" in kind["t"] else reader.number("i")
    return None if count < 0 else [_decode(kind["of"], reader) for _ in range(count)]


def _decode_struct(fields: list[Any], reader: Reader) -> Message:
    out: Message = {}
    for field in fields:
        if field[0] != "_tags":
            out[field[0]] = _decode(field[1], reader)
            continue
        tags = field[1]["fields"] if len(field) > 1 else {}
        for _ in range(reader.unsigned_varint()):
            tag, length = reader.unsigned_varint(), reader.unsigned_varint()
            body = reader.take(length)
            if str(tag) in tags:
                name, kind = tags[str(tag)]
                out[name] = _decode(kind, Reader(body))
            else:
                out[f"unknown tag {tag}"] = body
    return out
