"""Encode and decode: the compiled functions of each (message, version), made when first needed and kept.

The public face of the codec. `DecodeError` is all that decoding raises, `EncodeError` all that encoding raises.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from odradek.protocol.codec.decoder import compile_decoder
from odradek.protocol.codec.encoder import compile_encoder
from odradek.protocol.codec.errors import DecodeError, EncodeError
from odradek.protocol.codec.layout import StructLayout, layout_of
from odradek.protocol.codec.message import Message

M = TypeVar("M", bound=Message)


def decode(cls: type[M], data: bytes | memoryview, version: int, offset: int = 0) -> tuple[M, int]:
    """Decode the message that begins at `offset`, and say where it ends; what follows it is the caller's to judge.

    Record batches are views of `data`; all else is copied out of it. `data` should end where the frame does, since
    everything after `offset` is copied once if the message holds no record batches.

    Raises:
        DecodeError: the bytes are no such message, or there is no such version.
    """
    decoder = cls.SCHEMA.decoders.get(version)
    if decoder is None:
        decoder = _decoder(cls, version)
    try:
        return decoder(data, offset)  # type: ignore[return-value]  # generated for exactly this class
    except DecodeError as bad:
        raise DecodeError(f"{cls.__name__} v{version}: {bad}") from None
    except (struct.error, IndexError):
        raise DecodeError(f"{cls.__name__} v{version}: ends early, the data has {len(data) - offset} bytes") from None
    except UnicodeDecodeError as bad:
        raise DecodeError(f"{cls.__name__} v{version}: a text is not UTF-8: {bad}") from None


def encode_into(out: bytearray, message: Message, version: int) -> None:
    """Append a message. Fields that the version does not know are left out. After an error `out` is not to be used.

    Raises:
        EncodeError: a value does not fit its type, or there is no such version.
    """
    encoder = message.SCHEMA.encoders.get(version)
    if encoder is None:
        encoder = _encoder(type(message), version)
    try:
        encoder(out, message)
    except (struct.error, AttributeError, TypeError, ValueError) as bad:
        raise EncodeError(f"{type(message).__name__} v{version}: {bad}") from bad


def encode(message: Message, version: int) -> bytes:
    """Encode a message.

    Raises:
        EncodeError: a value does not fit its type, or there is no such version.
    """
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)


def layout(cls: type[Message], version: int) -> StructLayout:
    """The layout of a message at a version; KeyError if there is no such version."""
    if version not in cls.SCHEMA.versions:
        raise KeyError(f"{cls.__name__} has no version {version}")
    return layout_of(cls, version, version in cls.SCHEMA.flexible)


def _decoder(cls: type[Message], version: int) -> Callable[[bytes | memoryview, int], tuple[object, int]]:
    try:
        decoder = compile_decoder(layout(cls, version), f"decode {cls.__name__} v{version}")
    except KeyError as unknown:
        raise DecodeError(unknown.args[0]) from None
    cls.SCHEMA.decoders[version] = decoder
    return decoder


def _encoder(cls: type[Message], version: int) -> Callable[[bytearray, object], None]:
    try:
        encoder = compile_encoder(layout(cls, version), f"encode {cls.__name__} v{version}")
    except KeyError as unknown:
        raise EncodeError(unknown.args[0]) from None
    cls.SCHEMA.encoders[version] = encoder
    return encoder
