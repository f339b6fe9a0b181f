"""Names of topics and groups for the completion of a shell, from the cluster that the line means.

Silent in every case: where the cluster does not answer in a moment, nothing is completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import typer

from odradek.cli.target import cluster_arguments, cluster_target

if TYPE_CHECKING:
    from odradek.cluster.connection import ClusterClients

NAMES_SHOWN: Final = 500
TIMEOUT_S: Final = 1.5
"""A person who pressed Tab waits."""


def topic_names(context: typer.Context, incomplete: str) -> Sequence[str]:
    """Return the topics that a word may become."""

    def find(cluster: ClusterClients) -> Iterable[str]:
        names = cluster.metadata().topics
        return [name for name in names if incomplete.startswith("__") or not name.startswith("__")]

    return _names(context, incomplete, find)


def group_names(context: typer.Context, incomplete: str) -> Sequence[str]:
    """Return the groups that a word may become."""

    def find(cluster: ClusterClients) -> Iterable[str]:
        from odradek.cluster.groups import list_groups

        return [each.group_id for each in list_groups(cluster)]

    return _names(context, incomplete, find)


def _names(context: typer.Context, incomplete: str, find: Callable[[ClusterClients], Iterable[str]]) -> Sequence[str]:
    from odradek.cluster.connection import connect

    given: dict[str, Any] = {}
    for each in _from_root(context):
        given |= {name: value for name, value in each.params.items() if value}
    try:
        bootstrap, settings = cluster_target(cluster_arguments(given))
        with closing(connect(bootstrap, settings, timeout_s=TIMEOUT_S)) as cluster:
            return [name for name in sorted(find(cluster)) if name.startswith(incomplete)][:NAMES_SHOWN]
    except Exception:  # noqa: BLE001  a shell that completes is no place for an error
        return []


def _from_root(context: typer.Context) -> list[typer.Context]:
    """Return the contexts of a line, that of the program first: where a shell completes, callbacks are not called."""
    found: list[Any] = []
    each: Any = context
    while each is not None:
        found.append(each)
        each = each.parent
    return found[::-1]
