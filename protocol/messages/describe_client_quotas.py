"""DescribeClientQuotas (api key 48): the quotas of users, clients and addresses (KIP-546).

Version notes: v1 is the first flexible version.
"""

from __future__ import annotations

from odradek.protocol.codec import Message, Struct, array, boolean, float64, int8, int16, int32, string


class ComponentData(Struct):
    """What a part of the entities must be like: 0 exactly `match`, 1 the default, 2 anything of its type."""

    entity_type: str = string()
    match_type: int = int8()
    match: str | None = string(nullable="0+")


class DescribeClientQuotasRequest(Message, api_key=48, versions="0-1", flexible="1+"):
    """Which entities are asked for; `strict` leaves out those that have parts of other types, too."""

    components: list[ComponentData] = array(ComponentData)
    strict: bool = boolean()


class EntityData(Struct):
    """A part of whom quotas are for; a null name is the default of its type."""

    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


class ValueData(Struct):
    """One quota."""

    key: str = string()
    value: float = float64()


class EntryData(Struct):
    """An entity and its quotas."""

    entity: list[EntityData] = array(EntityData)
    values: list[ValueData] = array(ValueData)


class DescribeClientQuotasResponse(Message, api_key=48, versions="0-1", flexible="1+"):
    """The entities that were found; none at all with an error."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    entries: list[EntryData] | None = array(EntryData, nullable="0+")
