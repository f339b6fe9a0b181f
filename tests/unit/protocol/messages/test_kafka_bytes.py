"""Messages are, byte for byte, what Apache Kafka 4.3 writes.

`kafka_bytes.tsv` was written by Kafka's own message classes. Every field that a version knows was given a value that
tells it from the others: fields were numbered in the order of Kafka's message definitions, lists have two elements,
nothing is null, and the value follows from the number (`value_of`).
"""

import csv
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from protocol.codec import Message, decode, encode
from protocol.codec.compiler import layout
from protocol.codec.fields import BOOLEAN, BYTES, FLOAT64, INT8, RECORDS, STRING, UUID128, Primitive
from protocol.codec.layout import Layout, Slot
from protocol.codec.message import Struct
from tests.unit.protocol.declared import declared_messages, version_id


def _rows() -> list[tuple[type[Message], int, bytes]]:
    with Path(__file__).with_name("kafka_bytes.tsv").open(newline="") as file:
        return [
            (declared_messages()[row["message"]], int(row["version"]), bytes.fromhex(row["bytes"]))
            for row in csv.DictReader(file, delimiter="\t")
        ]


ROWS = _rows()


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


def filled(struct: Layout, numbers: Iterator[int]) -> Struct:
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


def _filled_element(kind: Primitive | Layout, numbers: Iterator[int]) -> object:
    return filled(kind, numbers) if isinstance(kind, Layout) else value_of(kind, next(numbers))


def _row_id(value: object) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else version_id(value)


@pytest.mark.parametrize(("cls", "version", "expected"), ROWS, ids=_row_id)
def test_bytes_are_those_of_kafka(cls: type[Message], version: int, expected: bytes) -> None:
    """Encoding gives Kafka's bytes, and decoding Kafka's bytes gives the message."""
    message = filled(layout(cls, version), count(1))
    assert encode(message, version).hex() == expected.hex()  # type: ignore[arg-type]  # the struct of a message's layout
    assert decode(cls, expected, version) == (message, len(expected))


def test_every_declared_message_is_in_the_table() -> None:
    """Only versions that Kafka 4 removed are not compared."""
    assert {cls for cls, _, _ in ROWS} == set(declared_messages().values())
