"""The codec agrees with kio, an independent implementation of Kafka's protocol, in both directions.

kio speaks only of versions that Kafka 4 serves, and has no records of internal logs. It must never be given bytes that
are not valid: it aborts the process on a count that is too high.
"""

import dataclasses
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import LoadableEntityType, schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.codec.compiler import layout
from odradek.protocol.codec.fields import INT16, INT64, Primitive
from odradek.protocol.codec.layout import Slot, StructLayout
from odradek.protocol.codec.message import Struct
from odradek.protocol.uuids import ZERO_UUID
from tests.property.protocol_messages import any_value, examples, messages
from tests.unit.protocol.declared import MESSAGE_VERSIONS, version_id

KioClass = Any
"""kio's classes are not typed for a use that goes over all of them."""

KINDS: dict[str | None, LoadableEntityType] = {
    "Request": EntityType.request,
    "Response": EntityType.response,
    None: EntityType.data,
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ERROR_CODES = st.sampled_from([code.value for code in ErrorCode])
ALWAYS_TIMES = re.compile(r"transaction_start_time_ms|(issue|expiry|max)_timestamp(_ms)?")
"""Fields that kio reads as a time whatever is in them; in others -1 stands for none."""
TIMES = st.integers(0, 2**37).map(lambda seconds: seconds * 1000)


def kio_name(cls: type[Message]) -> tuple[str, LoadableEntityType]:
    """kio's name of a message, and what kind of message it is."""
    parts = re.fullmatch(r"(\w+?)(Request|Response)?", cls.__name__)
    assert parts is not None
    return re.sub(r"(?<!^)(?=[A-Z])", "_", parts[1]).lower(), KINDS[parts[2]]


def kio_has(cls: type[Message], version: int) -> bool:
    """Whether kio has the message at this version; said by its index, without loading hundreds of modules."""
    name, kind = kio_name(cls)
    return kind in schema_name_map.get(name, {}).get(version, {})


def kio_class(cls: type[Message], version: int) -> KioClass:
    """kio's class of the same message at the same version."""
    name, kind = kio_name(cls)
    return load_entity_schema(name, version, kind)


SHARED = [(cls, version) for cls, version in MESSAGE_VERSIONS if kio_has(cls, version)]
shared_versions = pytest.mark.parametrize(("cls", "version"), SHARED, ids=version_id)


def kio_values(slot: Slot, kind: Primitive) -> st.SearchStrategy[object]:
    """Values that kio's Python types can hold: known error codes, points of time that a float of seconds holds."""
    if kind is INT16 and "error_code" in slot.name:
        return ERROR_CODES
    if kind is INT64:
        return TIMES if ALWAYS_TIMES.fullmatch(slot.name) else st.just(-1) | TIMES
    return any_value(slot, kind)


def to_kio(value: Struct, struct: StructLayout, kio: KioClass) -> object:
    """Our struct as kio's: fields stand in the same order, some values have other types."""
    slots = {slot.name: slot for slot in (*struct.slots, *struct.tagged)}
    ordered = [slots[field.name] for field in struct.type.SCHEMA.fields if field.name in slots]
    fields = dataclasses.fields(kio)
    return kio(
        **{
            field.name: kio_value(getattr(value, slot.name), slot, field)
            for slot, field in zip(ordered, fields, strict=True)
        }
    )


def kio_value(value: Any, slot: Slot, field: dataclasses.Field[Any]) -> object:
    """One value of ours as kio's."""
    if value is None:
        return None
    if isinstance(slot.kind, StructLayout):
        element = nested_class(field.type)
        if slot.is_array:
            return tuple(to_kio(item, slot.kind, element) for item in value)
        return to_kio(value, slot.kind, element)
    kind = field.metadata["kafka_type"]
    return tuple(kio_primitive(item, kind) for item in value) if slot.is_array else kio_primitive(value, kind)


def kio_primitive(value: Any, kind: str) -> object:
    """One primitive value of ours as kio's."""
    match kind:
        case "error_code":
            return ErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=value)
        case "datetime_i64":
            return None if value == -1 else EPOCH + timedelta(milliseconds=value)
        case "uuid":
            return None if value == ZERO_UUID else UUID(int=value.int)
    return value


def nested_class(annotation: object) -> KioClass:
    """The dataclass inside an annotation."""
    if dataclasses.is_dataclass(annotation):
        return annotation
    return next(filter(None, map(nested_class, get_args(annotation))), None)


def kio_encode(value: Any, kio: KioClass) -> bytes:
    """kio's bytes of a value."""
    out = io.BytesIO()
    entity_writer(kio)(out, value)
    return out.getvalue()


@shared_versions
@given(data=st.data())
@examples(3)
def test_both_codecs_agree(cls: type[Message], version: int, data: st.DataObject) -> None:
    """Our bytes are kio's, decode in kio to the same values, and decode here to the same message."""
    message = data.draw(messages(cls, version, kio_values))
    kio = kio_class(cls, version)
    theirs = to_kio(message, layout(cls, version), kio)
    ours = encode(message, version)
    assert entity_reader(kio)(ours, 0) == (theirs, len(ours))
    frame = kio_encode(theirs, kio)
    assert decode(cls, frame, version) == (message, len(frame))
    assert frame == ours


@shared_versions
def test_defaults_agree(cls: type[Message], version: int) -> None:
    """Where kio knows Kafka's default of a field, ours is the same."""
    compare_defaults(cls(), layout(cls, version), kio_class(cls, version))


def compare_defaults(value: Struct, struct: StructLayout, kio: KioClass) -> None:
    """Compare the defaults of a struct, and of the structs inside."""
    slots = {slot.name: slot for slot in (*struct.slots, *struct.tagged)}
    ordered = [slots[field.name] for field in struct.type.SCHEMA.fields if field.name in slots]
    for slot, field in zip(ordered, dataclasses.fields(kio), strict=True):
        if field.default is not dataclasses.MISSING:
            assert kio_value(getattr(value, slot.name), slot, field) == field.default, slot.name
        if isinstance(slot.kind, StructLayout):
            compare_defaults(slot.kind.type(), slot.kind, nested_class(field.type))


def test_kio_knows_nearly_all_messages() -> None:
    """The comparison is not empty: it leaves out the records of internal logs, and versions that Kafka 4 removed."""
    left_out = {cls for cls, _ in MESSAGE_VERSIONS} - {cls for cls, _ in SHARED}
    assert {cls.__module__ for cls in left_out} == {
        "odradek.protocol.messages.metadata_records",
        "odradek.protocol.messages.group_records",
        "odradek.protocol.messages.transaction_records",
    }
    assert len(SHARED) > 350
