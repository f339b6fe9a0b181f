"""Controllers in other processes, of odradek or of Apache Kafka, as a broker follows them.

Owns: finding out which cluster theirs is, and the copy of its metadata. Must not know: what the broker asks of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from odradek.broker.handlers.cluster import CONTROLLERS
from odradek.broker.metadata.errors import UnsupportedMetadataError
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.nodes.requests import Connector, Disconnected, NodeAddress
from odradek.broker.raft.metadata_copy import MetadataCopy, metadata_directory
from odradek.broker.raft.observer import MetadataObserver, ObserverSettings
from odradek.broker.runtime.logging import get_logger
from odradek.broker.servers.cluster_member import MAX_ANSWER_BYTES
from odradek.broker.servers.shared import SharedServer
from odradek.config.settings import BrokerSettings
from odradek.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.protocol.uuids import ZERO_UUID
from odradek.storage.directories.log_dirs import identify_log_directories, make_log_directories
from odradek.storage.errors import StorageError

ASK_AGAIN_S: Final = 0.2

T = TypeVar("T")

log = get_logger("cluster")


class RemoteQuorum:
    """A `ControllerQuorum` that is reached over the network."""

    _observer: MetadataObserver
    _copy: MetadataCopy

    def __init__(self, shared: SharedServer) -> None:
        self._shared = shared
        self._settings: BrokerSettings = shared.settings
        self._random = shared.host.random
        self._loop = shared.loop
        self._connector: Connector = shared.host.connector(MAX_ANSWER_BYTES, shared.nodes.to_controllers())
        self._last_reason = ""
        """Why no controller could be reached, as it was said last."""

    @property
    def metadata(self) -> MetadataImages:
        """The copy of the metadata."""
        return self._observer

    @property
    def leader(self) -> NodeAddress | None:
        """Where the active controller is, if that is known."""
        return self._observer.leader

    @property
    def upkeep(self) -> Callable[[], Callable[[], None]]:
        """What is to be done for the copy from time to time."""
        return self._copy.upkeep

    async def join(self) -> None:
        """Get the metadata of the cluster, once it is known which that is.

        Raises:
            MetadataError, StorageError: it is another cluster than the directories', nobody can be reached, or the
                metadata cannot be taken over; the message says what to do.
        """
        shared, settings = self._shared, self._settings
        if not shared.has_cluster_id:
            shared.join_cluster(await self._ask_cluster_id())
        path, options = shared.metadata_options()
        make_log_directories(shared.fs, shared.directories)
        self._copy = MetadataCopy(shared.fs, metadata_directory(path), options, shared.clock)
        identify_log_directories(shared.fs, shared.directories)
        quorum = settings.quorum
        self._observer = MetadataObserver(
            self._loop,
            shared.metadata_threads,
            self._random,
            self._connector,
            self._copy,
            ObserverSettings(
                node_id=settings.node_id,
                directory_id=shared.directory_ids[0] if shared.directory_ids else ZERO_UUID,
                cluster_id=shared.cluster_id,
                voters={one.node_id: NodeAddress(one.host, one.port) for one in quorum.voters},
                servers=[NodeAddress(*server) for server in quorum.bootstrap_servers],
                max_bytes=settings.controller_quorum_fetch_max_bytes,
                snapshot_max_bytes=settings.controller_quorum_fetch_snapshot_max_bytes,
                fetch_timeout_s=settings.controller_quorum_fetch_timeout_ms / 1000,
                request_timeout_s=max(settings.controller_quorum_request_timeout_ms / 1000, 1.0),
                retry_backoff_s=settings.controller_quorum_retry_backoff_ms / 1000,
            ),
        )
        self._observer.start()
        refused = await self._in_time(self._observer.first_image)
        if refused is not None:
            raise refused

    async def stop(self) -> None:
        """End all that is under way."""
        under_way = self._observer.stop()
        if under_way is not None:
            await under_way

    def close_metadata(self) -> list[str]:
        """Give the files of the copy back; return what went wrong, in sentences."""
        try:
            self._copy.close()
        except StorageError as failed:
            return [str(failed)]
        return []

    async def _ask_cluster_id(self) -> str:
        """Ask the controllers which cluster they are of. Raises UnsupportedMetadataError if none says so in time."""

        async def ask() -> str:
            quorum = self._settings.quorum
            servers = [NodeAddress(one.host, one.port) for one in quorum.voters]
            servers += [NodeAddress(*server) for server in quorum.bootstrap_servers]
            while True:
                for server in servers:
                    connection = self._connector.connect(server, f"broker-{self._settings.node_id}-join")
                    answer = await connection.send(DescribeClusterRequest(endpoint_type=CONTROLLERS), 2.0)
                    connection.close()
                    if isinstance(answer, DescribeClusterResponse) and not answer.error_code and answer.cluster_id:
                        return answer.cluster_id
                    if isinstance(answer, Disconnected):
                        self._note(answer.reason)
                await asyncio.sleep(ASK_AGAIN_S)

        return await self._in_time(ask())

    def _note(self, reason: str) -> None:
        if self._last_reason != reason:
            self._last_reason = reason
            log.info("waits for the controllers", reason=reason)

    async def _in_time(self, coming: Awaitable[T]) -> T:
        """Return a result that the controllers have to give before long."""

        async def arrival() -> T:
            return await coming

        try:
            return await asyncio.wait_for(arrival(), self._settings.initial_broker_registration_timeout_ms / 1000)
        except TimeoutError:
            quorum = self._settings.quorum
            named = [f"{one.host}:{one.port}" for one in quorum.voters]
            named += [f"{host}:{port}" for host, port in quorum.bootstrap_servers]
            raise UnsupportedMetadataError(
                f"no active controller was found at {', '.join(named)} within initial.broker.registration.timeout.ms:"
                " see that the controllers run, and that controller.quorum.voters or"
                " controller.quorum.bootstrap.servers name them"
            ) from None
