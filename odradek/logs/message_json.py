"""Decoded messages as JSON values, under the names and in the forms of Kafka's own JSON converters.

Fields that the version does not have are left out, and tagged ones that have their default value; bytes are base64,
uuids Kafka's text.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

from odradek.protocol.codec import Message, Struct
from odradek.protocol.codec.fields import Field, parse_versions
from odradek.protocol.uuids import to_text

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"

_OWN_WRITING = {"kraft": "kRaft", "kraft_version": "kRaftVersion", "kraft_version_feature": "kRaftVersionFeature"}


def message_to_json(message: Message, version: int) -> dict[str, Json]:
    """Return the message as it is in that version."""
    return _struct(message, version)


def _struct(value: Struct, version: int) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for field in value.SCHEMA.fields:
        content = getattr(value, field.name)
        if version in parse_versions(field.versions) and not _is_left_out(field, content):
            found[_name(field.name)] = _value(content, version)
    return found


def _is_left_out(field: Field, content: object) -> bool:
    if field.tag is None:
        return False
    return content == (field.default() if isinstance(field.default, type) else field.default)


def _value(content: object, version: int) -> Json:
    match content:
        case Struct():
            return _struct(content, version)
        case list():
            return [_value(each, version) for each in content]
        case UUID():
            return to_text(content)
        case bytes() | memoryview():
            return b64encode(content).decode()
        case None | bool() | int() | float() | str():
            return content
    raise TypeError(f"no JSON for {type(content).__name__}")


def _name(name: str) -> str:
    """Return `leader_epoch` as `leaderEpoch`."""
    first, *others = name.split("_")
    return _OWN_WRITING.get(name) or first + "".join(word.capitalize() for word in others)
