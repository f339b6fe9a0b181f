"""Every message at every version goes through its codec unchanged, and nothing shorter passes for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.codec import DecodeError, Message, decode, encode
from tests.property.protocol_messages import examples, messages
from tests.unit.protocol.declared import MESSAGE_VERSIONS, declared_messages, version_id, versions_of

every_version = pytest.mark.parametrize(("cls", "version"), MESSAGE_VERSIONS, ids=version_id)


@every_version
@given(data=st.data())
@examples(3)
def test_messages_go_both_ways(cls: type[Message], version: int, data: st.DataObject) -> None:
    """Decoding what was encoded gives an equal message, from bytes and from a view, at any offset."""
    message = data.draw(messages(cls, version))
    frame = encode(message, version)
    assert decode(cls, frame, version) == (message, len(frame))
    longer = memoryview(b"head" + frame + b"tail")
    assert decode(cls, longer, version, 4) == (message, 4 + len(frame))
    assert encode(decode(cls, frame, version)[0], version) == frame


@pytest.mark.parametrize("cls", declared_messages().values(), ids=version_id)
@given(data=st.data())
@examples(6)
def test_cut_messages_are_refused(cls: type[Message], data: st.DataObject) -> None:
    """A message that ends early is a DecodeError, wherever it ends."""
    version = data.draw(st.sampled_from(versions_of(cls)))
    frame = encode(data.draw(messages(cls, version)), version)
    taken = [n for n in range(len(frame)) if decodes(cls, frame[:n], version)]
    taken += [n for n in range(len(frame)) if decodes(cls, memoryview(frame)[:n], version)]
    assert not taken


def decodes(cls: type[Message], frame: bytes | memoryview, version: int) -> bool:
    """Whether there is a message; `pytest.raises` would take longer than most decoding does."""
    try:
        decode(cls, frame, version)
    except DecodeError:
        return False
    return True
