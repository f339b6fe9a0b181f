"""Which servers a process has: what process.roles and the listeners of a controller come to.

Each role is imported only where it runs, so that a broker that is alone starts without the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.servers.shared import SharedServer

if TYPE_CHECKING:
    from odradek.broker.servers.broker import BrokerServer
    from odradek.broker.servers.controller import ControllerServer


def server_of_roles(shared: SharedServer) -> BrokerServer | ControllerServer:
    """Return the server that starts and stops all of them."""
    quorum = shared.settings.quorum
    if not quorum.is_broker:
        from odradek.broker.servers.controller import ControllerServer

        return ControllerServer(shared)
    from odradek.broker.servers.broker import BrokerServer

    if quorum.is_controller and not shared.settings.controller_listeners:
        return BrokerServer(shared)  # nobody can join it
    from odradek.broker.servers.cluster_member import ClusterMember

    if quorum.is_controller:
        from odradek.broker.servers.controller import ControllerServer
        from odradek.broker.servers.local_quorum import LocalQuorum

        return BrokerServer(shared, ClusterMember(shared, LocalQuorum(shared, ControllerServer(shared))))
    from odradek.broker.servers.remote_quorum import RemoteQuorum

    return BrokerServer(shared, ClusterMember(shared, RemoteQuorum(shared)))
