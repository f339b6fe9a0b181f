"""The codec compiler: messages declared once for all their versions, encoded and decoded by generated functions.

Declaring: `Message`, `Struct` and the field functions (`int32`, `string`, `array` ...). Using: `encode`, `encode_into`,
`decode`. Knows Kafka's primitive types, compact encodings and tagged fields (KIP-482), and no message.
"""

from odradek.protocol.codec.compiler import decode, encode, encode_into
from odradek.protocol.codec.errors import DecodeError, EncodeError
from odradek.protocol.codec.fields import (
    RecordData,
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
from odradek.protocol.codec.message import Message, Struct

__all__ = [
    "DecodeError",
    "EncodeError",
    "Message",
    "RecordData",
    "Struct",
    "array",
    "binary",
    "boolean",
    "decode",
    "encode",
    "encode_into",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "records",
    "string",
    "struct",
    "uint16",
    "uint32",
    "uuid",
]
