"""AlterClientQuotas (api key 49): sets and removes quotas of users, clients and addresses (KIP-546).

Version notes: v1 is the first flexible version.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, float64, int16, int32, string


class EntityData(Struct):
    """A part of whom quotas are for; a null name is the default of its type."""

    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


class OpData(Struct):
    """One quota to be set, or removed."""

    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class EntryData(Struct):
    """What is to become of the quotas of an entity."""

    entity: list[EntityData] = array(EntityData)
    ops: list[OpData] = array(OpData)


class AlterClientQuotasRequest(Message, api_key=49, versions="0-1", flexible="1+"):
    """The changes."""

    entries: list[EntryData] = array(EntryData)
    validate_only: bool = boolean()


class EntryResult(Struct):
    """What became of the change of one entity."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    entity: list[EntityData] = array(EntityData)


class AlterClientQuotasResponse(Message, api_key=49, versions="0-1", flexible="1+"):
    """The outcome for each entity."""

    throttle_time_ms: int = int32()
    entries: list[EntryResult] = array(EntryResult)
