"""A broker that is alone: it decides itself, with the metadata log of its own process, and knows no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import single_broker
from odradek.broker.controller.topics import PlacementRules
from odradek.broker.handlers.api_versions import own_versions
from odradek.broker.handlers.known_brokers import OnlyThisBroker
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.producer_ids import RecordedBlocks
from odradek.broker.runtime.context import ThisNode
from odradek.broker.servers.decisions import Decisions
from odradek.broker.servers.listeners import ServerListeners
from odradek.broker.servers.shared import SharedServer

if TYPE_CHECKING:
    from odradek.broker.raft.describe_quorum import QuorumDescriber


def decisions_alone(shared: SharedServer, configs: BrokerConfigs, listeners: ServerListeners) -> Decisions:
    """Return what a broker decides for itself."""
    settings, metadata = shared.settings, shared.metadata
    controller = Controller(
        metadata,
        PlacementRules(settings.num_partitions, settings.default_replication_factor),
        configs,
        single_broker(settings.node_id, settings.broker_rack, shared.directory_ids),
    )
    node = ThisNode(settings.node_id, shared.cluster_id, settings.broker_rack, listeners.advertised_for)
    blocks = RecordedBlocks(metadata, settings.node_id, controller.in_turn)

    def quorum() -> QuorumDescriber:
        from odradek.broker.raft.describe_quorum import QuorumDescriber
        from odradek.broker.raft.leader import QuorumLeader

        directory = shared.directory_ids[0]
        leader = QuorumLeader(node.node_id, directory, node.cluster_id, metadata.epoch, listeners.advertised_for)
        return QuorumDescriber(metadata, leader, shared.clock, is_open=False)

    return Decisions(controller, OnlyThisBroker(node), controller, blocks.next_block, own_versions, {}, quorum, 1, None)
