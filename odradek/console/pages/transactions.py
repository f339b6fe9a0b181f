"""Transactions as their coordinators see them, and the end of one that is open for too long."""

from __future__ import annotations

import time
from typing import Final

from starlette.responses import Response

from odradek.cluster.connection import ClusterClients
from odradek.cluster.topology import describe_brokers
from odradek.cluster.transactions import (
    ListedTransaction,
    TransactionDescription,
    TransactionSelection,
    describe_transactions,
    force_terminate,
    list_transactions,
)
from odradek.console.page import ConsolePage
from odradek.console.pages.asking import told
from odradek.console.routes import PageRefusedError, action, view
from odradek.console.visit import Visit
from odradek.terminal.errors import WrongUsageError
from odradek.terminal.human import duration_text

MOST_SHOWN: Final = 500
STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Empty", "Dead")
OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")


def show_transactions(visit: Visit) -> Response:
    """Show transactional ids with the state of their transaction; with `state`, those in it."""
    state, text = visit.query("state"), visit.query("q")
    only = TransactionSelection(states=[state] if state in STATES else ())
    with visit.cluster() as cluster:
        found = told(lambda: _listed(cluster, only))
    rows = [each for each in found.value or () if text.lower() in each.transactional_id.lower()]
    return visit.page(
        "transactions.html",
        problem=found.problem,
        rows=rows[:MOST_SHOWN],
        found=len(rows),
        states=STATES,
        open_states=OPEN,
        state=state,
        text=text,
    )


def show_transaction(visit: Visit) -> Response:
    """Show where the transaction of one id stands."""
    name = visit.query("id")
    with visit.cluster() as cluster:
        found = _described(cluster, name)
    age = None if found.started_ms is None else max(0.0, time.time() - found.started_ms / 1000)
    return visit.page(
        "transaction.html",
        each=found,
        partitions=found.partitions[:MOST_SHOWN],
        open_for=None if age is None else duration_text(age),
        is_late=age is not None and age * 1000 > found.timeout_ms,
        is_open=found.state in OPEN,
    )


def abort(visit: Visit) -> Response:
    """Abort the open transaction of an id that was typed, and fence its producer."""
    name = visit.field("id")
    if not name or visit.field("typed") != name:
        raise WrongUsageError("the transactional id was not typed as it is; nothing was done")
    with visit.cluster() as cluster:
        before = _described(cluster, name)
        force_terminate(cluster.requests, before)
    ended = "its transaction is aborted" if before.started_ms is not None else "no transaction was open"
    return visit.go("/transactions/transaction", f"the producer of {name} is fenced; {ended}", id=name)


def _listed(cluster: ClusterClients, only: TransactionSelection) -> list[ListedTransaction]:
    addresses = {number: each.address for number, each in describe_brokers(cluster.requests).live.items()}
    return list_transactions(cluster.requests, addresses, only)


def _described(cluster: ClusterClients, name: str) -> TransactionDescription:
    found = describe_transactions(cluster.requests, [name] if name else [])
    description = found.get(name)
    if description is None:
        raise PageRefusedError(f"there is no transactional id {name!r} (any more)", 404)
    return description


PAGE = ConsolePage(
    "Transactions",
    "/transactions",
    [
        view("/transactions", show_transactions),
        view("/transactions/transaction", show_transaction),
        action("/transactions/abort", abort),
    ],
)
