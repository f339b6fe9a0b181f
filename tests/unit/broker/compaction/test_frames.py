"""The messages between the broker and its compaction process."""

import struct

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.compaction import frames
from odradek.broker.compaction.frames import MAX_FRAME_BYTES, BadFrameError, MessageReader, encode
from odradek.storage.compaction.values import (
    Cancel,
    Cancelled,
    CleanerStats,
    RoundFailed,
    RoundFinished,
    SourceSegment,
    Task,
    Written,
)

TASK = Task(
    1,
    "/data/t-0",
    (SourceSegment(0, 10), SourceSegment(2**62, 20)),
    0,
    30,
    5,
    6,
    7,
    8,
    9,
    10,
    12,
    0.9,
    11,
    1.8e308,
    b"p",
    b"a",
)
MESSAGES = [
    TASK,
    Cancel(1),
    Written(1, 0, 2, 2**31 - 1, False),
    RoundFinished(1, 2**63 - 1, CleanerStats(1, 2, 3, 4, 5, 6, 7.5)),
    RoundFailed(1, "/data/t-0/0.log", "the checksum is wrong"),
    Cancelled(1),
]


@given(st.lists(st.sampled_from(MESSAGES), max_size=5), st.integers(1, 60))
def test_messages_arrive_as_they_were_sent(messages: list[frames.Message], piece: int) -> None:
    """Of the same types, in order, whatever the pieces in which their bytes arrive."""
    data = b"".join(map(encode, messages))
    reader = MessageReader()
    arrived = [one for at in range(0, len(data), piece) for one in reader.feed(data[at : at + piece])]
    assert arrived == messages
    assert [type(one) for one in arrived] == [type(one) for one in messages]
    assert all(isinstance(source, SourceSegment) for one in arrived if isinstance(one, Task) for source in one.sources)


def test_a_frame_is_bounded_on_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A size above the bound is refused before anything is waited for, and such a message is not sent."""
    with pytest.raises(BadFrameError, match="larger"):
        list(MessageReader().feed(struct.pack(">I", MAX_FRAME_BYTES + 1)))
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 100)
    with pytest.raises(BadFrameError, match="larger"):
        encode(TASK._replace(producers=bytes(100)))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        b"\x93",
        *map(msgpack.packb, (5, [], ["Task"], ["Unknown", 1], ["Cancel", 1, 2], ["Finished", 1, 2, 3])),
    ],
)
def test_bytes_that_are_no_message_are_refused(payload: bytes) -> None:
    """With one error, whatever is wrong with them."""
    with pytest.raises(BadFrameError, match="no message"):
        list(MessageReader().feed(struct.pack(">I", len(payload)) + payload))
