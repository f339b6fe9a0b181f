"""Replication in a broker of a cluster: the replica manager with its connections, quotas and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.broker.live_settings import LiveSettings
from odradek.broker.replication.directory_reports import DirectoryReports
from odradek.broker.replication.fetcher import FetchSettings
from odradek.broker.replication.isr_changes import ControllerIsrChanges
from odradek.broker.replication.manager import ReplicaManager, ReplicationParts
from odradek.broker.replication.quota import ReplicationQuotas, dynamic_rate
from odradek.broker.runtime.scheduler import Scheduler
from odradek.config.reading import RACK_AWARE_SELECTOR
from odradek.storage.directories.manager import LogManager

if TYPE_CHECKING:
    from odradek.broker.handlers.nearest_fetch import NearestReplica
    from odradek.broker.servers.cluster_member import ClusterMember
    from odradek.broker.servers.shared import SharedServer

MAX_ANSWER_BYTES: Final = 1 << 30
"""Of a leader: replica.fetch.response.max.bytes, but for a first batch that is larger by itself."""


class BrokerReplication:
    """What a broker of a cluster has for partitions with several replicas."""

    def __init__(self, shared: SharedServer, member: ClusterMember, logs: LogManager, settings: LiveSettings) -> None:
        self._settings = settings
        self._metadata = member.metadata
        static = shared.settings
        self._node_id = static.node_id
        channel = member.channel("alter-partition")

        def broker_epoch() -> int:
            return member.lifecycle.broker_epoch

        self.quotas = ReplicationQuotas(
            static.node_id,
            lambda: self._rate("leader.replication.throttled.rate"),
            lambda: self._rate("follower.replication.throttled.rate"),
            shared.clock.monotonic,
        )
        self.manager = ReplicaManager(
            ReplicationParts(
                loop=shared.loop,
                clock=shared.clock,
                logs=logs,
                connector=shared.host.connector(MAX_ANSWER_BYTES, shared.nodes.to_brokers()),
                isr_changes=ControllerIsrChanges(shared.loop, channel.send, static.node_id, broker_epoch),
                image=lambda: member.metadata.image,
                broker_epoch=broker_epoch,
                listener=static.inter_broker_listener_name,
                settings=FetchSettings(
                    static.node_id,
                    static.replica_fetch_wait_max_ms,
                    static.replica_fetch_min_bytes,
                    static.replica_fetch_response_max_bytes,
                    static.replica_fetch_max_bytes,
                    static.replica_fetch_backoff_ms,
                    static.replica_socket_timeout_ms,
                ),
                num_fetchers=settings.current.num_replica_fetchers,
                max_lag_ms=static.replica_lag_time_max_ms,
                quota=self.quotas,
            )
        )
        self.directories = DirectoryReports(
            shared.loop,
            member.channel("directory-assignments").send,
            static.node_id,
            broker_epoch,
            lambda: member.metadata.image,
            logs.directory_id,
        )
        self.nearest: NearestReplica | None = None
        """Where consumers are sent that have a nearer replica than the leader."""
        if static.replica_selector_class == RACK_AWARE_SELECTOR:
            self.nearest = self.manager.nearest
        settings.watch(lambda changed: self.manager.change_fetchers(changed.num_replica_fetchers))

    def schedule(self, scheduler: Scheduler) -> None:
        """Look for followers that fell behind from time to time."""
        interval_s = max(self._settings.current.replica_lag_time_max_ms / 2000, 0.001)
        scheduler.every_in_steps(interval_s, "ISR shrinking", self.manager.shrink_isrs)

    def stop(self) -> None:
        """Follow nobody any more, and tell the controller nothing."""
        self.manager.stop()
        self.directories.stop()

    def _rate(self, key: str) -> int:
        """A throttled rate, which is set at run time only: of this broker, or else of all of them."""
        return dynamic_rate(self._metadata.image, self._node_id, key)
