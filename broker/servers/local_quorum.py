"""A broker and the controller of its cluster in one process (`process.roles=broker,controller` with a listener of the
controller).

The broker is a member of the cluster like any other: it registers, sends heartbeats, and asks the controller for every
change, over the controller's own listener. Only its metadata is no copy, but the controller's own. The controller
starts before the broker and stops after it.
"""

from __future__ import annotations

from odradek.broker.metadata.source import MetadataImages
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.servers.controller import ControllerServer
from odradek.broker.servers.shared import SharedServer


class LocalQuorum:
    """A `ControllerQuorum` of one, which runs here."""

    upkeep = None
    """The controller does it."""

    def __init__(self, shared: SharedServer, controller: ControllerServer) -> None:
        self._shared = shared
        self._controller = controller

    @property
    def metadata(self) -> MetadataImages:
        """The controller's own."""
        return self._shared.metadata

    @property
    def leader(self) -> NodeAddress:
        """Where the controller is reached from this machine."""
        return self._controller.local_address

    async def join(self) -> None:
        """Start the controller; raises what that does."""
        await self._controller.start()

    async def stop(self) -> None:
        """Stop the controller; what it decided is on the disk then."""
        await self._controller.stop()

    def close_metadata(self) -> list[str]:
        """Give the files of the metadata back; return what went wrong, in sentences."""
        return self._shared.close_metadata()
