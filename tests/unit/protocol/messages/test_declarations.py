"""The declarations agree with Kafka: field by field, version by version, in names, types, order, nulls and tags."""

from typing import TypeAlias

import pytest

from odradek.protocol.codec.compiler import layout
from odradek.protocol.codec.fields import BYTES, RECORDS, STRING, Primitive
from odradek.protocol.codec.layout import Slot, StructLayout
from odradek.protocol.codec.message import Message
from odradek.protocol.registry import API
from tests.unit.protocol.declared import MESSAGE_VERSIONS, declared_messages, kafka_messages, version_id, versions_of

Notation: TypeAlias = str | list[object] | dict[str, object]


def notation_of_struct(struct: StructLayout) -> list[object]:
    """A struct in the notation of Kafka's table."""
    fields: list[object] = [[slot.name, notation_of(slot, struct.flexible)] for slot in struct.slots]
    if struct.tagged:
        tagged = {str(slot.field.tag): [slot.name, notation_of(slot, True)] for slot in struct.tagged}
        fields.append(["_tags", {"t": "tagged", "fields": tagged}])
    elif struct.flexible:
        fields.append(["_tags"])
    return fields


def notation_of(slot: Slot, compact: bool) -> Notation:
    """A field's type in the notation of Kafka's table."""
    if slot.is_array:
        kind = f"{'nullable ' if slot.nullable else ''}{'compact ' if compact else ''}array"
        if isinstance(slot.kind, StructLayout):
            return {"t": kind, "of": notation_of_struct(slot.kind)}
        return {"t": kind, "of": notation_of_primitive(slot.kind, False, compact)}
    if isinstance(slot.kind, StructLayout):
        fields = notation_of_struct(slot.kind)
        return {"t": "nullable struct", "of": fields} if slot.nullable else fields
    return notation_of_primitive(slot.kind, slot.nullable, compact)


def notation_of_primitive(kind: Primitive, nullable: bool, compact: bool) -> str:
    """A primitive type in the notation of Kafka's table."""
    if kind in (STRING, BYTES, RECORDS):
        return f"{'compact_' if compact else ''}{'nullable_' if nullable else ''}{kind.name}"
    return kind.name


def normalised(fields: object) -> object:
    """Kafka's table with the one type rewritten that Kafka itself renamed.

    Until 3.9 the type "records" could be null; 4.0 renamed that one to "nullable_records".
    """
    if isinstance(fields, list):
        if fields == ["records", "records"]:
            return ["records", "nullable_records"]
        return [normalised(field) for field in fields]
    if isinstance(fields, dict):
        return {key: normalised(value) for key, value in fields.items()}
    return fields


LEGACY_NULLABLE_RECORDS = {("FetchResponse", version) for version in range(4)} | {
    ("ProduceRequest", version) for version in range(3)
}


@pytest.mark.parametrize("cls", declared_messages().values(), ids=version_id)
def test_fields_are_those_of_kafka(cls: type[Message]) -> None:
    """Names, types, nulls, tags, order and compactness are Kafka's, at every version."""
    for version in versions_of(cls):
        expected: object = kafka_messages()[cls.__name__][version]
        if (cls.__name__, version) in LEGACY_NULLABLE_RECORDS:
            expected = normalised(expected)
        assert notation_of_struct(layout(cls, version)) == expected, f"version {version}"


@pytest.mark.parametrize("name", sorted(declared_messages()))
def test_all_versions_are_declared(name: str) -> None:
    """Every version of a message that Kafka's table has is declared, and no other."""
    assert list(versions_of(declared_messages()[name])) == sorted(kafka_messages()[name])


def test_every_field_exists_in_some_version() -> None:
    """No declared field is left out of all versions, as one with a mistyped range would be."""
    seen: set[tuple[type[object], str]] = set()
    declared: set[tuple[type[object], str]] = set()

    def walk(struct: StructLayout) -> None:
        declared.update((struct.type, field.name) for field in struct.type.SCHEMA.fields)
        for slot in (*struct.slots, *struct.tagged):
            seen.add((struct.type, slot.name))
            if isinstance(slot.kind, StructLayout):
                walk(slot.kind)

    for cls, version in MESSAGE_VERSIONS:
        walk(layout(cls, version))
    assert declared == seen


def test_messages_of_an_api_carry_its_key_and_first_flexible_version() -> None:
    """The registry's table and the declarations say the same of every API."""
    for api in API.values():
        for cls in (api.request, api.response):
            assert cls.SCHEMA.api_key == api.key
            assert cls.SCHEMA.versions.first <= api.served.first
            assert api.served.last <= cls.SCHEMA.versions.last
            for version in versions_of(cls):
                assert (version in cls.SCHEMA.flexible) == api.is_flexible(version)
