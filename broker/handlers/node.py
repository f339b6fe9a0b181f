"""What the answers say of this node: its id, its cluster, and where a client reaches it."""

from collections.abc import Callable
from dataclasses import dataclass

from broker.runtime.context import RequestContext


@dataclass(frozen=True, slots=True)
class ThisNode:
    """The only broker of its cluster."""

    node_id: int
    cluster_id: str
    rack: str | None
    advertised_for: Callable[[RequestContext], tuple[str, int]]
    """Host and port to give to a client that came in this way (listener, address)."""
