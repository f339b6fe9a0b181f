"""The errors of the wire codec.

ValueError
├── DecodeError   the peer's (or the file's) bytes are not such a message
└── EncodeError   our own message cannot be written at that version: a bug of the caller, never of a peer
"""


class DecodeError(ValueError):
    """Bytes that are no valid message: too short, an impossible length or count, a null where none may be, bad UTF-8.

    The only error that decoding raises, whatever the bytes. A connection that sends such bytes is closed.
    """


class EncodeError(ValueError):
    """A message that cannot be written: a null where none may be, a number or text too long for its type."""
