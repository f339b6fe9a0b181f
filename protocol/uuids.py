"""Kafka's uuids: the reserved ones, their text form, and how new ones are drawn.

Kafka writes a uuid as the 22 characters of its unpadded URL-safe base64, in files, messages to people and commands.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

ZERO_UUID = UUID(int=0)
"""Stands for "no uuid"."""

METADATA_TOPIC_ID = UUID(int=1)
"""The id of the cluster metadata topic, in every cluster."""

_RESERVED = frozenset((ZERO_UUID, METADATA_TOPIC_ID))
_TEXT_LENGTH = 22


def to_text(value: UUID) -> str:
    """Kafka's text form: 22 characters."""
    return urlsafe_b64encode(value.bytes)[:_TEXT_LENGTH].decode()


def from_text(text: str) -> UUID:
    """Read Kafka's text form.

    Raises:
        ValueError: the text is not the form of a uuid.
    """
    if len(text) == _TEXT_LENGTH and text.isascii() and text.replace("-", "a").replace("_", "a").isalnum():
        value = UUID(bytes=urlsafe_b64decode(text + "=="))
        if to_text(value) == text:  # the last character holds two bits only
            return value
    raise ValueError(f"{text!r} is not a uuid: 22 characters of URL-safe base64 are")


def random_uuid() -> UUID:
    """Draw a version 4 uuid: none of the reserved ones, and none whose text begins with "-" like a command's option."""
    while True:
        value = UUID(bytes=os.urandom(16), version=4)
        if value not in _RESERVED and not to_text(value).startswith("-"):
            return value
