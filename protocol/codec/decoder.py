"""Generates the decode function of a message at a version.

The function is one piece of straight code with a loop per array: nested structs are decoded in place. Neighbouring
fields of fixed size, and the length or count that follows them, are read by one precompiled `struct` call.

How it stays in bounds: fixed reads and single bytes raise by themselves at the end of the data (`struct.error`,
`IndexError`); a count is compared with the bytes that remain, and with what is left of the elements that one message
may have, before a list is begun; a slice that reaches beyond the end moves `pos` beyond it, so that the next read, or
the last line, refuses. The caller turns these errors into `DecodeError`.

What a generated function looks like (MetadataRequest, version 4)::

    def decode(data, pos):
     base = pos
     data = bytes(data[pos:])
     pos = 0
     end = len(data)
     left = 1000000
     o0 = new(C0)
     o0.include_cluster_authorized_operations = False
     o0.include_topic_authorized_operations = False
     n, = s1(data, pos); pos += 4
     if n < 0: o0.topics = None
     else:
      if n * 2 > end - pos: refuse_count('topics', n, end - pos)
      left -= n
      if left < 0: refuse_elements('topics')
      o0.topics = a0 = []; add0 = a0.append
      for _ in range(n):
       o1 = new(C2)
       o1.topic_id = d3
       n, = s4(data, pos); pos += 2
       if n < 0: refuse_null('name', base + pos)
       p = pos + n; o1.name = data[pos:p].decode(); pos = p
       add0(o1)
     o0.allow_auto_topic_creation, = s5(data, pos); pos += 1
     if pos > end: refuse_end(base + pos, base + end)
     return o0, base + pos
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import cast

from odradek.protocol.codec import runtime
from odradek.protocol.codec.fields import BYTES, STRING, UUID128, Field, Primitive
from odradek.protocol.codec.layout import Slot, StructLayout, minimum_size
from odradek.protocol.codec.source import FunctionSource

Decoder = Callable[[bytes | memoryview, int], tuple[object, int]]


def compile_decoder(layout: StructLayout, title: str) -> Decoder:
    """Generate the function ``decode(data, pos) -> (message, next position)``."""
    return cast("Decoder", decoder_source(layout).build("decode", title))


def decoder_source(layout: StructLayout) -> FunctionSource:
    """Generate the source of the decode function."""
    builder = _DecoderBuilder(layout)
    source = builder.source
    with source.block("def decode(data, pos):"):
        if layout.has_records:
            source.line("base = 0")
        else:
            # Text is decoded from bytes twice as fast as from a view, and nothing of such a message is large.
            source.line("base = pos")
            source.line("data = bytes(data[pos:])")
            source.line("pos = 0")
        source.line("end = len(data)")
        source.line(f"left = {runtime.MAX_ELEMENTS}")
        builder.message()
        source.line("if pos > end: refuse_end(base + pos, base + end)")
        source.line("return o0, base + pos")
    return source


class _DecoderBuilder:
    """Walks a layout and appends the lines that read it; `depth` numbers the variables of nested structs."""

    def __init__(self, layout: StructLayout) -> None:
        self.layout = layout
        self.compact = layout.flexible
        self.views = layout.has_records
        self.source = FunctionSource()
        self.provide = self.source.provide
        self._codes = ""
        self._targets: list[str] = []
        self._after: list[str] = []
        self.provide("new", object.__new__)
        for helper in (
            runtime.read_uvarint,
            runtime.read_string_length,
            runtime.read_tag,
            runtime.skip_tags,
            runtime.to_uuid,
            runtime.refuse_null,
            runtime.refuse_count,
            runtime.refuse_elements,
            runtime.refuse_end,
            runtime.refuse_tag,
        ):
            self.provide(helper.__name__, helper)

    def message(self) -> None:
        """Read the whole message into `o0`."""
        self.struct(self.layout, 0, "o0")
        self.flush()

    # -- runs of fixed-size fields

    def fixed(self, code: str, target: str) -> None:
        """Note a field of fixed size: it is read together with its neighbours."""
        self._codes += code if code != "16s" else "U"
        self._targets.append(target)

    def flush(self) -> None:
        """Read the fields noted so far."""
        if self._codes == "B":
            self.source.line(f"{self._targets[0]} = data[pos]; pos += 1")
        elif self._codes:
            run = struct.Struct(">" + self._codes.replace("U", "16s"))
            reader = self.source.constant("s", run.format, run.unpack_from)
            targets = ", ".join(self._targets)
            self.source.line(
                f"{targets}{',' if len(self._targets) == 1 else ''} = {reader}(data, pos); pos += {run.size}"
            )
        for line in self._after:
            self.source.line(line)
        self._codes = ""
        self._targets = []
        self._after = []

    def length(self, code: str, helper: str = "read_uvarint") -> None:
        """Read a length or count into `n`, together with the fixed fields before it: compact ones are one too high."""
        self.fixed("B" if self.compact else code, "n")
        self.flush()
        if self.compact:
            self.source.line(f"if n > 127: n, pos = {helper}(data, pos, n)")

    # -- structs

    def struct(self, layout: StructLayout, depth: int, target: str) -> None:
        """Read a struct into `target`, which also gets the short name of its depth."""
        own = f"o{depth}"
        self.flush()  # what was noted may speak of an earlier struct of this depth
        cls = self.source.constant("C", layout.type, layout.type)
        self.source.line(f"{own} = new({cls})" if target == own else f"{own} = {target} = new({cls})")
        for field in layout.absent:
            self.source.line(f"{own}.{field.name} = {self.default(field)}")
        for slot in layout.slots:
            self.slot(slot, f"{own}.{slot.name}", depth)
        if layout.flexible:
            self.tags(layout, depth)

    def default(self, field: Field) -> str:
        """The expression of a field's default."""
        if field.default is list:
            return "[]"
        if field.has_fresh_default:
            return self.source.constant("C", field.default, field.default) + "()"
        if field.default is None or isinstance(field.default, (bool, int, float, str, bytes)):
            return repr(field.default)
        return self.source.constant("d", field.default, field.default)

    def tags(self, layout: StructLayout, depth: int) -> None:
        """Read the tagged fields: those we know by tag, others are passed over."""
        own, last, stop = f"o{depth}", f"last{depth}", f"stop{depth}"
        self.fixed("B", "n")
        self.flush()
        if not layout.tagged:
            self.source.line("if n: pos = skip_tags(data, pos, n)")
            return
        for slot in layout.tagged:
            self.source.line(f"{own}.{slot.name} = {self.default(slot.field)}")
        with self.source.block("if n:"):
            self.source.line("if n > 127: n, pos = read_uvarint(data, pos, n)")
            self.source.line(f"{last} = -1")
            with self.source.block("for _ in range(n):"):
                self.source.line(f"{last}, pos, {stop} = read_tag(data, pos, {last})")
                for slot in layout.tagged:
                    with self.source.block(f"if {last} == {slot.field.tag}:"):
                        self.slot(slot, f"{own}.{slot.name}", depth)
                        self.flush()
                        self.source.line(f"if pos != {stop}: refuse_tag({slot.name!r}, base + pos, base + {stop})")
                        self.source.line("continue")
                self.source.line(f"pos = {stop}")

    # -- fields

    def slot(self, slot: Slot, target: str, depth: int) -> None:
        """Read one field."""
        if slot.is_array:
            self.array(slot, target, depth)
        elif isinstance(slot.kind, StructLayout):
            if slot.nullable:
                self.presence(slot, target)
                with self.source.block("else:"):
                    self.struct(slot.kind, depth + 1, target)
                    self.flush()
            else:
                self.struct(slot.kind, depth + 1, target)
        else:
            self.primitive(slot.kind, slot, target)

    def presence(self, slot: Slot, target: str) -> None:
        """Read what says whether a struct follows: a byte, negative for null; in a tag a varint, zero for null."""
        if slot.field.tag is None:
            self.fixed("b", "n")
            self.flush()
            self.source.line(f"if n < 0: {target} = None")
        else:
            self.fixed("B", "n")
            self.flush()
            self.source.line("if n > 127: n, pos = read_uvarint(data, pos, n)")
            self.source.line(f"if not n: {target} = None")

    def primitive(self, kind: Primitive, slot: Slot, target: str) -> None:
        """Read a value of a primitive type."""
        if kind is UUID128:
            self.fixed("16s", target)
            self._after.append(f"{target} = to_uuid({target})")
        elif kind.code:
            self.fixed(kind.code, target)
        elif kind is STRING:
            self.length("h", "read_string_length")
            self.sized(slot, target, "str(data[pos:p], 'utf-8')" if self.views else "data[pos:p].decode()")
        else:
            self.length("i")
            self.sized(slot, target, "bytes(data[pos:p])" if self.views and kind is BYTES else "data[pos:p]")

    def sized(self, slot: Slot, target: str, value: str) -> None:
        """Read the `n` bytes (compact: `n` - 1) of a value whose length was just read."""
        absent = "not n" if self.compact else "n < 0"
        advance = f"p = pos + n{' - 1' if self.compact else ''}; {target} = {value}; pos = p"
        if slot.nullable and not slot.is_array:
            self.source.line(f"if {absent}: {target} = None")
            self.source.line(f"else: {advance}")
        else:
            self.source.line(f"if {absent}: refuse_null({slot.name!r}, base + pos)")
            self.source.line(advance)

    # -- arrays

    def array(self, slot: Slot, target: str, depth: int) -> None:
        """Read a list; its count is bounded by the bytes that remain."""
        self.length("i")
        if self.compact:
            self.source.line("n -= 1")
        if slot.nullable:
            self.source.line(f"if n < 0: {target} = None")
            with self.source.block("else:"):
                self.elements(slot, target, depth)
        else:
            self.source.line(f"if n < 0: refuse_null({slot.name!r}, base + pos)")
            self.elements(slot, target, depth)

    def elements(self, slot: Slot, target: str, depth: int) -> None:
        """Read the `n` elements of a list."""
        kind = slot.kind
        # An element of no bytes at all would let any count pass: it is bounded as if it had one.
        smallest = max(1, kind.minimum_size if isinstance(kind, StructLayout) else minimum_size(kind, self.compact))
        least = f"n * {smallest}" if smallest > 1 else "n"
        self.source.line(f"if {least} > end - pos: refuse_count({slot.name!r}, n, end - pos)")
        self.source.line("left -= n")
        self.source.line(f"if left < 0: refuse_elements({slot.name!r})")
        if isinstance(kind, StructLayout):
            self.source.line(f"{target} = a{depth} = []; add{depth} = a{depth}.append")
            with self.source.block("for _ in range(n):"):
                self.struct(kind, depth + 1, f"o{depth + 1}")
                self.flush()
                self.source.line(f"add{depth}(o{depth + 1})")
        elif kind is UUID128:
            self.source.line("p = pos + 16 * n")
            self.source.line(f"{target} = [to_uuid(bytes(data[i:i + 16])) for i in range(pos, p, 16)]; pos = p")
        elif kind.code:
            unpackers = self.source.constant("u", kind.code, runtime.ARRAY_UNPACKERS[kind.code])
            self.source.line(f"{target} = list({unpackers}[n](data, pos)); pos += {kind.size} * n")
        else:
            self.source.line(f"{target} = a{depth} = []; add{depth} = a{depth}.append")
            with self.source.block("for _ in range(n):"):
                self.primitive(kind, slot, "v")
                self.source.line(f"add{depth}(v)")
