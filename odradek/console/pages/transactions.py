"""Transactions as their coordinators see them, and the end of one that is open for too long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from starlette.responses import Response

from odradek.cluster.connection import ClusterClients
from odradek.cluster.hanging_transactions import (
    broker_addresses,
    chosen_partitions,
    find_hanging,
    leader_of,
    transaction_at,
)
from odradek.cluster.partition_producers import PartitionProducer, write_abort_marker
from odradek.cluster.topology import describe_partitions
from odradek.cluster.transactions import (
    ListedTransaction,
    TransactionDescription,
    TransactionSelection,
    describe_transactions,
    force_terminate,
    list_transactions,
)
from odradek.console.page import ConsolePage
from odradek.console.pages.asking import Told, told
from odradek.console.pages.fields import whole_number
from odradek.console.routes import PageRefusedError, action, view
from odradek.console.visit import Visit
from odradek.terminal.durations import duration_ms
from odradek.terminal.errors import WrongUsageError
from odradek.terminal.human import duration_text

MOST_SHOWN: Final = 500
STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Empty", "Dead")
LONGEST: Final = "15m"
"""transaction.max.timeout.ms as it is by default: a younger transaction may still be ended by its producer."""
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


def show_hanging(visit: Visit) -> Response:
    """Show the transactions that hang, of all partitions or of those of a topic; only once somebody asks for it.

    Each partition's leader is asked for its producers, which takes its time.
    """
    older, topic = visit.query("older", LONGEST), visit.query("topic")
    is_asked = "older" in visit.request.query_params
    found: Told[list[PartitionProducer]] = Told([])
    if is_asked:
        limit_ms = duration_ms(older, "longer than")
        with visit.cluster() as cluster:
            found = told(lambda: _hanging(cluster, topic, limit_ms))
    rows = found.value or []
    return visit.page(
        "hanging_transactions.html",
        rows=rows[:MOST_SHOWN],
        found=len(rows),
        problem=found.problem,
        older=older,
        topic=topic,
        is_asked=is_asked,
    )


def show_hanging_one(visit: Visit) -> Response:
    """Show one that hangs, with the form that ends it."""
    topic, partition, start = _place(visit.query)
    with visit.cluster() as cluster:
        [chosen] = chosen_partitions(cluster.requests, topic, [partition])
        found = transaction_at(cluster.requests, chosen, start)
    return visit.page("hanging_transaction.html", each=found, typed=_name_of(topic, partition))


def end_hanging(visit: Visit) -> Response:
    """End a transaction that hangs in one partition, whose name was typed."""
    topic, partition, start = _place(visit.field)
    if visit.field("typed") != _name_of(topic, partition):
        raise WrongUsageError("the partition was not typed as it is; nothing was done")
    with visit.cluster() as cluster:
        [chosen] = chosen_partitions(cluster.requests, topic, [partition])
        found = transaction_at(cluster.requests, chosen, start)
        address = broker_addresses(cluster.requests)[leader_of(chosen)]
        epoch = max(found.coordinator_epoch or 0, 0)
        write_abort_marker(cluster.requests, address, found.key, found.producer_id, found.producer_epoch, epoch)
    sentence = f"the transaction of producer {found.producer_id} in {_name_of(topic, partition)} is aborted"
    return visit.go("/transactions/hanging", sentence)


def _hanging(cluster: ClusterClients, topic: str, limit_ms: int) -> list[PartitionProducer]:
    requests = cluster.requests
    chosen = chosen_partitions(requests, topic, []) if topic else describe_partitions(requests)
    return find_hanging(requests, chosen, time.time_ns() // 1_000_000, limit_ms)


def _place(told_of: Callable[[str], str]) -> tuple[str, int, int]:
    """Return topic, partition and first offset of a transaction, from an address or a form."""
    partition = whole_number(told_of("partition"), "partition", 0, (1 << 31) - 1)
    start = whole_number(told_of("start"), "first offset", 0, (1 << 63) - 1)
    topic = told_of("topic")
    if partition is None or start is None or not topic:
        raise WrongUsageError("say which transaction is meant: topic, partition and the offset at which it begins")
    return topic, partition, start


def _name_of(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def _listed(cluster: ClusterClients, only: TransactionSelection) -> list[ListedTransaction]:
    return list_transactions(cluster.requests, broker_addresses(cluster.requests), only)


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
        view("/transactions/hanging", show_hanging),
        view("/transactions/hanging/one", show_hanging_one),
        action("/transactions/hanging/abort", end_hanging),
    ],
)
