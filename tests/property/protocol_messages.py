"""Strategies for messages: any message of a class, as far as a version carries it.

`ODRADEK_EXAMPLES=20` makes every property of the codecs try twenty times as many examples.
"""

import os
from collections.abc import Callable
from functools import cache

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from odradek.protocol.codec.compiler import layout
from odradek.protocol.codec.fields import (
    BOOLEAN,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UINT16,
    UINT32,
    UUID128,
    Primitive,
)
from odradek.protocol.codec.layout import Slot, StructLayout
from odradek.protocol.codec.message import Message, Struct

EXAMPLES_FACTOR = int(os.environ.get("ODRADEK_EXAMPLES", "1"))


def examples(count: int) -> settings:
    """So many examples of a property in a quick run: few, as it runs for every message, or every version of each."""
    return settings(max_examples=count * EXAMPLES_FACTOR, deadline=None, suppress_health_check=[HealthCheck.too_slow])


PRIMITIVES: dict[Primitive, st.SearchStrategy[object]] = {
    BOOLEAN: st.booleans(),
    INT8: st.integers(-(2**7), 2**7 - 1),
    INT16: st.integers(-(2**15), 2**15 - 1),
    UINT16: st.integers(0, 2**16 - 1),
    INT32: st.integers(-(2**31), 2**31 - 1),
    UINT32: st.integers(0, 2**32 - 1),
    INT64: st.integers(-(2**63), 2**63 - 1),
    FLOAT64: st.floats(allow_nan=False),
    UUID128: st.uuids(),
    STRING: st.text(max_size=8) | st.sampled_from(["x" * 126, "y" * 127, "é" * 70]),
    BYTES: st.binary(max_size=8) | st.sampled_from([bytes(126), bytes(127)]),
    RECORDS: st.binary(max_size=80) | st.just(bytes(300)),
}

ValuesOf = Callable[[Slot, Primitive], st.SearchStrategy[object]]


def any_value(slot: Slot, kind: Primitive) -> st.SearchStrategy[object]:
    """Any value of a primitive type."""
    return PRIMITIVES[kind]


@cache  # making and checking a strategy takes as long as drawing from it
def messages(cls: type[Message], version: int, values_of: ValuesOf = any_value) -> st.SearchStrategy[Message]:
    """Messages of a class with any values in the fields of a version, and the defaults in all others."""
    return _structs(layout(cls, version), values_of)  # type: ignore[return-value]  # the struct of a message's layout


def _structs(struct: StructLayout, values_of: ValuesOf) -> st.SearchStrategy[Struct]:
    slots = (*struct.slots, *struct.tagged)
    return st.builds(struct.type, **{slot.name: _values(slot, values_of) for slot in slots})


def _values(slot: Slot, values_of: ValuesOf) -> st.SearchStrategy[object]:
    values: st.SearchStrategy[object]
    if isinstance(slot.kind, StructLayout):
        values = _structs(slot.kind, values_of)
    else:
        values = values_of(slot, slot.kind)
    if slot.is_array:
        values = st.lists(values, max_size=3)
    return st.none() | values if slot.nullable else values
