"""Messages that no API has, with every kind of field there is."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.codec import (
    Message,
    RecordData,
    Struct,
    array,
    binary,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uint16,
    uint32,
    uuid,
)


class Empty(Struct):
    """A struct whose only field comes with version 3."""

    late: int = int32("3+", default=-1)


class Pair(Struct):
    """Two numbers."""

    left: int = int32(default=-1)
    right: int = int32()


class Node(Struct):
    """A struct with text and a tag."""

    name: str | None = string(nullable="1+")
    pair: Pair = struct(Pair, "2+", tag=0)


class Sample(Message, versions="0-4", flexible="2+"):
    """All kinds of fields; flexible since version 2."""

    flag: bool = boolean()
    tiny: int = int8()
    small: int = int16()
    port: int = uint16()
    number: int = int32(default=-1)
    size: int = uint32()
    big: int = int64()
    ratio: float = float64()
    id: UUID = uuid()
    text: str = string()
    note: str | None = string("1+", nullable="1+", default=None)
    blob: bytes = binary()
    maybe_blob: bytes | None = binary("1+", nullable="1+", default=None)
    numbers: list[int] = array(int32)
    flags: list[bool] | None = array(boolean, "1+", nullable="1+", default=None)
    ids: list[UUID] = array(uuid)
    names: list[str] = array(string)
    blobs: list[bytes] = array(binary)
    nodes: list[Node] | None = array(Node, nullable="1+")
    first: Pair = struct(Pair)
    second: Pair = struct(Pair)
    option: Node | None = struct(Node, "2+", nullable="2+")
    tag_text: str | None = string("2+", nullable="2+", default=None, tag=0)
    tag_list: list[int] = array(int32, "2+", tag=1)
    tag_option: Pair | None = struct(Pair, "2+", nullable="2+", default=Pair, tag=2)
    tag_node: Node = struct(Node, "2+", tag=200)
    old: int = int32("0-1", default=7)


class Batches(Message, versions="0-1", flexible="1+"):
    """Record batches beside text and bytes."""

    name: str = string()
    blob: bytes = binary()
    ids: list[UUID] = array(uuid)
    records: RecordData | None = records(nullable="1+")


class Hollow(Message, versions="0-3", flexible="2+"):
    """Lists of a struct that has no bytes at all in the first versions."""

    empties: list[Empty] = array(Empty)


class HollowGroup(Struct):
    """A list of structs without bytes."""

    empties: list[Empty] = array(Empty)


class Hollows(Message, versions="0"):
    """Lists in a list, whose elements have no bytes."""

    groups: list[HollowGroup] = array(HollowGroup)


class Names(Message, versions="0-1", flexible="1+"):
    """A list of texts."""

    names: list[str] = array(string)
