"""What the leader of a quorum of one voter knows: its epoch, where others find it, and who follows it.

Owns: the checks that every request of the quorum begins with. A single voter leads for as long as its process runs, so
there is nothing to elect. Must not know: files, sockets. Follows `KafkaRaftClient` (KIP-595).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from odradek.broker.raft.observers import Observers, ReplicaKey
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.errors import ErrorCode


@dataclass(slots=True)
class QuorumLeader:
    """This node, as the leader of its quorum."""

    node_id: int
    directory_id: UUID
    """Of the directory with the metadata log."""
    cluster_id: str
    epoch: int
    advertised_for: Callable[[RequestContext], tuple[str, int]]
    """Host and port of the controller's listener for who came in this way."""
    observers: Observers = field(default_factory=Observers)

    @property
    def key(self) -> ReplicaKey:
        """Node and directory, as KIP-853 names a voter."""
        return ReplicaKey(self.node_id, self.directory_id)

    def is_other_cluster(self, cluster_id: str | None) -> bool:
        """Whether a request names another cluster; one that names none is welcome."""
        return cluster_id is not None and cluster_id != self.cluster_id

    def check_epoch(self, epoch: int) -> ErrorCode:
        """Return why a request of that epoch is refused, NONE if it is not."""
        if epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > self.epoch else ErrorCode.NONE
