"""The few primitives that the hand-tuned codecs share: varints, tagged fields, nullable strings.

A *topic key* is how a request names a topic: the UTF-8 name, or from Produce and Fetch v13 on the 16 bytes of its id.
It is kept as the bytes that came in, so that looking it up and echoing it costs nothing.
"""

from struct import Struct

from protocol.codec.errors import DecodeError

INT16 = Struct(">h")
INT32 = Struct(">i")
EMPTY_TAGS = b"\0"


def read_uvarint(data: memoryview, pos: int) -> tuple[int, int]:
    """Read an unsigned varint of at most five bytes; returns the value and the position behind it."""
    value = data[pos]
    pos += 1
    if value < 0x80:
        return value, pos
    value &= 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
    raise DecodeError("a varint is longer than five bytes")


def uvarint(value: int) -> bytes:
    """Encode an unsigned varint."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def skip_tags(data: memoryview, pos: int) -> int:
    """Step over a tag buffer whose contents do not matter; returns the position behind it."""
    count, pos = read_uvarint(data, pos)
    for _ in range(count):
        _, pos = read_uvarint(data, pos)
        size, pos = read_uvarint(data, pos)
        pos = checked_end(data, pos, size)
    return pos


def read_tags(data: memoryview, pos: int) -> tuple[dict[int, memoryview], int]:
    """Read a tag buffer into raw values by tag; returns them and the position behind it."""
    count, pos = read_uvarint(data, pos)
    tags: dict[int, memoryview] = {}
    for _ in range(count):
        tag, pos = read_uvarint(data, pos)
        size, pos = read_uvarint(data, pos)
        end = checked_end(data, pos, size)
        tags[tag] = data[pos:end]
        pos = end
    return tags, pos


def checked_end(data: memoryview, pos: int, size: int) -> int:
    """The end of `size` bytes at `pos`, or DecodeError where the frame has fewer."""
    end = pos + size
    if size < 0 or end > len(data):
        raise DecodeError(f"a field of {size} bytes at byte {pos} runs past the end of the frame ({len(data)} bytes)")
    return end


def read_string(data: memoryview, pos: int, compact: bool) -> tuple[bytes | None, int]:
    """Read a nullable string as raw bytes; returns it and the position behind it."""
    if compact:
        size, pos = read_uvarint(data, pos)
        size -= 1
    else:
        (size,) = INT16.unpack_from(data, pos)
        pos += 2
    if size < 0:
        return None, pos
    end = checked_end(data, pos, size)
    return bytes(data[pos:end]), end


def read_count(data: memoryview, pos: int, compact: bool, element_size: int) -> tuple[int, int]:
    """Read an array's count (null counts as none), bounded by what the rest of the frame can hold."""
    if compact:
        count, pos = read_uvarint(data, pos)
        count -= 1
    else:
        (count,) = INT32.unpack_from(data, pos)
        pos += 4
    if count * element_size > len(data) - pos:
        raise DecodeError(f"an array of {count} elements at byte {pos} cannot fit in the frame ({len(data)} bytes)")
    return max(count, 0), pos


def read_topic_key(data: memoryview, pos: int, compact: bool, by_id: bool) -> tuple[bytes, int]:
    """Read a topic key: 16 bytes of id, or a name; returns it and the position behind it."""
    if by_id:
        end = checked_end(data, pos, 16)
        return bytes(data[pos:end]), end
    key, pos = read_string(data, pos, compact)
    if key is None:
        raise DecodeError("a topic name is null")
    return key, pos


def topic_key_bytes(key: bytes, compact: bool, by_id: bool) -> bytes:
    """Encode a topic key the way a response of the same version names it."""
    if by_id:
        return key
    return (uvarint(len(key) + 1) if compact else INT16.pack(len(key))) + key


def nullable_string_bytes(text: str | None, compact: bool) -> bytes:
    """Encode a nullable string."""
    if text is None:
        return b"\0" if compact else b"\xff\xff"
    raw = text.encode()
    return (uvarint(len(raw) + 1) if compact else INT16.pack(len(raw))) + raw


def array_head(count: int, compact: bool) -> bytes:
    """Encode an array's count."""
    return uvarint(count + 1) if compact else INT32.pack(count)
