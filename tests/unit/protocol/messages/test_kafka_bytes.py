"""Messages are, byte for byte, what Apache Kafka 4.3 writes.

`kafka_bytes.tsv` was written by Kafka's own message classes (`KafkaBytes.java` made it), each message twice in every
version, those too that are not declared here yet:

- "filled": every field that the version knows has a value that tells it from the others. Fields are numbered in the
  order of Kafka's message definitions, lists have two elements, and the value follows from the number (`value_of`).
- "null": what can be null is null, all else has its default, and lists of structs have one element.
"""

import csv
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.codec.compiler import layout
from odradek.protocol.codec.fields import BOOLEAN, BYTES, FLOAT64, INT8, RECORDS, STRING, UUID128, Primitive
from odradek.protocol.codec.layout import Slot, StructLayout
from odradek.protocol.codec.message import Struct
from odradek.protocol.messages.fetch_snapshot import FetchSnapshotResponse
from tests.unit.protocol.declared import declared_messages, version_id


def _rows(values: str) -> dict[type[Message], dict[int, bytes]]:
    found: dict[type[Message], dict[int, bytes]] = defaultdict(dict)
    with Path(__file__).with_name("kafka_bytes.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["values"] == values and row["message"] in declared_messages():
                found[declared_messages()[row["message"]]][int(row["version"])] = bytes.fromhex(row["bytes"])
    return found


FILLED, NULL = _rows("filled"), _rows("null")


def value_of(kind: Primitive, number: int) -> object:
    """The value of the field with that number."""
    values = {
        BOOLEAN: number % 2 == 1,
        INT8: number % 100 + 1,
        FLOAT64: number + 0.5,
        STRING: f"s{number}",
        BYTES: bytes([number & 0x7F]),
        RECORDS: f"s{number}".encode(),
        UUID128: UUID(int=number + 100),
    }
    return values.get(kind, number)


def filled(struct: StructLayout, numbers: Iterator[int]) -> Struct:
    """A struct with the values of `kafka_bytes.tsv`."""
    slots = {slot.name: slot for slot in (*struct.slots, *struct.tagged)}
    values = {
        field.name: _filled_field(slots[field.name], numbers)
        for field in struct.type.SCHEMA.fields
        if field.name in slots
    }
    return struct.type(**values)


def _filled_field(slot: Slot, numbers: Iterator[int]) -> object:
    if slot.is_array:
        return [_filled_element(slot.kind, numbers) for _ in range(2)]
    return _filled_element(slot.kind, numbers)


def _filled_element(kind: Primitive | StructLayout, numbers: Iterator[int]) -> object:
    return filled(kind, numbers) if isinstance(kind, StructLayout) else value_of(kind, next(numbers))


def nulled(struct: StructLayout) -> Struct:
    """A struct with null wherever it may be."""
    values: dict[str, object] = {}
    for slot in (*struct.slots, *struct.tagged):
        if slot.nullable:
            values[slot.name] = None
        elif isinstance(slot.kind, StructLayout):
            values[slot.name] = [nulled(slot.kind)] if slot.is_array else nulled(slot.kind)
    return struct.type(**values)


def compare(message: Struct, version: int, expected: bytes) -> None:
    """Encoding gives Kafka's bytes, and decoding Kafka's bytes gives the message."""
    assert isinstance(message, Message)
    assert encode(message, version).hex() == expected.hex(), f"version {version}"
    assert decode(type(message), expected, version) == (message, len(expected)), f"version {version}"


@pytest.mark.parametrize("cls", FILLED, ids=version_id)
def test_filled_messages_have_the_bytes_of_kafka(cls: type[Message]) -> None:
    """Every field is where Kafka puts it, in Kafka's form, at every version."""
    for version, expected in FILLED[cls].items():
        compare(filled(layout(cls, version), count(1)), version, expected)


@pytest.mark.parametrize("cls", NULL, ids=version_id)
def test_nulls_have_the_bytes_of_kafka(cls: type[Message]) -> None:
    """Every null has Kafka's form, tagged or not, and every other field Kafka's default, at every version."""
    for version, expected in NULL[cls].items():
        compare(nulled(layout(cls, version)), version, expected)


def test_every_declared_message_is_in_the_table() -> None:
    """Only versions that Kafka 4 removed are not compared, and the one message that it cannot write with defaults."""
    assert set(FILLED) == set(declared_messages().values())
    without_null = {(cls, version) for cls in FILLED for version in FILLED[cls].keys() - NULL[cls].keys()}
    assert without_null == {(FetchSnapshotResponse, 0), (FetchSnapshotResponse, 1)}
