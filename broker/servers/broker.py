"""The broker's composition root: builds every part of it, starts them in order and stops them in reverse.

Start, with the log directories locked and the metadata loaded: open the logs, bind the listeners, serve. Nothing is
accepted before everything that was acknowledged once can be read again. Stop: accept nothing new, let requests in work
finish, flush, write the checkpoints, and last of all the marker of a clean shutdown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from odradek.broker.background import BackgroundJobs
from odradek.broker.compaction.log_cleaner import LogCleaner, LogCleanerParts
from odradek.broker.controller.token_sweep import token_sweep
from odradek.broker.coordinator_services import CoordinatorServiceParts
from odradek.broker.group_services import GroupServices
from odradek.broker.live_settings import LiveSettings
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.metadata.log import MetadataLog
from odradek.broker.metadata.new_epochs import begin_new_epochs
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.partitions.flusher import IN_BACKGROUND, BackgroundFlusher
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.scheduler import Scheduler
from odradek.broker.servers.alone import decisions_alone
from odradek.broker.servers.decisions import Decisions
from odradek.broker.servers.directory_failures import BrokerParts, FailedDirectories, lose_what_is_missing
from odradek.broker.servers.listeners import ServerListeners
from odradek.broker.servers.load_findings import log_findings, log_ready
from odradek.broker.servers.moves import replica_moves
from odradek.broker.servers.request_path import RequestPath, RequestPathParts, build_request_path
from odradek.broker.servers.shared import SharedServer
from odradek.broker.transaction_services import TransactionParts, TransactionServices
from odradek.config.settings import BrokerSettings
from odradek.config.topic import TopicConfig
from odradek.storage.directories.clean_shutdown import UNKNOWN_BROKER_EPOCH
from odradek.storage.directories.loading import LoadReport
from odradek.storage.directories.manager import LogManager, LogManagerSettings
from odradek.storage.names import TopicPartition

log = get_logger("broker")

if TYPE_CHECKING:
    from odradek.broker.runtime.disk_threads import Threads
    from odradek.broker.servers.authorization import Authorization
    from odradek.broker.servers.cluster_member import ClusterMember
    from odradek.broker.servers.replication import BrokerReplication

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

    def __init__(self, shared: SharedServer, member: ClusterMember | None = None) -> None:
        """`member` makes it one of a cluster; without, it is alone and decides itself."""
        self._shared = shared
        self._loop = shared.loop
        self._static = shared.settings
        self._clock = shared.clock
        self._flush_threads = shared.host.threads("odradek-flush", FLUSH_THREADS)
        self._background_flush_threads = shared.host.threads("odradek-background-flush", IN_BACKGROUND)
        self._read_threads = shared.host.executor("odradek-read", READ_THREADS)
        self._upkeep_threads = shared.upkeep_threads
        self._member = member
        self._monitor = shared.monitor
        self._listeners = ServerListeners(shared.settings.listeners, lambda: self._settings.current)

    async def start(self) -> None:
        """Be ready to serve when this returns; the shared parts have been started.

        Raises:
            KafkaError, OSError: it cannot start; the message says why and what to do.
        """
        if self._member is None:
            self._build()
            report = await self._open_logs_alone(self._shared.metadata)
        else:
            await self._member.join()
            self._build()
            report = await self._open_logs_in_cluster(self._member)
        await self._serve(report)

    @property
    def partitions(self) -> PartitionTable:
        """The partitions of which this broker has a replica; there are some once it serves."""
        return self._partitions

    @property
    def ports(self) -> list[int]:
        """The ports that clients are served on, in the order of the listeners."""
        return [self._listeners.port_of(one) for one in self._static.listeners]

    def _build(self) -> None:
        """Make what the logs, and those who use them, are opened with."""
        settings, directories = self._static, self._shared.directories
        self._metadata: MetadataImages = self._shared.metadata if self._member is None else self._member.metadata
        self._settings = LiveSettings(settings, self._metadata.image)
        current = self._settings.current
        self._logs = LogManager(
            self._shared.fs,
            directories,
            self._clock.now_ms,
            LogManagerSettings(
                producer_expiration_ms=current.producer_id_expiration_ms,
                verify_transactions=current.transaction_partition_verification_enable,
                directory_delete_delay_ms=current.topic_defaults.file_delete_delay_ms,
                recovery_threads=max(current.num_recovery_threads_per_data_dir, self._shared.host.processors),
            ),
            self._shared.failures,
        )
        flush: tuple[Threads, Threads] = self._flush_threads, self._background_flush_threads
        if self._monitor is not None:
            flush = self._monitor.flushes(*flush)
        self._flusher = BackgroundFlusher(self._loop, *flush, self._clock)
        self._replication: BrokerReplication | None = None
        if self._member is not None:
            self._replication = _replication_of(self._shared, self._member, self._logs, self._settings)
        reports = self._replication.directories if self._replication is not None else None
        self._partitions = PartitionTable(
            settings.node_id,
            self._logs,
            self._flusher,
            self._topic_config,
            self._loop.call_soon,
            self._loop.time,
            self._replication.manager if self._replication is not None else None,
            reports.opened if reports is not None else None,
        )

        self._moves = replica_moves(self._shared, self._metadata, self._logs, self._partitions, self._flusher, reports)

    async def _open_logs_alone(self, metadata: MetadataLog) -> LoadReport:
        """Open the logs of a node that decides itself, and its listeners."""
        report = self._logs.load_all(partial(self._wanted, metadata.image))
        log_findings(report)
        lose_what_is_missing(self._logs, metadata.image, self._static.node_id, is_alone=True)
        begin_new_epochs(metadata, self._static.node_id, report.intact)
        self._partitions.apply(MetadataImage(), metadata.image)
        self._partitions.open_all()
        await self._flusher.settle()  # what was acknowledged before a crash, but not known to be on disk, counts now
        self._requests = self._build_requests()
        self._follow_metadata()
        try:
            self._listeners.bind(self._requests.network)
        except OSError:
            self._close_logs()
            raise
        return report

    async def _open_logs_in_cluster(self, member: ClusterMember) -> LoadReport:
        """Register, and open the logs while heartbeats go out: recovery may take longer than a session."""
        self._requests = self._build_requests()
        try:
            self._listeners.bind(self._requests.network)
        except OSError:
            await member.stop()
            self._shared.give_up_start(member.quorum.close_metadata)
            raise
        await member.register([self._listeners.port_of(one) for one in self._static.listeners])
        image = self._metadata.image
        report = await self._loop.run_in_executor(self._read_threads, self._logs.load_all, partial(self._wanted, image))
        log_findings(report)
        lose_what_is_missing(self._logs, image, self._static.node_id, is_alone=False)
        self._partitions.apply(MetadataImage(), image)
        self._partitions.apply(image, self._metadata.image)
        self._settings.on_metadata(image, self._metadata.image, ImageDelta())
        self._follow_metadata()
        for _ in self._partitions.opening():
            await asyncio.sleep(0)
        await self._flusher.settle()
        return report

    async def _serve(self, report: LoadReport) -> None:
        """Begin everything that goes on all the time, and let clients in."""
        settings = self._static
        self._scheduler = Scheduler(self._loop, self._upkeep_threads)
        lifecycle = None if self._member is None else self._member.lifecycle
        parts = BrokerParts(self._logs, self._partitions, lambda: self._metadata.image, lifecycle)
        FailedDirectories(self._shared, parts).begin()
        BackgroundJobs(settings, self._logs, self._partitions, self._flusher, self._clock).schedule(self._scheduler)
        if self._controller is not None:
            sweep = token_sweep(self._controller, self._clock.now_ms)
            interval_s = settings.delegation_token_expiry_check_interval_ms / 1000
            self._scheduler.every(interval_s, "removal of delegation tokens", sweep)
        self._scheduler.every(
            settings.offsets_retention_check_interval_ms / 1000, "offset expiration", self._groups.expire_offsets
        )
        self._scheduler.every_in_steps(
            settings.transaction_abort_timed_out_transaction_cleanup_interval_ms / 1000,
            "transaction timeouts",
            self._transactions.abort_overdue,
        )
        self._scheduler.every_in_steps(
            settings.transaction_remove_expired_transaction_cleanup_interval_ms / 1000,
            "transactional id expiration",
            self._transactions.forget_idle,
        )
        snapshot_s = settings.metadata_log_max_snapshot_interval_ms / 1000 or METADATA_UPKEEP_S
        upkeep = self._shared.metadata.upkeep if self._member is None else self._member.quorum.upkeep
        if upkeep is not None:
            self._scheduler.every(min(METADATA_UPKEEP_S, snapshot_s), "metadata upkeep", upkeep)
        if self._replication is not None:
            self._replication.schedule(self._scheduler)
        self._requests.security.schedule(self._scheduler)
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
        self._moves.resume()
        self._partitions.deleted.use_threads(self._shared.metadata_threads)
        if self._member is None:
            self._shared.metadata.use_threads(self._shared.metadata_threads)
        else:
            await self._member.serve()
        self._requests.network.start()
        self._loop.call_soon(self._groups.start)
        self._loop.call_soon(self._transactions.start)
        self._scheduler.once_in_steps(LOAD_HANDLERS_AFTER_S, "loading of handlers", self._requests.load_handlers)
        if self._monitor is not None:
            from odradek.broker.servers.monitoring import collect_running

            collect_running(self._monitor, self._log_cleaner, lifecycle)
        log_ready(self._shared, self._listeners, report)

    async def stop(self) -> None:
        """Stop in order; returns when everything is on the disk."""
        started = self._clock.monotonic()
        if self._member is not None:
            await self._member.leave()
        if self._replication is not None:
            self._replication.stop()
        self._requests.network.stop_accepting()
        self._requests.network.stop_reading()
        self._transactions.stop()
        self._groups.stop()
        self._partitions.answer_delayed_fetches()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._requests.network.all_closed.wait(), DRAIN_S)
        self._requests.network.close_connections()
        await self._scheduler.stop()
        await self._log_cleaner.stop()
        await self._moves.stop()
        if self._member is None:
            await self._shared.metadata.settle()
        else:
            await self._member.stop()
        self._partitions.deleted.finish()
        await self._flusher.stop()
        try:
            checkpoint = self._logs.checkpoints.high_watermarks(self._partitions.high_watermarks())
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
        source = self._shared if self._member is None else self._member.quorum
        for problem in (*source.close_metadata(), *self._logs.close(self._broker_epoch())):
            log.error("not closed in order; the next start will recover", reason=problem)

    def _broker_epoch(self) -> int:
        """The epoch under which this broker is registered, or Apache Kafka was if it ever ran here: a controller looks
        for it in the marker."""
        registration = self._metadata.image.brokers.get(self._static.node_id)
        return UNKNOWN_BROKER_EPOCH if registration is None else registration.epoch

    # building

    def _wanted(self, image: MetadataImage, tp: TopicPartition) -> tuple[UUID, TopicConfig] | None:
        """Return what a partition is of which this broker has a replica."""
        topic = image.topic(tp.topic)
        partition = image.partition(tp.topic, tp.partition)
        if topic is None or partition is None or self._static.node_id not in partition.replicas:
            return None
        return topic.topic_id, self._topic_config(image.topic_config(tp.topic))

    def _topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        defaults = self._settings.current.topic_defaults
        return defaults.with_overrides(overrides) if overrides else defaults

    def _follow_metadata(self) -> None:
        """Follow changes: partitions lead or do not before their coordinators look whether they do."""
        self._metadata.watch(self._settings.on_metadata)
        self._metadata.watch(lambda old, new, _delta: self._partitions.apply(old, new))
        if self._replication is not None:
            self._metadata.watch(self._replication.directories.on_metadata)
        for services in (self._groups, self._transactions):
            self._metadata.watch(services.on_metadata)
        self._settings.watch(self._follow_settings)

    def _follow_settings(self, changed: BrokerSettings) -> None:
        self._partitions.reconfigure_all(self._metadata.image)
        self._groups.follow_settings(changed)
        self._transactions.follow_settings(changed)
        self._logs.change_producer_expiration(changed.producer_id_expiration_ms)
        self._logs.change_verification(changed.transaction_partition_verification_enable)

    def _build_coordinators(self, decisions: Decisions) -> None:
        parts = CoordinatorServiceParts(
            loop=self._loop,
            threads=self._read_threads,
            clock=self._clock,
            settings=lambda: self._settings.current,
            controller=decisions.topic_creation,
            most_replicas=decisions.most_replicas,
            partitions=self._partitions,
            image=lambda: self._metadata.image,
        )
        self._groups = GroupServices(parts)
        self._transactions = TransactionServices(
            parts, TransactionParts(self._groups, decisions.next_producer_ids, decisions.connector)
        )

    def _authorization(self) -> Authorization | None:
        """Make what asks who may; None where everybody may, and nothing is to be told of it."""
        wanted = self._static.authorization
        if not wanted.is_on and wanted.audit_log is None:
            return None
        from odradek.broker.servers.authorization import authorization_of_broker

        return authorization_of_broker(self._static, self._metadata)

    def _build_requests(self) -> RequestPath:
        """Make what decides, the coordinators, and the way of the requests to all of it."""
        configs = BrokerConfigs(self._metadata, self._static.node_id, self._static.values)
        authorization = self._authorization()
        if self._member is None:
            decisions = decisions_alone(self._shared, configs, self._listeners)
        else:
            authorizing = authorization.authorizing if authorization is not None else None
            decisions = self._member.decisions(configs, authorizing)
        self._controller = decisions.controller
        self._build_coordinators(decisions)
        return build_request_path(
            RequestPathParts(
                shared=self._shared,
                settings=self._settings,
                listeners=self._listeners,
                read_threads=self._read_threads,
                metadata=self._metadata,
                logs=self._logs,
                partitions=self._partitions,
                moves=self._moves,
                replication=self._replication,
                configs=configs,
                decisions=decisions,
                authorization=authorization,
                groups=self._groups,
                transactions=self._transactions,
            )
        )


def _replication_of(
    shared: SharedServer, member: ClusterMember, logs: LogManager, settings: LiveSettings
) -> BrokerReplication:
    from odradek.broker.servers.replication import BrokerReplication  # a node that is alone starts without it

    return BrokerReplication(shared, member, logs, settings)
