"""Keys and values that were written with a schema registry: what follows the schema's id, as JSON. Pure.

Confluent's wire format: a zero, the id of the schema in four bytes, big endian, and what was written with it; in
Protobuf the numbers of the message within its file before that.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from enum import StrEnum
from importlib import import_module
from io import BytesIO
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from odradek.records.json_lines import bytes_to_json

_HEAD: Final = Struct(">BI")
_MAGIC: Final = 0
_MOST_INDEXES: Final = 100
_WELL_KNOWN: Final = "google/protobuf/"
NOT_INSTALLED: Final = "{} is not installed: pip install 'odradek[schemas]'"

Decoder: TypeAlias = Callable[[bytes], Any]
"""From what follows the id to a value that JSON has; ValueError where it does not fit its schema."""


class SchemaKind(StrEnum):
    """What a schema is written in, as registries call it."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema with those that it refers to, by the names that it has for them; Protobuf's as a FileDescriptorProto."""

    kind: SchemaKind
    text: str
    references: Mapping[str, RegisteredSchema] = field(default_factory=dict)


class SchemaFrame(NamedTuple):
    """Bytes that name their schema."""

    schema_id: int
    payload: bytes


def schema_frame(data: bytes | None) -> SchemaFrame | None:
    """Return the id of the schema and what was written with it; None for bytes that name none."""
    if data is None or len(data) < _HEAD.size or data[0] != _MAGIC:
        return None
    return SchemaFrame(_HEAD.unpack_from(data)[1], data[_HEAD.size :])


def decoder_of(schema: RegisteredSchema) -> Decoder:
    """Return what reads values of a schema.

    Raises:
        ValueError: the schema cannot be understood.
        ModuleNotFoundError: the library for it is not installed.
    """
    if schema.kind is SchemaKind.JSON:
        return _from_json
    return _avro(schema) if schema.kind is SchemaKind.AVRO else _protobuf(schema)


def json_text(value: object) -> bytes:
    """Return a decoded value as JSON on one line; what JSON has no form for as text."""
    return json.dumps(value, ensure_ascii=False, default=_in_json).encode("utf-8", "replace")


def _in_json(value: object) -> object:
    match value:
        case bytes() | bytearray():
            return bytes_to_json(bytes(value))
        case datetime() | date() | time_of_day():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that a schema has")


def _from_json(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError) as wrong:
        raise ValueError(f"it is no JSON: {wrong}") from None


def _avro(schema: RegisteredSchema) -> Decoder:
    fastavro: Any = import_module("fastavro")
    named: dict[str, Any] = {}
    try:
        for each in _in_order(schema):
            fastavro.parse_schema(json.loads(each.text), named_schemas=named)
        own = json.loads(schema.text)
        is_record = isinstance(own, dict) and own.get("type") == "record"
        # The library keeps names that a schema refers to with records alone; in others definitions are put in.
        parsed = fastavro.parse_schema(own, named_schemas=named, expand=bool(schema.references) and not is_record)
    except Exception as wrong:  # the library raises many kinds
        raise ValueError(f"it is no Avro schema that can be read: {wrong}") from wrong

    def decode(payload: bytes) -> Any:
        rest = BytesIO(payload)
        try:
            value = fastavro.schemaless_reader(rest, parsed, None)
        except Exception as wrong:
            raise ValueError(f"it does not fit its Avro schema: {str(wrong) or type(wrong).__name__}") from wrong
        if rest.tell() != len(payload):
            raise ValueError("it is longer than its Avro schema says")
        return value

    return decode


def _protobuf(schema: RegisteredSchema) -> Decoder:
    descriptors: Any = import_module("google.protobuf.descriptor_pb2")
    pools: Any = import_module("google.protobuf.descriptor_pool")
    messages: Any = import_module("google.protobuf.message_factory")
    json_format: Any = import_module("google.protobuf.json_format")
    pool = pools.DescriptorPool()
    added: set[str] = set()

    def add(text: str, name: str, references: Mapping[str, RegisteredSchema]) -> Any:
        described = descriptors.FileDescriptorProto()
        described.ParseFromString(base64.b64decode(text, validate=True))
        described.name = name
        for dependency in described.dependency:
            if dependency in added:
                continue
            added.add(dependency)
            if dependency in references:
                found = references[dependency]
                add(found.text, dependency, found.references)
            elif dependency.startswith(_WELL_KNOWN):
                module = import_module(dependency.removesuffix(".proto").replace("/", ".") + "_pb2")
                pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        pool.Add(described)
        return pool.FindFileByName(name)

    try:
        file = add(schema.text, "registered.proto", schema.references)
    except (binascii.Error, ModuleNotFoundError):
        raise ValueError("it is no Protobuf schema in the form that was asked for") from None
    except Exception as wrong:
        raise ValueError(f"it is no Protobuf schema that can be read: {wrong}") from wrong

    def decode(payload: bytes) -> Any:
        indexes, begin = _message_indexes(payload)
        try:
            described = list(file.message_types_by_name.values())[indexes[0]]
            for index in indexes[1:]:
                described = described.nested_types[index]
            message = messages.GetMessageClass(described)()
            message.ParseFromString(payload[begin:])
            return json_format.MessageToDict(message, preserving_proto_field_name=True)
        except IndexError:
            raise ValueError(f"its schema has no message {indexes}") from None
        except Exception as wrong:
            raise ValueError(f"it does not fit its Protobuf schema: {wrong}") from wrong

    return decode


def _in_order(schema: RegisteredSchema) -> Iterator[RegisteredSchema]:
    """Yield what a schema refers to, each after what it refers to itself."""
    for each in schema.references.values():
        yield from _in_order(each)
        yield each


def _message_indexes(payload: bytes) -> tuple[list[int], int]:
    """Return where the message is in its file, from outside in, and where its bytes begin."""
    count, at = _zigzag(payload, 0)
    if not 0 <= count <= _MOST_INDEXES:
        raise ValueError("it does not name its message")
    indexes: list[int] = []
    for _ in range(count):
        index, at = _zigzag(payload, at)
        if index < 0:
            raise ValueError("it does not name its message")
        indexes.append(index)
    return indexes or [0], at


def _zigzag(payload: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(at + 5, len(payload))):
        value |= (payload[place] & 0x7F) << shift
        if payload[place] < 0x80:
            return (value >> 1) ^ -(value & 1), place + 1
        shift += 7
    raise ValueError("it ends before the name of its message does")
