"""Values by their schemas, with libraries that are not ours to write them."""

import base64
import contextlib
import datetime
import json
from io import BytesIO
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given
from hypothesis import strategies as st

from odradek.records.schemas import (
    RegisteredSchema,
    SchemaFrame,
    SchemaKind,
    decoder_of,
    json_text,
    schema_frame,
)

ADDRESS = {"type": "record", "name": "Address", "namespace": "a", "fields": [{"name": "city", "type": "string"}]}
USER = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "photo", "type": ["null", "bytes"]},
        {"name": "since", "type": {"type": "int", "logicalType": "date"}},
        {"name": "home", "type": "a.Address"},
    ],
}


def _avro_bytes(schemas: list[Any], value: object) -> bytes:
    named: dict[str, Any] = {}
    parsed = [fastavro.parse_schema(each, named_schemas=named) for each in schemas][-1]
    out = BytesIO()
    fastavro.schemaless_writer(out, parsed, value)
    return out.getvalue()


def _file(name: str, dependency: str = "") -> descriptor_pb2.FileDescriptorProto:
    """A file with a message Outer, in which there is a message Inner, each with a number and a text."""
    file = descriptor_pb2.FileDescriptorProto(name=name, package=name.partition(".")[0], syntax="proto3")
    if dependency:
        file.dependency.append(dependency)
    outer = file.message_type.add(name="Outer")
    for message in (outer, outer.nested_type.add(name="Inner")):
        field = descriptor_pb2.FieldDescriptorProto
        message.field.add(name="item_count", number=1, type=field.TYPE_INT32, label=field.LABEL_OPTIONAL)
        message.field.add(name="text", number=2, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    return file


def _serialized(file: descriptor_pb2.FileDescriptorProto) -> str:
    return base64.b64encode(file.SerializeToString()).decode()


def test_bytes_that_name_a_schema() -> None:
    """A zero and four bytes; anything else names none."""
    assert schema_frame(b"\x00\x00\x00\x01\x02rest") == SchemaFrame(258, b"rest")
    for data in (None, b"", b"\x00\x00\x00\x01", b"\x01\x00\x00\x00\x01", b"text"):
        assert schema_frame(data) is None


def test_avro_with_a_reference() -> None:
    """A schema may use names of another one; bytes and dates have a form in JSON."""
    schema = RegisteredSchema(
        SchemaKind.AVRO, json.dumps(USER), {"a.Address": RegisteredSchema(SchemaKind.AVRO, json.dumps(ADDRESS))}
    )
    value = {"name": "Anna", "photo": b"\xff", "since": datetime.date(2026, 11, 21), "home": {"city": "Graz"}}
    found = decoder_of(schema)(_avro_bytes([ADDRESS, USER], value))
    assert json.loads(json_text(found)) == {
        "name": "Anna",
        "photo": {"base64": "/w=="},
        "since": "2026-11-21",
        "home": {"city": "Graz"},
    }


@pytest.mark.parametrize("payload", [b"", b"\x02", b"\x02ab", b"\xff" * 20])
def test_what_does_not_fit_an_avro_schema(payload: bytes) -> None:
    """It is an error, not half a value: too short, too long, or nonsense."""
    decode = decoder_of(RegisteredSchema(SchemaKind.AVRO, '"string"'))
    with pytest.raises(ValueError, match="Avro schema"):
        decode(payload)


def test_json_is_what_it_says() -> None:
    """What follows the id is the JSON itself."""
    decode = decoder_of(RegisteredSchema(SchemaKind.JSON, "{}"))
    assert decode(b'{"a": [1, null]}') == {"a": [1, None]}
    with pytest.raises(ValueError, match="it is no JSON"):
        decode(b"{")


def test_protobuf_by_the_number_of_its_message() -> None:
    """The first one in short form, or one within it; names are those of the schema."""
    decode = decoder_of(RegisteredSchema(SchemaKind.PROTOBUF, _serialized(_file("orders.proto"))))
    message = b"\x08\x2a\x12\x02ab"
    expected = {"item_count": 42, "text": "ab"}
    assert decode(b"\x00" + message) == expected
    assert decode(b"\x02\x00" + message) == expected
    assert decode(b"\x04\x00\x00" + message) == expected
    for payload in (b"", b"\x02\x06" + message, b"\x01" + message, b"\x80\x80\x80\x80\x80\x80", b"\x00\x12\x09a"):
        with pytest.raises(ValueError, match=r"message|Protobuf schema"):
            decode(payload)


def test_protobuf_with_imports() -> None:
    """Other files come from the registry, Google's own from the library."""
    other = RegisteredSchema(SchemaKind.PROTOBUF, _serialized(_file("other.proto", "google/protobuf/timestamp.proto")))
    file = _serialized(_file("orders.proto", "other.proto"))
    decode = decoder_of(RegisteredSchema(SchemaKind.PROTOBUF, file, {"other.proto": other}))
    assert decode(b"\x00\x08\x01") == {"item_count": 1}


@pytest.mark.parametrize(
    ("kind", "text"), [(SchemaKind.AVRO, "{"), (SchemaKind.AVRO, '"x"'), (SchemaKind.PROTOBUF, "message A {}")]
)
def test_schemas_that_cannot_be_read(kind: SchemaKind, text: str) -> None:
    """The error says so before any value is looked at."""
    with pytest.raises(ValueError, match=r"it is no (Avro|Protobuf) schema"):
        decoder_of(RegisteredSchema(kind, text))


@given(payload=st.binary(max_size=60))
def test_hostile_values_are_errors_and_nothing_else(payload: bytes) -> None:
    """Whatever follows the id, there is a value or a ValueError."""
    for schema in (
        RegisteredSchema(SchemaKind.AVRO, json.dumps({"type": "array", "items": "string"})),
        RegisteredSchema(SchemaKind.PROTOBUF, _serialized(_file("orders.proto"))),
        RegisteredSchema(SchemaKind.JSON, "{}"),
    ):
        with contextlib.suppress(ValueError):
            json_text(decoder_of(schema)(payload))
