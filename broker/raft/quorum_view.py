"""What a node that is no voter knows of the quorum: the epoch, who leads in it, and whom to ask.

Pure: what answers say goes in, whom to ask next comes out. An observer never elects anybody; it learns of a new epoch
from whoever it asks, and goes to the leader that it is told of (KIP-595, KIP-853).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from odradek.broker.nodes.requests import NodeAddress

NOBODY: Final = -1


class QuorumView:
    """The quorum as an observer sees it."""

    def __init__(
        self, epoch: int, leader_id: int, voters: Mapping[int, NodeAddress], servers: Sequence[NodeAddress]
    ) -> None:
        """`voters` are those that the configuration names with their ids, `servers` all that it names."""
        self.epoch = epoch
        self.leader_id = leader_id
        self._addresses = dict(voters)
        self._servers = tuple(dict.fromkeys((*voters.values(), *servers)))
        self._is_doubted = False

    @property
    def leader(self) -> NodeAddress | None:
        """Where the leader is, None while nobody is known to lead."""
        return self._addresses.get(self.leader_id)

    def learn(self, leader_id: int, epoch: int, addresses: Mapping[int, NodeAddress]) -> bool:
        """Take over what an answer says of the leader; return whether epoch or leader are new.

        What is said of an earlier epoch is no news, nor is somebody who does not know the leader of this one.
        """
        if epoch < self.epoch:
            return False
        known = leader_id in addresses or leader_id in self._addresses
        leader_id = leader_id if known else NOBODY
        if leader_id in addresses:
            self._addresses[leader_id] = addresses[leader_id]
        if epoch == self.epoch and (leader_id in (self.leader_id, NOBODY)):
            return False
        self.epoch, self.leader_id, self._is_doubted = epoch, leader_id, False
        return True

    def doubt(self) -> None:
        """The leader gave no good answer: next, somebody else is asked."""
        self._is_doubted = True

    def choose(self, random: Random) -> NodeAddress:
        """Return whom to ask: the leader, or any server where nobody is known to lead or the leader is in doubt."""
        leader = self.leader
        if leader is not None and not self._is_doubted:
            return leader
        self._is_doubted = False
        others = [server for server in self._servers if server != leader]
        return random.choice(others or self._servers)
