"""The few primitives that the hand-tuned encoders share."""

from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from odradek.protocol.codec.runtime import uvarint

INT16: Final = Struct(">h")
INT32: Final = Struct(">i")
EMPTY_TAGS: Final = b"\0"

TopicRef = str | UUID
"""How a response names a topic: as its request did, by name, or from Produce and Fetch v13 on by id."""

_LEADER_TAG: Final = Struct(">BBBiiB")


class NodeEndpoint(NamedTuple):
    """Where a leader that a response names is reached."""

    node_id: int
    host: str
    port: int
    rack: str | None


def topic_ref_bytes(ref: TopicRef, flexible: bool) -> bytes:
    """Encode how a topic is named."""
    if isinstance(ref, UUID):
        return ref.bytes
    raw = ref.encode()
    return (uvarint(len(raw) + 1) if flexible else INT16.pack(len(raw))) + raw


def nullable_string_bytes(text: str | None, flexible: bool) -> bytes:
    """Encode a nullable string."""
    if text is None:
        return b"\0" if flexible else b"\xff\xff"
    raw = text.encode()
    return (uvarint(len(raw) + 1) if flexible else INT16.pack(len(raw))) + raw


def array_head(count: int, flexible: bool) -> bytes:
    """Encode an array's count."""
    return uvarint(count + 1) if flexible else INT32.pack(count)


def leader_tag(tag: int, leader: tuple[int, int]) -> bytes:
    """A tag buffer with the current leader (id, epoch) as its only field."""
    return _LEADER_TAG.pack(1, tag, 9, leader[0], leader[1], 0)


def endpoints_tag(tag: int, endpoints: tuple[NodeEndpoint, ...]) -> bytes:
    """A tag buffer with the leaders' endpoints as its only field."""
    body = [uvarint(len(endpoints) + 1)]
    for endpoint in endpoints:
        body.append(INT32.pack(endpoint.node_id))
        body.append(nullable_string_bytes(endpoint.host, True))
        body.append(INT32.pack(endpoint.port))
        body.append(nullable_string_bytes(endpoint.rack, True))
        body.append(EMPTY_TAGS)
    raw = b"".join(body)
    return b"\1" + uvarint(tag) + uvarint(len(raw)) + raw
