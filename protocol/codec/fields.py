"""The vocabulary in which messages are declared: one function per wire type, each standing for a field's default.

A declaration reads as a class body::

    class MetadataResponseBroker(Struct):
        node_id: int = int32()
        host: str = string()
        port: int = int32()
        rack: str | None = string("1+", nullable="1+", default=None)

What each argument says:

- `versions`: the message versions that carry the field ("0+", "3-7", "4"). In others it holds its default after
  decoding and is left out when encoding. In a struct "0+" means: wherever the struct is.
- `nullable`: the versions in which null may stand for it.
- `tag`: the field is an optional tagged field (KIP-482) with this number, written only where it differs from its
  default.
- `default`: Kafka's own default where it is not the type's zero.

The functions return a `Field` while their types promise the value a message will hold, as `dataclasses.field` does:
the type checker then checks declarations and uses of them alike. Nothing is compiled here: declaring must cost next to
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast, overload
from uuid import UUID

from odradek.protocol.uuids import ZERO_UUID

T = TypeVar("T")

MIN_INT32 = -(2**31)
MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1

RecordData = bytes | bytearray | memoryview
"""Record batches, as they are on the wire: decoding gives a view of the frame, encoding takes any bytes."""


class Primitive(NamedTuple):
    """A wire type that is no struct and no array."""

    name: str
    """Kafka's name of the type."""
    code: str
    """Its `struct` code where its size is fixed, else empty."""
    size: int
    """Bytes of a value; of the shortest value where it has a length (non-compact form)."""


BOOLEAN = Primitive("boolean", "?", 1)
INT8 = Primitive("int8", "b", 1)
INT16 = Primitive("int16", "h", 2)
UINT16 = Primitive("uint16", "H", 2)
INT32 = Primitive("int32", "i", 4)
UINT32 = Primitive("uint32", "I", 4)
INT64 = Primitive("int64", "q", 8)
FLOAT64 = Primitive("float64", "d", 8)
UUID128 = Primitive("uuid", "16s", 16)
STRING = Primitive("string", "", 2)
BYTES = Primitive("bytes", "", 4)
RECORDS = Primitive("records", "", 4)


class Versions(NamedTuple):
    """An inclusive range of message versions."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


NO_VERSIONS = Versions(0, -1)
LAST_VERSION = 0x7FFF


def parse_versions(text: str | None) -> Versions:
    """Read a range in Kafka's notation: "2+", "1-4", "3"; None is the empty range."""
    if text is None:
        return NO_VERSIONS
    if text.endswith("+"):
        return Versions(int(text[:-1]), LAST_VERSION)
    first, _, last = text.partition("-")
    return Versions(int(first), int(last or first))


class Field:
    """One declared field; the name comes from the class body that holds it."""

    __slots__ = ("default", "is_array", "name", "nullable", "tag", "type", "versions")

    def __init__(
        self,
        type_: Primitive | type[object],
        versions: str,
        nullable: str | None,
        default: object,
        tag: int | None,
        is_array: bool = False,
    ) -> None:
        self.name = ""
        self.type = type_
        """The primitive, or the struct class; of the elements where it is an array."""
        self.is_array = is_array
        self.versions = versions
        self.nullable = nullable
        self.default = default
        """The default; the type `list` or a struct class stands for a fresh instance of it."""
        self.tag = tag

    @property
    def has_fresh_default(self) -> bool:
        """True where every message needs a default object of its own, because it can be changed in place."""
        return isinstance(self.default, type)


def boolean(versions: str = "0+", *, default: bool = False, tag: int | None = None) -> bool:
    """One byte; anything but zero is true, as in Kafka."""
    return cast("bool", Field(BOOLEAN, versions, None, default, tag))


