"""Quotas of clients: whose there are, and how they are set and taken back (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from odradek.cluster.broker_requests import check
from odradek.cluster.connection import ClusterClients
from odradek.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryData,
    OpData,
)
from odradek.protocol.messages.alter_client_quotas import EntityData as AlteredEntityData
from odradek.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
KINDS: Final = (USER, CLIENT_ID, IP)
"""Of entities, in the order in which people are told of them."""

_EXACT, _DEFAULT = 0, 1

KEYS_OF_CLIENTS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
KEYS_OF_ADDRESSES: Final = ("connection_creation_rate",)

Entity = Mapping[str, str | None]
"""Whose quotas: name by type; None is the default of all that have none by name."""


class Quotas(NamedTuple):
    """What is set for an entity."""

    entity: Entity
    values: Mapping[str, float]


def list_quotas(cluster: ClusterClients, wanted: Entity) -> list[Quotas]:
    """Return what is set for all entities that have these parts, and perhaps others."""
    return _find(cluster, wanted, strict=False)


def quotas_of(cluster: ClusterClients, entity: Entity) -> Mapping[str, float]:
    """Return what is set for one entity."""
    found = _find(cluster, entity, strict=True)
    return found[0].values if found else {}


def alter_quotas(
    cluster: ClusterClients, entity: Entity, changes: Mapping[str, float], deletions: Sequence[str] = ()
) -> None:
    """Set some quotas of an entity, and take others back; CommandError where that cannot be."""
    ops = [OpData(key=key, value=value) for key, value in changes.items()]
    ops += [OpData(key=key, remove=True) for key in deletions]
    parts = [AlteredEntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    request = AlterClientQuotasRequest(entries=[EntryData(entity=parts, ops=ops)])
    answer = cluster.requests.ask(request, AlterClientQuotasResponse, f"quotas of {name_of(entity)}")
    for result in answer.entries:
        check(result.error_code, result.error_message, f"quotas of {name_of(entity)}")


def name_of(entity: Entity) -> str:
    """Return whose quotas they are, for people."""
    return ", ".join(f"{kind} {name}" if name is not None else f"every {kind}" for kind, name in entity.items())


def keys_of(entity: Entity) -> tuple[str, ...]:
    """Return the quotas that there are for an entity."""
    return KEYS_OF_ADDRESSES if IP in entity else KEYS_OF_CLIENTS


def _find(cluster: ClusterClients, wanted: Entity, *, strict: bool) -> list[Quotas]:
    components = [
        ComponentData(entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name)
        for kind, name in wanted.items()
    ]
    request = DescribeClientQuotasRequest(components=components, strict=strict)
    answer = cluster.requests.ask(request, DescribeClientQuotasResponse, "quotas")
    check(answer.error_code, answer.error_message, "quotas")
    found = [
        Quotas(
            {kind: names[kind] for kind in KINDS if kind in names},
            {value.key: value.value for value in sorted(entry.values, key=lambda value: value.key)},
        )
        for entry in answer.entries or ()
        for names in [{part.entity_type: part.entity_name for part in entry.entity}]
    ]
    return sorted(found, key=lambda one: [(kind, name or "") for kind, name in one.entity.items()])
