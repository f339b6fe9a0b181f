"""What the records of a log say: those of coordinators, of `__cluster_metadata` and control batches.

Pure: record in, JSON value out, in the form of Kafka's own inspector. A record that cannot be understood is told as a
sentence in its place, never as an error: one of a later version must not hide all that follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from struct import Struct
from types import ModuleType
from typing import NamedTuple

from odradek.logs.message_json import Json, message_to_json
from odradek.protocol.codec import DecodeError, Message, decode
from odradek.protocol.codec.runtime import read_uvarint
from odradek.protocol.messages import control_records, group_records, metadata_records, transaction_records
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.protocol.records.control import ControlType, control_type, end_transaction_marker
from odradek.protocol.records.errors import InvalidRecord
from odradek.protocol.records.record import Record

DELETED = "<DELETE>"
"""Stands for an absent value: what the key names is removed."""
MAX_DECODED_RECORD = 2 << 20
"""Bytes of the largest value that is taken apart: each of its fields becomes an object. Brokers write a megabyte at
most, unless they are told otherwise."""
_FRAME_VERSION = 1
_CONSUMER = "consumer"
_int16 = Struct(">h").unpack_from

_CONTROL: Mapping[ControlType, tuple[str, type[Message]]] = {
    ControlType.LEADER_CHANGE: ("LeaderChange", control_records.LeaderChangeMessage),
    ControlType.SNAPSHOT_HEADER: ("SnapshotHeader", control_records.SnapshotHeaderRecord),
    ControlType.SNAPSHOT_FOOTER: ("SnapshotFooter", control_records.SnapshotFooterRecord),
    ControlType.KRAFT_VERSION: ("KRaftVersion", control_records.KRaftVersionRecord),
    ControlType.KRAFT_VOTERS: ("KRaftVoters", control_records.VotersRecord),
}


class Decoded(NamedTuple):
    """A record's key and value; a string is a sentence that says why there is nothing better."""

    key: Json
    value: Json


class ControlNote(NamedTuple):
    """What a control record says."""

    kind: str
    """Kafka's name: ABORT, COMMIT, LeaderChange, SnapshotHeader and so on, or UNKNOWN."""
    data: dict[str, Json]


def decode_control(record: Record) -> ControlNote:
    """Return what a control record says."""
    try:
        kind = control_type(record.key)
        marker = end_transaction_marker(record)
        if marker is not None:
            return ControlNote(kind.name, {"coordinatorEpoch": marker.coordinator_epoch})
        if kind in _CONTROL:
            name, message_type = _CONTROL[kind]
            value = record.value or b""
            _check_size(value)
            (version,) = _int16(value.ljust(2, b"\0"))
            return ControlNote(name, message_to_json(decode(message_type, value, version)[0], version))
    except (InvalidRecord, DecodeError) as error:
        return ControlNote("UNREADABLE", {"error": str(error)})
    number = _int16(record.key or b"\0\0\0\0", 2)[0]
    return ControlNote("UNKNOWN", {"type": number})


def decode_group_record(record: Record) -> Decoded:
    """Return the key and value of a record of `__consumer_offsets`."""
    return _decode_keyed(record, _keyed_messages(group_records))


def decode_transaction_record(record: Record) -> Decoded:
    """Return the key and value of a record of `__transaction_state`."""
    return _decode_keyed(record, _keyed_messages(transaction_records))


def _decode_keyed(record: Record, known: Mapping[int, tuple[type[Message], type[Message]]]) -> Decoded:
    """Return what a coordinator wrote: a key that begins with its type, a value that begins with its version."""
    key = record.key
    try:
        if key is None or len(key) < 2:
            raise DecodeError("the record has no key")
        _check_size(key)
        (number,) = _int16(key)
        found = known.get(number)
        if found is None:
            return Decoded(f"Unknown record type {number} at offset {record.offset}, skipping.", None)
        key_type, value_type = found
        shown: Json = {"type": str(number), "data": message_to_json(decode(key_type, key, 0, 2)[0], 0)}
        if record.value is None:
            return Decoded(shown, DELETED)
        _check_size(record.value)
        (version,) = _int16(record.value.ljust(2, b"\0"))
        message = decode(value_type, record.value, version, 2)[0]
        return Decoded(shown, {"version": str(version), "data": _keyed_value(message, version)})
    except DecodeError as error:
        return Decoded(f"Error at offset {record.offset}, skipping. {error}", None)


def decode_metadata_record(record: Record) -> Decoded:
    """Return the value of a record of the cluster metadata, which has no key."""
    value = record.value or b""
    try:
        _check_size(value)
        numbers, at = [], 0
        for _ in range(3):
            if at >= len(value):
                raise DecodeError("the record ends inside its frame")
            number, at = value[at], at + 1
            if number > 127:
                number, at = read_uvarint(value, at, number)
            numbers.append(number)
        frame_version, kind, version = numbers
        message_type = _metadata_messages().get(kind)
        if frame_version != _FRAME_VERSION or message_type is None:
            raise DecodeError(f"unknown record type {kind} in frame version {frame_version}")
        message = decode(message_type, value, version, at)[0]
    except (DecodeError, IndexError) as error:
        return Decoded(None, f"Error at {record.offset}, skipping. {error}")
    name = _record_type_name(message_type.__name__)
    return Decoded(None, {"type": name, "version": version, "data": message_to_json(message, version)})


def _check_size(content: bytes) -> None:
    if len(content) > MAX_DECODED_RECORD:
        raise DecodeError(f"{len(content)} bytes are not taken apart, {MAX_DECODED_RECORD} at most are")


def _keyed_value(message: Message, version: int) -> Json:
    """Return a value; of a group, what consumers tell each other is opened up, as the coordinator does not."""
    shown = message_to_json(message, version)
    if isinstance(message, group_records.GroupMetadataValue) and message.protocol_type == _CONSUMER:
        members = shown["members"]
        assert isinstance(members, list)
        for member, data in zip(message.members, members, strict=True):
            assert isinstance(data, dict)
            data["subscription"] = _opened(ConsumerProtocolSubscription, member.subscription, data["subscription"])
            data["assignment"] = _opened(ConsumerProtocolAssignment, member.assignment, data["assignment"])
    return shown


def _opened(message_type: type[Message], content: bytes, otherwise: Json) -> Json:
    if len(content) < 2:
        return otherwise
    (version,) = _int16(content)
    try:
        message, _ = decode(message_type, content, version, 2)
    except (DecodeError, ValueError):
        return otherwise
    return message_to_json(message, version)


@cache
def _keyed_messages(module: ModuleType) -> dict[int, tuple[type[Message], type[Message]]]:
    """Return the messages of key and value that a module declares by their type number."""
    declared = _messages_of(module)
    keys = {each.SCHEMA.api_key: each for each in declared if each.__name__.endswith("Key")}
    values = {each.SCHEMA.api_key: each for each in declared if each.__name__.endswith("Value")}
    return {number: (key, values[number]) for number, key in keys.items()}


@cache
def _metadata_messages() -> dict[int, type[Message]]:
    return {each.SCHEMA.api_key: each for each in _messages_of(metadata_records)}


def _messages_of(module: object) -> list[type[Message]]:
    found = vars(module).values()
    return [each for each in found if isinstance(each, type) and issubclass(each, Message) and each is not Message]


def _record_type_name(name: str) -> str:
    """Return `TopicRecord` as `TOPIC_RECORD`."""
    return "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in name).lstrip("_")
