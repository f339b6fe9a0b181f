"""What the answers say of this node: its id, its cluster, and where a client reaches it."""

from collections.abc import Callable
from typing import NamedTuple

from odradek.broker.runtime.context import RequestContext


class ThisNode(NamedTuple):
    """The only broker of its cluster."""

    node_id: int
    cluster_id: str
    rack: str | None
    advertised_for: Callable[[RequestContext], tuple[str, int]]
    """Host and port to give to a client that came in this way (listener, address)."""
