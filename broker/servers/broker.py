"""The broker's composition root: builds every part of it, starts them in order and stops them in reverse.

Start, with the log directories locked and the metadata loaded: open the logs, bind the listeners, serve. Nothing is
accepted before everything that was acknowledged once can be read again. Stop: accept nothing new, let requests in work
finish, flush, write the checkpoints, and last of all the marker of a clean shutdown.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from uuid import UUID

from odradek.broker.background import BackgroundJobs
from odradek.broker.compaction.log_cleaner import LogCleaner, LogCleanerParts
from odradek.broker.connection_limits import ConnectionLimitsFollower, connection_limits
from odradek.broker.controller.controller import Controller
from odradek.broker.controller.controller_view import single_broker
from odradek.broker.controller.replication_control import ReplicationControl
from odradek.broker.controller.topics import PlacementRules
from odradek.broker.dispatch.dispatcher import Dispatcher
from odradek.broker.dispatch.large_requests import LargeRequests
from odradek.broker.group_services import GroupParts, GroupServices
from odradek.broker.live_settings import LiveSettings
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.new_epochs import begin_new_epochs
from odradek.broker.partitions.flusher import IN_BACKGROUND, BackgroundFlusher
from odradek.broker.partitions.open_transactions import report_open_transactions
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.routes import DIRECT_ROUTES, MESSAGE_ROUTES, Handlers, Services, load_all
from odradek.broker.runtime.context import ThisNode
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.request_memory import RequestMemory
from odradek.broker.runtime.scheduler import Scheduler
from odradek.broker.servers.host import NetworkParts, ServerNetwork
from odradek.broker.servers.listeners import ServerListeners, network_limits, request_memory_bytes
from odradek.broker.servers.shared import SharedServer
from odradek.config.settings import BrokerSettings
from odradek.config.topic import TopicConfig
from odradek.storage.directories.clean_shutdown import UNKNOWN_BROKER_EPOCH
from odradek.storage.directories.loading import LoadReport
from odradek.storage.directories.log_dirs import LogDirectory
from odradek.storage.directories.manager import LogManager, LogManagerSettings
from odradek.storage.names import TopicPartition

log = get_logger("broker")

FLUSH_THREADS = 4
"""For the fsync that a producer waits for."""
READ_THREADS = 4
"""For what is read that is not in the page cache: segments that consumers ask for, and the groups at start."""

METADATA_UPKEEP_S = 60.0
"""How often the metadata log is looked at for a snapshot that is due, and for what is too old, as in Kafka."""

LOAD_HANDLERS_AFTER_S = 1.0
"""When what no request has needed so far is imported: not while clients wait for the first answers."""

DRAIN_S = 5.0
"""How long requests in work may take to finish when the broker stops."""


class BrokerServer:
    """One broker, on the parts that it shares with other roles of the process."""

    def __init__(self, shared: SharedServer) -> None:
        self._shared = shared
        self._loop = shared.loop
        self._static = shared.settings
        self._clock = shared.clock
        self._flush_threads = shared.host.threads("odradek-flush", FLUSH_THREADS)
        self._background_flush_threads = shared.host.threads("odradek-background-flush", IN_BACKGROUND)
        self._read_threads = shared.host.executor("odradek-read", READ_THREADS)
        self._upkeep_threads = shared.upkeep_threads
        self._listeners = ServerListeners(shared.settings.listeners, lambda: self._settings.current)

    async def start(self) -> None:
        """Be ready to serve when this returns; the shared parts have been started.

        Raises:
            KafkaError, OSError: it cannot start; the message says why and what to do.
        """
        settings, directories = self._static, self._shared.directories
        self._metadata = self._shared.metadata
        self._settings = LiveSettings(settings, self._metadata.image)
        current = self._settings.current
        self._logs = LogManager(
            self._shared.fs,
            directories,
            self._clock.now_ms,
            LogManagerSettings(
                producer_expiration_ms=current.producer_id_expiration_ms,
                directory_delete_delay_ms=current.topic_defaults.file_delete_delay_ms,
                recovery_threads=max(current.num_recovery_threads_per_data_dir, self._shared.host.processors),
            ),
        )
        report = self._logs.load_all(self._wanted)
        _log_findings(report)
        begin_new_epochs(self._metadata, settings.node_id, report.intact)
        self._flusher = BackgroundFlusher(self._loop, self._flush_threads, self._background_flush_threads, self._clock)
        self._partitions = PartitionTable(
            settings.node_id, self._logs, self._flusher, self._topic_config, self._loop.call_soon
        )
        self._partitions.apply(MetadataImage(), self._metadata.image)
        self._partitions.open_all()
        await self._flusher.settle()  # what was acknowledged before a crash, but not known to be on disk, counts now
        report_open_transactions(self._partitions)
        self._follow_metadata()
        self._network = self._build_network(directories)
        try:
            self._listeners.bind(self._network)
        except OSError:
            self._close_logs()
            raise
        self._scheduler = Scheduler(self._loop, self._upkeep_threads)
        BackgroundJobs(settings, self._logs, self._partitions, self._flusher, self._clock).schedule(self._scheduler)
        self._scheduler.every(
            settings.offsets_retention_check_interval_ms / 1000, "offset expiration", self._groups.expire_offsets
        )
        snapshot_s = settings.metadata_log_max_snapshot_interval_ms / 1000 or METADATA_UPKEEP_S
        self._scheduler.every(min(METADATA_UPKEEP_S, snapshot_s), "metadata upkeep", self._metadata.upkeep)
        self._log_cleaner = LogCleaner(
            LogCleanerParts(
                loop=self._loop,
                threads=self._upkeep_threads,
                clock=self._clock,
                logs=self._logs,
                partitions=self._partitions,
                settings=lambda: self._settings.current,
            )
        )
        self._log_cleaner.start()
        self._metadata.use_threads(self._shared.metadata_threads)
        self._partitions.deleted.use_threads(self._shared.metadata_threads)
        self._network.start()
        self._loop.call_soon(self._groups.start)
        self._scheduler.once_in_steps(LOAD_HANDLERS_AFTER_S, "loading of handlers", lambda: load_all(self._handlers))
        self._log_ready(directories, report)

    async def stop(self) -> None:
        """Stop in order; returns when everything is on the disk."""
        started = self._clock.monotonic()
        self._network.stop_accepting()
        self._network.stop_reading()
        self._groups.stop()
        self._partitions.answer_delayed_fetches()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._network.all_closed.wait(), DRAIN_S)
        self._network.close_connections()
        await self._scheduler.stop()
        await self._log_cleaner.stop()
        await self._metadata.settle()
        self._partitions.deleted.finish()
        await self._flusher.stop()
        try:
            checkpoint = self._logs.checkpoint_high_watermarks(self._partitions.high_watermarks())
            if checkpoint is not None:
                checkpoint()
        except OSError as failed:
            log.warning("high watermarks not written", reason=str(failed))
        self._close_logs()
        self._read_threads.shutdown()
        for disk_threads in (self._flush_threads, self._background_flush_threads):
            disk_threads.stop()
        log.info("stopped", took_ms=round((self._clock.monotonic() - started) * 1000))

    def _close_logs(self) -> None:
        """Bring everything to the disk, as far as it takes it."""
        for problem in (*self._shared.close_metadata(), *self._logs.close(self._broker_epoch())):
            log.error("not closed in order; the next start will recover", reason=problem)

    def _broker_epoch(self) -> int:
        """The epoch under which Apache Kafka registered this broker, if it ever ran here: it looks for it in the
        marker."""
        registration = self._metadata.image.brokers.get(self._static.node_id)
        return UNKNOWN_BROKER_EPOCH if registration is None else registration.epoch

    # building

    def _wanted(self, tp: TopicPartition) -> tuple[UUID, TopicConfig] | None:
        image = self._metadata.image
        topic = image.topic(tp.topic)
        if topic is None or tp.partition >= len(topic.partitions):
            return None
        return topic.topic_id, self._topic_config(image.topic_config(tp.topic))

    def _topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        defaults = self._settings.current.topic_defaults
        return defaults.with_overrides(overrides) if overrides else defaults

    def _follow_metadata(self) -> None:
        self._metadata.watch(self._settings.on_metadata)
        self._metadata.watch(lambda old, new, _delta: self._partitions.apply(old, new))
        self._settings.watch(self._follow_settings)

    def _follow_settings(self, changed: BrokerSettings) -> None:
        self._partitions.reconfigure_all(self._metadata.image)
        self._groups.follow_settings(changed)
        self._logs.change_producer_expiration(changed.producer_id_expiration_ms)

    def _build_network(self, directories: list[LogDirectory]) -> ServerNetwork:
        settings = self._static
        directory_ids = tuple(
            found.meta.directory_id for found in directories if found.meta and found.meta.directory_id
        )
        configs = BrokerConfigs(self._metadata, settings.node_id, settings.values)
        controller = Controller(
            self._metadata,
            PlacementRules(settings.num_partitions, settings.default_replication_factor),
            configs,
            single_broker(settings.node_id, settings.broker_rack, directory_ids),
        )
        node = ThisNode(settings.node_id, self._shared.cluster_id, settings.broker_rack, self._listeners.advertised_for)
        self._groups = GroupServices(
            GroupParts(
                loop=self._loop,
                threads=self._read_threads,
                clock=self._clock,
                settings=lambda: self._settings.current,
                controller=controller,
                partitions=self._partitions,
                image=lambda: self._metadata.image,
            )
        )
        self._metadata.watch(self._groups.on_metadata)
        memory = RequestMemory(request_memory_bytes(settings), self._loop.call_soon)
        services = Services(
            loop=self._loop,
            read_threads=self._read_threads,
            clock=self._clock,
            memory=memory,
            settings=settings,
            metadata=self._metadata,
            partitions=self._partitions,
            logs=self._logs,
            node=node,
            configs=configs,
            controller=controller,
            replication=ReplicationControl(controller, settings.node_id),
            groups=self._groups,
        )
        handlers = self._handlers = Handlers(services)
        large = LargeRequests(self._loop, lambda: handlers.converter, memory)
        controller.use_threads(large)
        dispatcher = Dispatcher(
            {key: partial(find, handlers) for key, find in DIRECT_ROUTES.items()},
            {key: partial(find, handlers) for key, find in MESSAGE_ROUTES.items()},
            large=large,
        )
        limits = connection_limits(self._settings.current)
        network = self._shared.host.network(
            NetworkParts(network_limits(settings), limits, dispatcher.handle, self._read_threads, memory)
        )
        follower = ConnectionLimitsFollower(
            self._loop, self._read_threads, self._settings.current, network.change_limits
        )
        self._settings.watch(follower.follow)
        return network

    def _log_ready(self, directories: list[LogDirectory], report: LoadReport) -> None:
        settings = self._static
        log.info(
            "ready",
            listeners=self._listeners.bound_text(),
            advertised=self._listeners.advertised_text(),
            data=",".join(os.path.abspath(directory.path) for directory in directories),
            node_id=settings.node_id,
            partitions=report.loaded,
            took_ms=round((self._clock.monotonic() - self._shared.started_at) * 1000),
        )


def _log_findings(report: LoadReport) -> None:
    for finding in report.findings:
        log.warning("found at start", finding=finding)
    for path in report.strays.values():
        log.warning("set aside as stray: it belongs to no topic of this cluster; nothing was removed", directory=path)
    for partition, reason in report.offline.items():
        log.error("partition is offline", partition=str(partition), reason=reason)
    if report.recovered:
        log.info("checked logs after an unclean stop", logs=report.recovered)