def int8(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    """A signed byte."""
    return cast("int", Field(INT8, versions, None, default, tag))


def int16(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    """A signed 16-bit number; error codes are such."""
    return cast("int", Field(INT16, versions, None, default, tag))


def uint16(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    """An unsigned 16-bit number; ports of newer messages are such."""
    return cast("int", Field(UINT16, versions, None, default, tag))


def int32(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    """A signed 32-bit number."""
    return cast("int", Field(INT32, versions, None, default, tag))


def uint32(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    """An unsigned 32-bit number."""
    return cast("int", Field(UINT32, versions, None, default, tag))


def int64(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    """A signed 64-bit number."""
    return cast("int", Field(INT64, versions, None, default, tag))


def float64(versions: str = "0+", *, default: float = 0.0, tag: int | None = None) -> float:
    """An IEEE 754 double."""
    return cast("float", Field(FLOAT64, versions, None, default, tag))


def uuid(versions: str = "0+", *, default: UUID = ZERO_UUID, tag: int | None = None) -> UUID:
    """Sixteen bytes; the zero UUID says "none"."""
    return cast("UUID", Field(UUID128, versions, None, default, tag))


@overload
def string(versions: str = ..., *, default: str = ..., tag: int | None = ...) -> str: ...
@overload
def string(versions: str = ..., *, nullable: str, default: str | None = ..., tag: int | None = ...) -> str | None: ...
def string(
    versions: str = "0+", *, nullable: str | None = None, default: str | None = "", tag: int | None = None
) -> str | None:
    """UTF-8 text of at most 32,767 bytes."""
    return cast("str", Field(STRING, versions, nullable, default, tag))


@overload
def binary(versions: str = ..., *, default: bytes = ..., tag: int | None = ...) -> bytes: ...
@overload
def binary(
    versions: str = ..., *, nullable: str, default: bytes | None = ..., tag: int | None = ...
) -> bytes | None: ...
def binary(
    versions: str = "0+", *, nullable: str | None = None, default: bytes | None = b"", tag: int | None = None
) -> bytes | None:
    """Bytes, copied out of the frame."""
    return cast("bytes", Field(BYTES, versions, nullable, default, tag))


def records(versions: str = "0+", *, nullable: str | None = None, tag: int | None = None) -> RecordData | None:
    """Record batches; decoding gives a view of the frame, never a copy. Null unless given."""
    return cast("RecordData", Field(RECORDS, versions, nullable, None, tag))


@overload
def array(element: Callable[..., T], versions: str = ..., *, tag: int | None = ...) -> list[T]: ...
@overload
def array(
    element: Callable[..., T], versions: str = ..., *, nullable: str, default: None, tag: int | None = ...
) -> list[T] | None: ...
@overload
def array(
    element: Callable[..., T], versions: str = ..., *, nullable: str, tag: int | None = ...
) -> list[T] | None: ...
def array(
    element: Callable[..., T],
    versions: str = "0+",
    *,
    nullable: str | None = None,
    default: type[object] | None = list,
    tag: int | None = None,
) -> list[T] | None:
    """A list of a struct (its class) or of a primitive (its function here: ``array(int32)``); empty unless given."""
    type_ = element if isinstance(element, type) else PRIMITIVES[element]
    return cast("list[T]", Field(type_, versions, nullable, default, tag, is_array=True))


@overload
def struct(type_: type[T], versions: str = ..., *, tag: int | None = ...) -> T: ...
@overload
def struct(
    type_: type[T], versions: str = ..., *, nullable: str, default: type[T] | None = ..., tag: int | None = ...
) -> T | None: ...
def struct(
    type_: type[T],
    versions: str = "0+",
    *,
    nullable: str | None = None,
    default: type[T] | None = None,
    tag: int | None = None,
) -> T | None:
    """A struct within the message: null by default where it can be null, else one with its own defaults.

    `default` is the class again for a struct that can be null but is not so by default.
    """
    return cast("T", Field(type_, versions, nullable, type_ if nullable is None else default, tag))


PRIMITIVES: dict[Callable[..., object], Primitive] = {
    boolean: BOOLEAN,
    int8: INT8,
    int16: INT16,
    uint16: UINT16,
    int32: INT32,
    uint32: UINT32,
    int64: INT64,
    float64: FLOAT64,
    uuid: UUID128,
    string: STRING,
    binary: BYTES,
}
"""Which wire type a function of this module stands for, where it is the element of an array."""
