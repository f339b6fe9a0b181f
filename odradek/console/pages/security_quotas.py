"""Quotas of clients."""

from __future__ import annotations

import math
from typing import Final

from starlette.responses import Response

from odradek.cluster.quotas import (
    IP,
    KEYS_OF_ADDRESSES,
    KEYS_OF_CLIENTS,
    KINDS,
    Entity,
    alter_quotas,
    keys_of,
    list_quotas,
    name_of,
)
from odradek.console.pages.asking import told
from odradek.console.routes import action, view
from odradek.console.visit import Visit
from odradek.terminal.errors import WrongUsageError

PATH: Final = "/security/quotas"
MOST_SHOWN: Final = 500
_DEFAULT: Final = "default"
_NAMED: Final = "named"


def show_quotas(visit: Visit) -> Response:
    """Show all quotas that are set."""
    with visit.cluster() as cluster:
        found = told(lambda: list_quotas(cluster, {}))
    rows = [(one.entity, key, value) for one in found.value or () for key, value in one.values.items()]
    return visit.page(
        "security_quotas.html",
        problem=found.problem,
        rows=rows[:MOST_SHOWN],
        found=len(rows),
        name_of=name_of,
        quotas=(*KEYS_OF_CLIENTS, *KEYS_OF_ADDRESSES),
        shown=lambda value: f"{value:,.0f}" if value == value // 1 else f"{value:g}",
    )


def set_quota(visit: Visit) -> Response:
    """Set a quota; others of the same user, client id or address stay."""
    entity = _entity(visit)
    key = _key(visit, entity)
    try:
        limit = float(visit.field("limit").replace(",", "") or "nan")
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise WrongUsageError(f"{visit.field('limit')[:40]!r} is no limit; give a number above 0")
    with visit.cluster() as cluster:
        alter_quotas(cluster, entity, {key: limit})
    return visit.go(PATH, f"{name_of(entity)}: {key} is {limit:,.10g}")


def delete_quota(visit: Visit) -> Response:
    """Take a quota back."""
    entity = _entity(visit)
    key = _key(visit, entity)
    with visit.cluster() as cluster:
        alter_quotas(cluster, entity, {}, [key])
    return visit.go(PATH, f"{name_of(entity)}: {key} is no longer set")


def _entity(visit: Visit) -> Entity:
    """Return whose quotas a form is about: for each kind `named` with a name, or `default`."""
    entity: dict[str, str | None] = {}
    for kind in KINDS:
        which, name = visit.field(f"{kind}-is"), visit.field(kind)
        if which == _DEFAULT:
            entity[kind] = None
        elif which == _NAMED:
            if not name:
                raise WrongUsageError(f"say which {kind}, or choose the default of all")
            entity[kind] = name
    if not entity:
        raise WrongUsageError("say whose quota: of a user, a client id or an address, or a default of these")
    if IP in entity and len(entity) > 1:
        raise WrongUsageError("an address has quotas of its own, without a user or a client id")
    return entity


def _key(visit: Visit, entity: Entity) -> str:
    key, known = visit.field("quota"), keys_of(entity)
    if key not in known:
        raise WrongUsageError(f"{key[:40]!r} is no quota of these; there is {', '.join(known)}")
    return key


ROUTES: Final = (
    view(PATH, show_quotas),
    action(f"{PATH}/set", set_quota),
    action(f"{PATH}/delete", delete_quota),
)
