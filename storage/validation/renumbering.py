"""Writing the records of a batch anew so that their offsets are in a row: what LogValidator does to a client's records
that count theirs wrongly.

Owns one loop over the bytes of records; everything of a record but its deltas is copied as it is. No honest client of
today needs it, so it is only as fast as it must be for others not to wait for it.
"""

from odradek.protocol.records.checksum import Buffer
from odradek.protocol.records.varint import encode_varint, read_varint, read_varlong

MOST_RENUMBERED = 65_536
"""Records of a batch that are written anew, at two microseconds each; clients that count wrongly send some hundreds."""


def renumber_records(body: Buffer, position: int, count: int, keep_timestamps: bool = True) -> tuple[bytes, int]:
    """Return `count` records from `position` on with offset deltas 0, 1, 2 …, and what the first timestamp delta was.

    Timestamps become relative to that of the first record, or all zero without `keep_timestamps`. The records must be
    well-formed (`look_at_records`).
    """
    out = bytearray()
    shift: int | None = None
    for place in range(count):
        length, at = read_varint(body, position)
        position = at + length
        delta, at = read_varlong(body, at + 1)
        _, at = read_varint(body, at)
        if shift is None:
            shift = delta
        deltas = (encode_varint(delta - shift) if keep_timestamps else b"\0") + encode_varint(place)
        out += encode_varint(1 + len(deltas) + position - at)
        out += b"\0"  # attributes: none is in use
        out += deltas
        out += body[at:position]
    return bytes(out), shift or 0
