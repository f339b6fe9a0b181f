"""Changing the quotas of clients: of users, client ids and addresses.

Owns: which entities and keys there are, which values a quota may have, and the records that a request leads to. Pure.
Must not know: requests of any version, files, name servers: names of hosts are looked up before. Codes and sentences
follow Kafka (`ClientQuotaControlManager`, KIP-257, KIP-546, KIP-599, KIP-612).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from odradek.broker.metadata.client_quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    ClientQuotas,
    QuotaEntity,
    quota_record,
)
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.protocol.errors import ErrorCode, KafkaError

MAX_RECORDS: Final = 10_000
"""Of one request, as in Kafka; more is POLICY_VIOLATION for all of it."""
_FRACTION: Final = 1e-6
"""What a whole number may be off by."""
_ORDER: Final = (CLIENT_ID, USER, IP)
"""In which Kafka writes the parts of an entity."""


class _Kind(NamedTuple):
    """What the values of a key are; without a name any number above zero."""

    name: str = ""
    most: float = math.inf


_LONG, _INT, _DOUBLE = _Kind("a LONG", 2.0**63), _Kind("an INT", 2.0**31 - 1), _Kind()
_OF_CLIENTS: Final[Mapping[str, _Kind]] = MappingProxyType(
    {
        PRODUCER_BYTE_RATE: _LONG,
        CONSUMER_BYTE_RATE: _LONG,
        REQUEST_PERCENTAGE: _DOUBLE,
        CONTROLLER_MUTATION_RATE: _DOUBLE,
    }
)
_OF_ADDRESSES: Final[Mapping[str, _Kind]] = MappingProxyType({CONNECTION_CREATION_RATE: _INT})


class QuotaAlteration(NamedTuple):
    """What is wished for one entity."""

    entity: Mapping[str, str | None]
    """Name by type; None is the default."""
    ops: Sequence[tuple[str, float | None]]
    """Keys with their new limits, None to remove one."""


class PlannedQuotas(NamedTuple):
    """The records of all that can be done, and what becomes of each entity, in the order of the request."""

    records: list[MetadataRecord]
    refusals: dict[QuotaEntity, KafkaError | None]


def parts_of(entity: Mapping[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    """Return the parts of an entity in the order in which Kafka writes them."""
    known = [(one, entity[one]) for one in _ORDER if one in entity]
    return (*known, *((one, name) for one, name in entity.items() if one not in _ORDER))


def plan_quotas(
    quotas: ClientQuotas, alterations: Sequence[QuotaAlteration], unknown_hosts: Collection[str]
) -> PlannedQuotas:
    """Return the records that change quotas, and why others are refused.

    `unknown_hosts` are those of the request that have no address. An entity that stands in the request again is done
    once, as it stands there first, and its answer is an error all the same, as in Kafka. Raises KafkaError
    POLICY_VIOLATION for a request that is too large.
    """
    planned = PlannedQuotas([], {})
    for alteration in alterations:
        entity = frozenset(alteration.entity.items())
        keys = [key for key, _ in alteration.ops]
        if entity in planned.refusals or len(set(keys)) < len(keys):
            told = ", ".join(f"{part}={'null' if name is None else name}" for part, name in parts_of(alteration.entity))
            planned.refusals[entity] = _refusal(
                f"Ignoring duplicate entity ClientQuotaEntity(entries={{{told}}})"
            ).detached()
            continue
        try:
            records = _plan(quotas, entity, alteration, unknown_hosts)
        except KafkaError as error:
            planned.refusals[entity] = error.detached()
            continue
        planned.refusals[entity] = None
        planned.records.extend(records)
        if len(planned.records) > MAX_RECORDS:
            raise too_many()
    return planned


def too_many() -> KafkaError:
    """Return the error for a request that is too large."""
    return KafkaError(ErrorCode.POLICY_VIOLATION, f"a request leads to more than {MAX_RECORDS} changes of quotas")


def _plan(
    quotas: ClientQuotas, entity: QuotaEntity, alteration: QuotaAlteration, unknown_hosts: Collection[str]
) -> list[MetadataRecord]:
    kinds = _kinds_of(alteration.entity, unknown_hosts)
    before = quotas.get(entity)
    current: Mapping[str, float] = {} if before is None else before.values
    parts = parts_of(alteration.entity) if before is None else before.parts
    records: list[MetadataRecord] = []
    for key, value in alteration.ops:
        if value is not None:
            _check(kinds, key, value)
        if value != current.get(key):
            records.append(make_record(quota_record(parts, key, value)))
    return records


def _kinds_of(entity: Mapping[str, str | None], unknown_hosts: Collection[str]) -> Mapping[str, _Kind]:
    """Return the keys of an entity, and what their values are."""
    if not entity:
        raise _refusal("Invalid empty client quota entity")
    for part, name in parts_of(entity):
        if part not in _ORDER:
            raise _refusal(f"Unhandled client quota entity type: {part}")
        if name == "":
            raise _refusal(f"Empty {part} not supported")
    if IP not in entity:
        return _OF_CLIENTS
    if len(entity) > 1:
        raise _refusal("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    host = entity[IP]
    if host in unknown_hosts:
        raise _refusal(f"{host} is not a valid IP or resolvable host.")
    return _OF_ADDRESSES


def _check(kinds: Mapping[str, _Kind], key: str, value: float) -> None:
    """Raise KafkaError for a key that there is not, or a value that it cannot have."""
    kind = kinds.get(key)
    if kind is None:
        raise _refusal(f"Invalid configuration key {key}")
    if math.isnan(value):
        raise _refusal(f"Quota {key} must be a number")
    if value <= 0:
        raise _refusal(f"Quota {key} must be greater than 0")
    if not kind.name:
        return
    if value > kind.most:
        raise _refusal(f"Proposed value for {key} is too large for {kind.name}.")
    if math.fmod(value, 1.0) > _FRACTION:
        raise _refusal(f"{key} cannot be a fractional value.")


def _refusal(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
