"""Quotas of clients in the image: what is set for whom, and what a record changes (KIP-257, KIP-546).

Owns: the values, and how they become records again. Pure. An entity is a user, a client id, both, or an address, each
by name or as the default of all that have no quota by name. Keys and types of other names are kept, too, as a log has
them.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from odradek.protocol.messages.metadata_records import ClientQuotaRecord, EntityData

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
"""The types of an entity's parts."""

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"
"""The keys; the last one is that of addresses."""

QuotaEntity = frozenset[tuple[str, str | None]]
"""Types and names of the parts, in any order; None is the default of its type."""


class EntityQuotas(NamedTuple):
    """What is set for an entity."""

    parts: tuple[tuple[str, str | None], ...]
    """The entity in the order in which the log has its parts."""
    values: Mapping[str, float]
    """Limits by key, Kafka's `producer_byte_rate` and so on."""


ClientQuotas = MappingProxyType[QuotaEntity, EntityQuotas]
"""Of all entities: a view, of which a changed copy is made quickly."""
NO_QUOTAS: Final[ClientQuotas] = MappingProxyType({})


class QuotaDrafts:
    """Collects what records do to the quotas of an image."""

    def __init__(self, base: ClientQuotas) -> None:
        self._base = base
        self._changed: dict[QuotaEntity, tuple[tuple[tuple[str, str | None], ...], dict[str, float]]] = {}

    def apply(self, record: ClientQuotaRecord) -> None:
        """Set or remove the quota that a record is about."""
        parts = tuple((part.entity_type, part.entity_name) for part in record.entity)
        entity = frozenset(parts)
        draft = self._changed.get(entity)
        if draft is None:
            before = self._base.get(entity)
            draft = (parts, {}) if before is None else (before.parts, dict(before.values))
            self._changed[entity] = draft
        values = draft[1]
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value

    def finish(self) -> ClientQuotas:
        """Return the quotas after the records; the same object if there were none."""
        if not self._changed:
            return self._base
        merged: dict[QuotaEntity, EntityQuotas] = self._base | {}
        for entity, (parts, values) in self._changed.items():
            if values:
                merged[entity] = EntityQuotas(parts, MappingProxyType(values))
            else:
                merged.pop(entity, None)
        return MappingProxyType(merged)


def quota_records(quotas: ClientQuotas) -> Iterator[ClientQuotaRecord]:
    """Yield the records that make these quotas again."""
    for of_entity in quotas.values():
        for key, value in of_entity.values.items():
            yield quota_record(of_entity.parts, key, value)


def quota_record(parts: Iterable[tuple[str, str | None]], key: str, value: float | None) -> ClientQuotaRecord:
    """Return the record that sets a quota, or with None removes it."""
    return ClientQuotaRecord(
        entity=[EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in parts],
        key=key,
        value=0.0 if value is None else value,
        remove=value is None,
    )
