"""The brokers that clients are told of.

Owns: who is alive as a listener's clients see it, and whom they are told to be the controller. Clients never connect to
a controller: Kafka names any broker that is alive, and that one hands their requests on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import NamedTuple, Protocol

from odradek.broker.metadata.image import BrokerImage, MetadataImage
from odradek.broker.runtime.context import RequestContext, ThisNode

NOBODY = -1


class KnownBroker(NamedTuple):
    """A broker, and where the clients of a listener reach it."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool = False


class KnownBrokers(Protocol):
    """The brokers of the cluster."""

    @property
    def cluster_id(self) -> str:
        """The cluster that they are of."""

    def alive(self, context: RequestContext) -> Mapping[int, KnownBroker]:
        """Return those that serve the client's listener, by id; the same object as long as nothing changes."""

    def fenced(self, context: RequestContext) -> Sequence[KnownBroker]:
        """Return those that are registered and do not serve at present."""

    def controller_id(self, context: RequestContext) -> int:
        """Return whom the client is to send changes to, -1 for nobody."""

    def registered(self) -> Sequence[int]:
        """Return the ids of all."""


class OnlyThisBroker:
    """`KnownBrokers` of a cluster of one node, which need not be registered anywhere."""

    def __init__(self, node: ThisNode) -> None:
        self._node = node
        self.cluster_id = node.cluster_id
        self._told: dict[tuple[str, int], Mapping[int, KnownBroker]] = {}

    def alive(self, context: RequestContext) -> Mapping[int, KnownBroker]:
        """Return this one, where the client has reached it."""
        address = self._node.advertised_for(context)
        told = self._told.get(address)
        if told is None:
            if len(self._told) > 1000:  # as many addresses as a machine may have
                self._told.clear()
            broker = KnownBroker(self._node.node_id, *address, self._node.rack)
            told = self._told[address] = MappingProxyType({broker.node_id: broker})
        return told

    def fenced(self, _context: RequestContext) -> Sequence[KnownBroker]:
        """Return nobody."""
        return ()

    def controller_id(self, _context: RequestContext) -> int:
        """Return this one."""
        return self._node.node_id

    def registered(self) -> Sequence[int]:
        """Return this one."""
        return (self._node.node_id,)


class RegisteredBrokers:
    """`KnownBrokers` as they registered with the controller."""

    def __init__(self, cluster_id: str, image: Callable[[], MetadataImage], random: Random) -> None:
        self.cluster_id = cluster_id
        self._image = image
        self._random = random
        self._of: Mapping[int, BrokerImage] = MappingProxyType({})
        self._alive: dict[str, Mapping[int, KnownBroker]] = {}

    def alive(self, context: RequestContext) -> Mapping[int, KnownBroker]:
        """Return those that are not fenced and have the listener."""
        brokers = self._image().brokers
        if brokers is not self._of:
            self._of, self._alive = brokers, {}
        known = self._alive.get(context.listener)
        if known is None:
            found = (_at(one, context.listener) for one in brokers.values() if not one.fenced)
            known = self._alive[context.listener] = MappingProxyType({one.node_id: one for one in found if one})
        return known

    def fenced(self, context: RequestContext) -> Sequence[KnownBroker]:
        """Return those that are fenced and have the listener."""
        found = (_at(one, context.listener) for one in self._image().brokers.values() if one.fenced)
        return [one for one in found if one]

    def controller_id(self, context: RequestContext) -> int:
        """Return any that is alive, each as often as the others."""
        alive = list(self.alive(context))
        return self._random.choice(alive) if alive else NOBODY

    def registered(self) -> Sequence[int]:
        """Return all, in the order of their ids."""
        return sorted(self._image().brokers)


def _at(broker: BrokerImage, listener: str) -> KnownBroker | None:
    for endpoint in broker.endpoints:
        if endpoint.name == listener:
            return KnownBroker(broker.broker_id, endpoint.host, endpoint.port, broker.rack, broker.fenced)
    return None
