"""Whether length-prefixed records exactly fill their space, without looking at what is in them.

This is what is checked of each record of a large batch, so it costs little: about 70 ns where lengths differ, a
sixteenth of reading the record. Where
they do not, the bytes of all lengths are compared at once: records of one size lie a fixed step apart, so if the
length says the same at each of those places, the first record leads to the second, and so on to the last.
"""

from typing import Final

from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.varint import read_varint

MIN_RECORD_SIZE: Final = 7
"""Bytes of the smallest record: its length, attributes, two deltas, no key, no value, no headers."""
_FIRST_PROBE: Final = 64
"""Records looked at in one go at first, and how many are walked one by one after a probe that was in vain."""
_LARGEST_PROBE: Final = 1 << 18
"""Nothing else of the process runs while columns are compared: a fraction of a millisecond for so many."""
_WORTH_A_RUN: Final = 16
_LONGEST_PATIENCE: Final = 8192

_STEP: Final = tuple((byte >> 1) + 1 if byte < 0x80 else ((byte & 0x7F) >> 1) + 2 for byte in range(256))
"""By the first byte of a length: from record to record if it is the only byte, else the share of it in two."""
_STEP_SECOND: Final = tuple(byte << 6 for byte in range(0x80))
"""By the second byte of a length: its share of the step."""


def check_framing(body: Buffer, position: int, end: int, count: int) -> int:
    """Return where the last of `count` records starts, which lie from `position` to exactly `end`.

    Raises InvalidRecord where they do not. Nothing before `end` is taken for granted.
    """
    last = position
    patience = _FIRST_PROBE
    try:
        while count > 0:
            run, step = _equal_records(body, position, end, count)
            if run >= _WORTH_A_RUN:
                position += run * step
                last = position - step
                count -= run
                patience = _FIRST_PROBE
            else:
                walked = min(count, patience)
                last, position = _walk(body, position, walked)
                count -= walked
                patience = min(patience * 2, _LONGEST_PATIENCE)
                if position > end:
                    break
    except IndexError:
        raise InvalidRecord("Incorrect declared batch size, premature EOF reached") from None
    if position != end:
        raise InvalidRecord(f"The records end at byte {position} of their batch, which ends at byte {end}")
    return last


def _equal_records(body: Buffer, position: int, end: int, count: int) -> tuple[int, int]:
    """Return how many records from `position` on, of at most `count`, are of one size, and that size."""
    length, after = read_varint(body, position)
    if length < 0:
        raise InvalidRecord(f"Invalid record size {length}")
    width = after - position
    step = width + length
    possible = min(count, (end - position) // step)
    probe = min(possible, _FIRST_PROBE)
    while True:
        run = probe
        for i in range(position, after):
            column = bytes(body[i : position + probe * step : step])
            first = column[:1]
            if column.count(first) != probe:
                run = min(run, probe - len(column.lstrip(first)))
        if run < probe or probe == possible:
            return run, step
        if probe >= _LARGEST_PROBE:
            return run, step
        probe = min(possible, probe * 8)


def _walk(body: Buffer, position: int, count: int) -> tuple[int, int]:
    """Step over `count` records; return where the last one starts and ends. Raises IndexError beyond the end."""
    last = position
    odd = 0
    for _ in range(count):
        byte = body[position]
        last = position
        if byte < 0x80:
            position += _STEP[byte]
        else:
            second = body[position + 1]
            if second < 0x80:
                position += _STEP[byte] + _STEP_SECOND[second]
            else:
                length, after = read_varint(body, position)
                position = after + length
        odd |= byte
    if odd & 1 or position <= last:
        raise InvalidRecord("Invalid record size: a record of negative length")  # odd numbers stand for negative ones
    return last, position
