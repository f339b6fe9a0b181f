"""The versions that Kafka 4 dropped, which kio does not know: the codec agrees with one that reads Kafka's schemas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.codec import Message, decode, encode
from odradek.protocol.codec.compiler import layout
from odradek.protocol.codec.layout import StructLayout
from odradek.protocol.codec.message import Struct
from odradek.protocol.registry import API
from tests.property.protocol_messages import examples, messages
from tests.support.wire import codec as by_schema
from tests.unit.protocol.declared import rows, version_id

FIRST_OF_KAFKA = {int(row["key"]): int(row["versions"].partition("-")[0]) for row in rows("apis.tsv")}
DROPPED = [
    (cls, version)
    for key, api in API.items()
    for version in range(FIRST_OF_KAFKA[key])
    for cls in (api.request, api.response)
]


def as_fields(value: Struct, struct: StructLayout) -> dict[str, object]:
    """A struct as the fields of a message that is driven by a schema."""
    out: dict[str, object] = {}
    for slot in struct.slots:
        found = getattr(value, slot.name)
        if found is not None and isinstance(slot.kind, StructLayout):
            found = [as_fields(item, slot.kind) for item in found]
        out[slot.name] = found
    return out


@pytest.mark.parametrize(("cls", "version"), DROPPED, ids=version_id)
@given(data=st.data())
@examples(4)
def test_both_codecs_agree(cls: type[Message], version: int, data: st.DataObject) -> None:
    """Our bytes are those that the schema gives, and decode to the same on both sides."""
    message = data.draw(messages(cls, version))
    frame = encode(message, version)
    fields = as_fields(message, layout(cls, version))
    assert frame == by_schema.encode(cls.__name__, version, fields)
    assert by_schema.decode(cls.__name__, version, frame) == fields
    assert decode(cls, frame, version) == (message, len(frame))


def test_the_dropped_versions_are_those_of_many_apis() -> None:
    """The comparison is not empty."""
    assert {"FetchRequest", "OffsetCommitResponse", "CreateAclsRequest"} <= {cls.__name__ for cls, _ in DROPPED}
    assert len(DROPPED) >= 50
