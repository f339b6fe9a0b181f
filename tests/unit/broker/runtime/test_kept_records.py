"""What outlives the call that a frame was handed to."""

from mmap import mmap

from odradek.broker.network.receiving import SCRATCH_BYTES, ReceiveBuffers
from odradek.broker.runtime.kept_records import REUSED_BYTES, kept, kept_bytes
from odradek.broker.runtime.request_memory import RequestMemory


def test_what_came_in_a_buffer_that_is_used_again_is_copied() -> None:
    """It stays as it was, and takes its own size."""
    buffer = bytearray(b"records" * 10)
    view = memoryview(buffer)[7:14]
    assert kept_bytes([view, view]) == 14
    copy = kept(view)
    buffer[:] = bytes(len(buffer))
    assert bytes(copy) == b"records"
    assert kept_bytes([copy]) == 7


def test_a_large_buffer_of_one_frame_is_kept_and_counts_whole() -> None:
    """Nothing of it is copied, and however many batches are in it, it is there once."""
    buffer = mmap(-1, REUSED_BYTES + 1)
    first, second = memoryview(buffer)[:10], memoryview(buffer)[10:30]
    small = memoryview(bytearray(5))
    assert kept_bytes([first, second, small]) == REUSED_BYTES + 1 + 5
    assert kept(first) is first
    assert kept_bytes([kept(first), kept(second), kept(small)]) == REUSED_BYTES + 1 + 5


def test_no_buffer_that_is_used_again_is_larger() -> None:
    """What the receiving side keeps for the next frame is copied here."""
    assert REUSED_BYTES >= SCRATCH_BYTES
    buffers = ReceiveBuffers(RequestMemory(1 << 30, lambda _: None))
    own = buffers.take(SCRATCH_BYTES + 1, REUSED_BYTES + 1)
    buffers.give_back(own)
    assert buffers.take(SCRATCH_BYTES + 1, REUSED_BYTES + 1) is not own
    spare = buffers.take(SCRATCH_BYTES + 1, REUSED_BYTES)
    buffers.give_back(spare)
    assert buffers.take(SCRATCH_BYTES + 1, REUSED_BYTES) is spare
