"""Who decides for a broker, and whom its clients are told of: one value, for a broker that is alone and for a member of
a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.topic_creation import TopicCreation
from odradek.broker.dispatch.route import Forward
from odradek.broker.handlers.known_brokers import KnownBrokers
from odradek.broker.metadata.producer_ids import NextBlock
from odradek.broker.nodes.requests import Connector
from odradek.protocol.registry import Api, ApiKey

if TYPE_CHECKING:
    from odradek.broker.raft.describe_quorum import QuorumDescriber


class Decisions(NamedTuple):
    """What handlers ask where something is to be decided."""

    controller: Controller | None
    """None where the controllers are asked over the network."""
    brokers: KnownBrokers
    topic_creation: TopicCreation
    next_producer_ids: NextBlock
    versions: Callable[[Api], tuple[int, int] | None]
    """The versions of an API that are answered at present."""
    forwarded: Mapping[ApiKey, Forward]
    """What brings requests to the controllers, for each API that is theirs."""
    quorum: Callable[[], QuorumDescriber] | None
    """Makes what tells of the quorum; None where its leader is asked."""
    most_replicas: int | None
    """Of an internal topic; None for as many as the settings say."""
    connector: Connector | None
    """Connects to other nodes of the cluster; None where there is none."""
