"""An observer of the controllers' quorum: fetches the metadata log for a node that is no voter.

Owns: the one request in flight, what becomes of its answer, whom to ask next and when, and telling the watchers.
Must not know: sockets, what records mean. Nothing ends it but a stop: whatever fails is tried again, a while later each
time, and said once. Source: KIP-595, KIP-630, KIP-853, KIP-1166.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final, NamedTuple
from uuid import UUID

from odradek.broker.metadata.errors import MetadataError, UnsupportedMetadataError
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.quorum_state import QuorumState
from odradek.broker.metadata.snapshots import SnapshotName
from odradek.broker.metadata.source import Watcher
from odradek.broker.nodes.requests import Connector, Disconnected, NodeAddress, NodeConnection
from odradek.broker.raft.metadata_copy import MetadataCopy, NewImage
from odradek.broker.raft.quorum_view import NOBODY, QuorumView
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads
from odradek.broker.runtime.logging import get_logger
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode, error_name
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ReplicaState
from odradek.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RequestedPartitionSnapshot,
    RequestedSnapshotId,
    RequestedTopicSnapshot,
)
from odradek.protocol.uuids import METADATA_TOPIC_ID
from odradek.storage.names import METADATA_TOPIC

UNKNOWN: Final = -1
MAX_WAIT_MS: Final = 500
QUICK_ANSWER_S: Final = 0.005
"""An answer without anything new that comes sooner than that did not wait: the next request does."""
MAX_BACKOFF_S: Final = 1.0

log = get_logger("quorum")


class ObserverSettings(NamedTuple):
    """What of the configuration the observer depends on, and who this node is."""

    node_id: int
    directory_id: UUID
    cluster_id: str
    voters: Mapping[int, NodeAddress]
    """controller.quorum.voters."""
    servers: Sequence[NodeAddress]
    """controller.quorum.bootstrap.servers."""
    max_bytes: int = 1024 * 1024
    """controller.quorum.fetch.max.bytes."""
    snapshot_max_bytes: int = 1024 * 1024
    """controller.quorum.fetch.snapshot.max.bytes."""
    fetch_timeout_s: float = 2.0
    """controller.quorum.fetch.timeout.ms: how long it is no news that nobody answers."""
    request_timeout_s: float = 2.0
    """controller.quorum.request.timeout.ms."""
    retry_backoff_s: float = 0.02
    """controller.quorum.retry.backoff.ms."""


class _Download(NamedTuple):
    """A snapshot that is being fetched."""

    name: SnapshotName
    position: int


class MetadataObserver:
    """`MetadataImages` that come from the active controller."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        threads: Threads,
        random: Random,
        connector: Connector,
        copy: MetadataCopy,
        settings: ObserverSettings,
    ) -> None:
        """`threads` wait for the disk; nothing is asked before `start`."""
        self._loop = loop
        self._threads = threads
        self._random = random
        self._connector = connector
        self._copy = copy
        self._settings = settings
        state = copy.state
        self._view = QuorumView(state.leader_epoch, state.leader_id, settings.voters, settings.servers)
        self._image = MetadataImage()
        self._watchers: list[Watcher] = []
        self._connections: dict[NodeAddress, NodeConnection] = {}
        self._high_watermark = UNKNOWN
        self._download: _Download | None = None
        self._timer: TimerHandle | None = None
        self._failures = 0
        self._last_good = loop.time()
        self._is_said = False
        """Whether it was said that nobody answers."""
        self._is_working = False
        """Whether a thread uses the copy."""
        self._is_stopped = False
        self._when_idle: Deferred[None] | None = None
        self.first_image: Deferred[MetadataError | None] = Deferred()
        """Resolved once the first image is there, with the reason where there will be none."""

    @property
    def image(self) -> MetadataImage:
        """The newest image that may be seen; an empty one at first."""
        return self._image

    @property
    def leader(self) -> NodeAddress | None:
        """Where the active controller is, as far as is known."""
        return self._view.leader

    @property
    def leader_id(self) -> int:
        """Who that is, -1 if that is not known."""
        return self._view.leader_id

    def watch(self, watcher: Watcher) -> None:
        """Tell `watcher` of every change from now on."""
        self._watchers.append(watcher)

    def start(self) -> None:
        """Begin to fetch."""
        self._last_good = self._loop.time()
        self._ask()

    def stop(self) -> Deferred[None] | None:
        """Ask nobody any more; None when no thread uses the copy, else resolved once that is so."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        for connection in self._connections.values():
            connection.close()
        if not self._is_working:
            return None
        self._when_idle = Deferred()
        return self._when_idle

    # asking

    def _ask_in(self, delay_s: float) -> None:
        if not self._is_stopped:
            self._timer = self._loop.call_later(delay_s, self._ask)

    def _ask(self) -> None:
        if self._is_stopped:
            return
        address = self._view.choose(self._random)
        request = self._fetch() if self._download is None else self._fetch_snapshot(self._download)
        asked = self._loop.time()
        answer = self._connection(address).send(request, self._settings.request_timeout_s)
        answer.on_done(partial(self._answered, address, asked))

    def _connection(self, address: NodeAddress) -> NodeConnection:
        connection = self._connections.get(address)
        if connection is None:
            for other in [other for other in self._connections if other != self._view.leader]:
                self._connections.pop(other).close()
            client_id = f"raft-client-{self._settings.node_id}"
            connection = self._connections[address] = self._connector.connect(address, client_id)
        return connection

    def _fetch(self) -> FetchRequest:
        settings, copy = self._settings, self._copy
        partition = FetchPartition(
            partition=0,
            current_leader_epoch=self._view.epoch,
            fetch_offset=copy.end_offset,
            last_fetched_epoch=copy.end_epoch,
            log_start_offset=UNKNOWN,
            partition_max_bytes=0,
            replica_directory_id=settings.directory_id,
            high_watermark=self._high_watermark,
        )
        return FetchRequest(
            cluster_id=settings.cluster_id,
            replica_id=settings.node_id,
            replica_state=ReplicaState(replica_id=settings.node_id),
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=0,
            max_bytes=settings.max_bytes,
            topics=[FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])],
        )

    def _fetch_snapshot(self, download: _Download) -> FetchSnapshotRequest:
        settings = self._settings
        partition = RequestedPartitionSnapshot(
            partition=0,
            current_leader_epoch=self._view.epoch,
            snapshot_id=RequestedSnapshotId(end_offset=download.name.end_offset, epoch=download.name.epoch),
            position=download.position,
            replica_directory_id=settings.directory_id,
        )
        return FetchSnapshotRequest(
            cluster_id=settings.cluster_id,
            replica_id=settings.node_id,
            max_bytes=settings.snapshot_max_bytes,
            topics=[RequestedTopicSnapshot(name=METADATA_TOPIC, partitions=[partition])],
        )

    # answers

    def _answered(self, address: NodeAddress, asked: float, answer: Message | Disconnected) -> None:
        if self._is_stopped:
            return
        if isinstance(answer, Disconnected):
            self._failed(answer.reason)
        elif isinstance(answer, FetchResponse):
            self._fetched(address, asked, answer)
        elif isinstance(answer, FetchSnapshotResponse):
            self._fetched_snapshot(address, answer)

    def _fetched(self, address: NodeAddress, asked: float, answer: FetchResponse) -> None:
        if answer.error_code:
            self._refused(address, answer.error_code)
            return
        if len(answer.responses) != 1 or len(answer.responses[0].partitions) != 1:
            self._failed(f"{address} answers a fetch of the metadata with something else")
            return
        partition = answer.responses[0].partitions[0]
        endpoints = {node.node_id: NodeAddress(node.host, node.port) for node in answer.node_endpoints}
        leader = partition.current_leader
        if self._learned(leader.leader_id, leader.leader_epoch, endpoints):
            return
        if partition.error_code:
            self._refused(address, partition.error_code)
            return
        self._good_answer()
        diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
        if diverging.end_offset >= 0:
            cut = partial(self._copy.truncate, diverging.epoch, diverging.end_offset)
            self._work(cut, self._ask)
        elif snapshot.end_offset >= 0:
            name = SnapshotName(snapshot.end_offset, snapshot.epoch)
            self._download = _Download(name, 0)
            self._work(partial(self._copy.begin_snapshot, name), self._ask)
        else:
            self._take(bytes(partition.records or b""), partition.high_watermark, asked)

    def _take(self, data: bytes, high_watermark: int, asked: float) -> None:
        is_news = high_watermark > self._high_watermark
        self._high_watermark = max(self._high_watermark, high_watermark)
        if not data and not is_news:
            quick = self._loop.time() - asked < QUICK_ANSWER_S
            self._ask_in(self._settings.retry_backoff_s if quick else 0)
            return
        found: list[NewImage | None] = []

        def append() -> None:
            found.append(self._copy.append(data, self._high_watermark))

        self._work(append, lambda: self._publish(found[0]))

    def _fetched_snapshot(self, address: NodeAddress, answer: FetchSnapshotResponse) -> None:
        download = self._download
        assert download is not None
        if answer.error_code:
            self._refused(address, answer.error_code)
            return
        if len(answer.topics) != 1 or len(answer.topics[0].partitions) != 1:
            self._failed(f"{address} answers a fetch of a snapshot with something else")
            return
        partition = answer.topics[0].partitions[0]
        endpoints = {node.node_id: NodeAddress(node.host, node.port) for node in answer.node_endpoints}
        leader = partition.current_leader
        if self._learned(leader.leader_id, leader.leader_epoch, endpoints):
            self._download = None
            return
        data = bytes(partition.unaligned_records or b"")
        end = download.position + len(data)
        if partition.error_code or partition.position != download.position or (not data and end < partition.size):
            self._download = None  # it is gone, or another one: ask anew which there is
            self._refused(address, partition.error_code or ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        self._good_answer()
        if end < partition.size:
            self._download = download._replace(position=end)
            self._work(partial(self._copy.append_snapshot, data), self._ask)
            return
        self._download = None
        found: list[NewImage] = []

        def finish() -> None:
            self._copy.append_snapshot(data)
            found.append(self._copy.finish_snapshot(download.name))

        def finished() -> None:
            self._high_watermark = max(self._high_watermark, download.name.end_offset)
            self._publish(found[0])

        self._work(finish, finished)

    def _learned(self, leader_id: int, epoch: int, endpoints: Mapping[int, NodeAddress]) -> bool:
        """Take over who leads; return whether that is new, and asking goes on once it is on the disk."""
        if not self._view.learn(leader_id, epoch, endpoints):
            return False
        state = QuorumState(
            leader_id=self._view.leader_id, leader_epoch=self._view.epoch, voters=tuple(self._settings.voters)
        )
        if leader_id != NOBODY:
            log.info("follows a controller", leader=self._view.leader_id, epoch=epoch)
        self._work(partial(self._copy.write_state, state), partial(self._ask_in, self._settings.retry_backoff_s))
        return True

    # what goes wrong

    def _good_answer(self) -> None:
        self._failures = 0
        self._last_good = self._loop.time()
        if self._is_said:
            self._is_said = False
            log.info("the metadata is followed again", leader=self._view.leader_id)

    def _refused(self, address: NodeAddress, code: int) -> None:
        if code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            reason = (
                f"the controller at {address} is of another cluster than this node's directories, which belong to"
                f" {self._settings.cluster_id}: correct controller.quorum.voters or"
                " controller.quorum.bootstrap.servers, or choose another directory in log.dirs"
            )
            self.first_image.resolve(UnsupportedMetadataError(reason))
            self._failed(reason, MAX_BACKOFF_S)
            return
        self._failed(f"{address} refuses to give the metadata: {error_name(code)}")

    def _failed(self, reason: str, delay_s: float = 0.0) -> None:
        """Ask somebody else, later each time; say why after a while, once."""
        self._failures += 1
        self._view.doubt()
        if not self._is_said and self._loop.time() - self._last_good >= self._settings.fetch_timeout_s:
            self._is_said = True
            log.warning("no controller gives the metadata; what is known goes on being served", reason=reason)
        backoff_s = min(self._settings.retry_backoff_s * (1 << min(self._failures - 1, 10)), MAX_BACKOFF_S)
        self._ask_in(max(delay_s, backoff_s * self._random.uniform(0.8, 1.2)))

    # threads

    def _work(self, work: Callable[[], None], go_on: Callable[[], None]) -> None:
        """Have a thread do what waits for the disk, and go on then."""

        def done(failed: BaseException | None) -> None:
            self._is_working = False
            if self._is_stopped:
                if self._when_idle is not None:
                    self._when_idle.resolve(None)
            elif failed is None:
                go_on()
            else:
                self._not_taken(failed)

        self._is_working = True
        self._threads.submit(work, done)

    def _not_taken(self, failed: BaseException) -> None:
        """What came could not be kept, or not be understood."""
        self._download = None
        if isinstance(failed, MetadataError):
            self.first_image.resolve(failed)
            log.error("the metadata is not followed any more; start the broker again", reason=str(failed))
            return
        self._failed(str(failed), MAX_BACKOFF_S)

    def _publish(self, new: NewImage | None) -> None:
        if new is not None:
            old, self._image = self._image, new.image
            for watcher in self._watchers:
                try:
                    watcher(old, new.image, new.delta)
                except Exception:
                    log.exception("a part of the broker could not follow a change of the metadata")
            self.first_image.resolve(None)
        self._ask()
