"""The layout of one message at one version: which fields, in which order, in which encoding.

Both generators and the tests that compare the declarations with Kafka's own tables read it; only this module interprets
version ranges.
"""

from __future__ import annotations

from typing import NamedTuple

from odradek.protocol.codec.fields import BYTES, RECORDS, STRING, Field, Primitive, parse_versions
from odradek.protocol.codec.message import Struct


class Slot(NamedTuple):
    """One field of a struct at a version."""

    name: str
    kind: Primitive | StructLayout
    """The wire type; of the elements where it is an array."""
    is_array: bool
    nullable: bool
    field: Field

    @property
    def primitive(self) -> Primitive | None:
        """The primitive type, None for a struct."""
        return self.kind if isinstance(self.kind, Primitive) else None


class StructLayout(NamedTuple):
    """One struct at a version."""

    type: type[Struct]
    flexible: bool
    slots: list[Slot]
    """The fields on the wire, in order."""
    tagged: list[Slot]
    """The tagged fields of this version, by rising tag."""
    absent: list[Field]
    """Fields that this version does not know."""

    @property
    def minimum_size(self) -> int:
        """Bytes of the shortest value; what a count of them is bounded by."""
        return sum(map(self._minimum_of, self.slots)) + self.flexible

    def _minimum_of(self, slot: Slot) -> int:
        if slot.is_array:
            return 1 if self.flexible else 4
        if isinstance(slot.kind, StructLayout):
            return 1 if slot.nullable else slot.kind.minimum_size
        return minimum_size(slot.kind, self.flexible)

    @property
    def has_records(self) -> bool:
        """True where record batches are somewhere inside, which are decoded as views."""
        return any(
            slot.kind is RECORDS if slot.primitive else isinstance(slot.kind, StructLayout) and slot.kind.has_records
            for slot in (*self.slots, *self.tagged)
        )


def minimum_size(kind: Primitive, compact: bool) -> int:
    """Bytes of the shortest value of a primitive type."""
    return 1 if compact and kind in (STRING, BYTES, RECORDS) else kind.size


def layout_of(type_: type[Struct], version: int, flexible: bool) -> StructLayout:
    """Resolve a declaration at a version."""
    slots, tagged, absent = [], [], []
    for field in type_.SCHEMA.fields:
        if version not in parse_versions(field.versions):
            absent.append(field)
            continue
        kind = field.type if isinstance(field.type, Primitive) else layout_of(_struct(field.type), version, flexible)
        slot = Slot(field.name, kind, field.is_array, version in parse_versions(field.nullable), field)
        if field.tag is None:
            slots.append(slot)
        else:
            tagged.append(slot)
    tagged.sort(key=lambda slot: slot.field.tag or 0)
    return StructLayout(type_, flexible, slots, tagged, absent)


def _struct(type_: type[object]) -> type[Struct]:
    if not issubclass(type_, Struct):
        raise TypeError(f"{type_.__name__} is no Struct, so it cannot be the type of a field")
    return type_
