"""Which limit counts for a client, and with whom it shares that.

Of what is set for a key the first of these counts: the user with this client id; the user with any client id; the user;
any user with this client id; any user with any client id; any user; this client id; any client id (KIP-55, KIP-257). A
limit of a user counts for all its connections together, one of a client id for all that come with it, one of both for
both together: whoever it is set for by default has a share of its own. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from odradek.broker.metadata.client_quotas import CLIENT_ID, IP, USER, ClientQuotas, EntityQuotas, QuotaEntity

Share = tuple[str, str]
"""User and client id of those who take from one limit together; "" where it does not matter which."""


class Limit(NamedTuple):
    """What a client may take, and with whom."""

    share: Share
    limit: float


class ClientsQuotas(NamedTuple):
    """What is set that may count for one client, what comes first before what counts less."""

    candidates: Sequence[tuple[Share, EntityQuotas]]

    def find(self, key: str) -> Limit | None:
        """Return the limit of a key; None where there is none."""
        for share, quotas in self.candidates:
            limit = quotas.values.get(key)
            if limit is not None:
                return Limit(share, limit)
        return None


def quotas_of_client(quotas: ClientQuotas, user: str, client_id: str) -> ClientsQuotas:
    """Return what may count for a client. One without a client id has what is set for any."""
    found = []
    for share, entity in _entities(user, client_id):
        of_entity = quotas.get(entity)
        if of_entity is not None:
            found.append((share, of_entity))
    return ClientsQuotas(found)


def _entities(user: str, client_id: str) -> Sequence[tuple[Share, QuotaEntity]]:
    this_client, any_client = (CLIENT_ID, client_id), (CLIENT_ID, None)
    entities: list[tuple[Share, QuotaEntity]] = []
    for name in (user, None):
        of_user = (USER, name)
        entities.append(((user, client_id), frozenset((of_user, this_client))))
        entities.append(((user, client_id), frozenset((of_user, any_client))))
        entities.append(((user, ""), frozenset((of_user,))))
    entities.append((("", client_id), frozenset((this_client,))))
    entities.append((("", client_id), frozenset((any_client,))))
    return entities


def limits_of_addresses(quotas: ClientQuotas, key: str) -> dict[str | None, float]:
    """Return what is set for addresses, as they are named; None is the default."""
    return {
        of_entity.parts[0][1]: of_entity.values[key]
        for of_entity in quotas.values()
        if key in of_entity.values and of_entity.parts[0][0] == IP
    }
