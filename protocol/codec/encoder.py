"""Generates the encode function of a message at a version.

The function appends to a bytearray, one precompiled `struct` call per run of neighbouring fixed-size fields. Fields
that the version does not know are left out, whatever they hold: old clients are answered with the same object as new
ones.

What a generated function looks like (MetadataResponseBroker in version 9)::

    for o1 in v:
     out += s0(o1.node_id)
     b = o1.host.encode(); n = len(b)
     out += byte[n + 1] if n < 127 else string_length(n)
     out += b
     ...
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import cast

from odradek.protocol.codec import runtime
from odradek.protocol.codec.fields import STRING, UUID128, Primitive
from odradek.protocol.codec.layout import Slot, StructLayout
from odradek.protocol.codec.source import FunctionSource

Encoder = Callable[[bytearray, object], None]


def compile_encoder(layout: StructLayout, title: str) -> Encoder:
    """Generate the function ``encode(out, message)``."""
    return cast("Encoder", encoder_source(layout).build("encode", title))


def encoder_source(layout: StructLayout) -> FunctionSource:
    """Generate the source of the encode function."""
    builder = _EncoderBuilder(layout)
    with builder.source.block("def encode(out, o0):"):
        builder.message()
        builder.source.line("return None")
    return builder.source


class _EncoderBuilder:
    """Walks a layout and appends the lines that write it; `depth` numbers the variables of nested structs."""

    def __init__(self, layout: StructLayout) -> None:
        self.layout = layout
        self.compact = layout.flexible
        self.source = FunctionSource()
        self.out = "out"
        """The buffer that is written now: the message's, or that of a tagged field's value."""
        self._codes = ""
        self._values: list[str] = []
        self.source.provide("byte", runtime.ONE_BYTE)
        for helper in (runtime.uvarint, runtime.string_length, runtime.put_tag):
            self.source.provide(helper.__name__, helper)

    def message(self) -> None:
        """Write the whole message."""
        self.struct(self.layout, 0)
        self.flush()

    # -- runs of fixed-size fields

    def fixed(self, code: str, value: str = "") -> None:
        """Note a field of fixed size (or "x", a zero byte): it is written together with its neighbours."""
        self._codes += code if code != "16s" else "U"
        if value:
            self._values.append(value)

    def flush(self) -> None:
        """Write the fields noted so far."""
        if self._values:
            run = struct.Struct(">" + self._codes.replace("U", "16s"))
            packer = self.source.constant("s", run.format, run.pack)
            self.source.line(f"{self.out} += {packer}({', '.join(self._values)})")
        elif self._codes:
            self.source.line(f"{self.out} += {bytes(len(self._codes))!r}")
        self._codes = ""
        self._values = []

    # -- structs

    def struct(self, layout: StructLayout, depth: int) -> None:
        """Write the struct in the variable of its depth."""
        for slot in layout.slots:
            self.slot(slot, f"o{depth}.{slot.name}", depth)
        if layout.tagged:
            self.tags(layout, depth)
        elif layout.flexible:
            self.fixed("x")

    def tags(self, layout: StructLayout, depth: int) -> None:
        """Write the tagged fields that differ from their defaults."""
        self.flush()
        outer = self.out
        count, tags, value = f"count{depth}", f"tags{depth}", f"value{depth}"
        self.source.line(f"{count} = 0; {tags} = bytearray()")
        for slot in layout.tagged:
            target = f"o{depth}.{slot.name}"
            with self.source.block(f"if {self.differs(slot, target)}:"):
                self.source.line(f"{value} = bytearray()")
                self.out = value
                self.slot(slot, target, depth)
                self.flush()
                self.out = outer
                self.source.line(f"{count} += 1; put_tag({tags}, {slot.field.tag}, {value})")
        self.source.line(f"{outer} += byte[{count}]; {outer} += {tags}")

    def differs(self, slot: Slot, target: str) -> str:
        """The condition under which a tagged field is written."""
        default = slot.field.default
        if default is list:
            return f"{target} or {target} is None" if slot.nullable else target
        if default is None:
            return f"{target} is not None"
        if isinstance(default, type):
            return f"{target} != {self.source.constant('d', default, default())}"
        return f"{target} != {self.source.constant('d', default, default)}"

    # -- fields

    def slot(self, slot: Slot, target: str, depth: int) -> None:
        """Write one field."""
        if slot.is_array:
            self.array(slot, target, depth)
        elif isinstance(slot.kind, StructLayout):
            self.nested(slot, slot.kind, target, depth + 1)
        elif slot.kind is UUID128:
            self.fixed("16s", f"{target}.bytes")
        elif slot.kind.code:
            self.fixed(slot.kind.code, target)
        else:
            self.sized(slot.kind, slot.nullable, target)

    def nested(self, slot: Slot, layout: StructLayout, target: str, depth: int) -> None:
        """Write a struct inside a struct; where it can be null a byte says so (in a tag another one)."""
        self.flush()
        self.source.line(f"o{depth} = {target}")
        if not slot.nullable:
            self.struct(layout, depth)
            self.flush()
            return
        absent = b"\xff" if slot.field.tag is None else b"\0"
        self.source.line(f"if o{depth} is None: {self.out} += {absent!r}")
        with self.source.block("else:"):
            self.source.line(rf"{self.out} += b'\x01'")
            self.struct(layout, depth)
            self.flush()

    def sized(self, kind: Primitive, nullable: bool, target: str) -> None:
        """Write a value that its length precedes."""
        text = kind is STRING
        encoded = f"{target}.encode()" if text else target
        if nullable:
            self.source.line(f"b = {target}")
            self.source.line("if b is None: b = b''; n = -1")
            self.source.line(f"else: {'b = b.encode(); ' if text else ''}n = len(b)")
        else:
            self.source.line(f"b = {encoded}; n = len(b)")
        if self.compact:
            self.flush()
            long = "string_length(n)" if text else "uvarint(n + 1)"
            self.source.line(f"{self.out} += byte[n + 1] if n < 127 else {long}")
        else:
            self.fixed("h" if text else "i", "n")
            self.flush()
        self.source.line(f"{self.out} += b")

    # -- arrays

    def array(self, slot: Slot, target: str, depth: int) -> None:
        """Write a list."""
        values = f"a{depth}"
        if slot.nullable:
            self.source.line(f"{values} = {target}")
            self.source.line(f"if {values} is None: {values} = (); n = -1")
            self.source.line(f"else: n = len({values})")
        else:
            self.source.line(f"{values} = {target}; n = len({values})")
        if self.compact:
            self.flush()
            self.source.line(f"{self.out} += byte[n + 1] if n < 127 else uvarint(n + 1)")
        else:
            self.fixed("i", "n")
            self.flush()
        self.elements(slot, values, depth)

    def elements(self, slot: Slot, values: str, depth: int) -> None:
        """Write the elements of a list of `n`."""
        kind = slot.kind
        if isinstance(kind, StructLayout):
            with self.source.block(f"for o{depth + 1} in {values}:"):
                self.struct(kind, depth + 1)
                self.flush()
                self.source.line("pass")
        elif kind is UUID128:
            self.source.line(f"for v in {values}: {self.out} += v.bytes")
        elif kind.code:
            packers = self.source.constant("p", kind.code, runtime.ARRAY_PACKERS[kind.code])
            self.source.line(f"if n > 0: {self.out} += {packers}[n](*{values})")
        else:
            with self.source.block(f"for v in {values}:"):
                self.sized(kind, False, "v")
