"""The transaction coordinator of this broker.

Owns: what is the broker's own about transactions: settings, which ids live here, the regular looks for transactions
whose time is over and for ids that nobody uses. Where an id lives, and whether that is loaded, is the runtime's. Must
not know: requests of any version.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from odradek.broker.coordinator.background import Background
from odradek.broker.coordinator.runtime import CoordinatorRuntime, RuntimeSettings
from odradek.broker.coordinator.topic import CoordinatorTopic
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.metadata.features import TRANSACTION_VERSION
from odradek.broker.metadata.image import ImageDelta, MetadataImage
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.transactions.markers import MarkerSender
from odradek.broker.transactions.shard import ProducerResult, TransactionShard, TransactionShardServices
from odradek.broker.transactions.state import Partitions, Producer, TransactionMetadata
from odradek.config.settings import BrokerSettings
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import Codec
from odradek.storage.names import TopicPartition

NewProducerId = Callable[[], int | KafkaError | Deferred[int | KafkaError]]


@dataclass(frozen=True, slots=True)
class CoordinatorParts:
    """What the coordinator works with."""

    loop: AbstractEventLoop
    threads: Executor
    clock: Clock
    settings: BrokerSettings
    topic: CoordinatorTopic
    image: Callable[[], MetadataImage]
    new_producer_id: NewProducerId
    background: Background
    markers: MarkerSender


class TransactionCoordinator:
    """The transaction coordinator: gives work to the shard of an id."""

    def __init__(self, parts: CoordinatorParts) -> None:
        self._image = parts.image
        self._retention_ms = parts.settings.transactional_id_expiration_ms
        self._max_timeout_ms = parts.settings.transaction_max_timeout_ms
        self.background = parts.background
        """Work for transactions that takes longer than a request may."""
        self._markers = parts.markers
        self.clock = parts.clock
        services = TransactionShardServices(
            scheduler=parts.loop,
            next_turn=parts.loop.call_soon,
            clock=parts.clock,
            background=parts.background,
            markers=parts.markers,
            new_producer_id=parts.new_producer_id,
            transaction_version=lambda: parts.image().feature(TRANSACTION_VERSION),
        )

        def make_shard(writer: PartitionWriter) -> TransactionShard:
            return TransactionShard(writer, services)

        runtime_settings = RuntimeSettings(
            kind="transaction",
            codec=Codec.NONE,
            write_timeout_ms=parts.settings.request_timeout_ms,
            load_chunk_bytes=parts.settings.transaction_state_log_load_buffer_size,
        )
        self._runtime = CoordinatorRuntime(parts.loop, parts.threads, parts.topic, runtime_settings, make_shard)

    # life

    def start(self) -> None:
        """Begin to load what is there."""
        self._runtime.start()

    def stop(self) -> None:
        """Answer everybody who waits, and serve no more."""
        self.background.stop()
        self._markers.stop()
        self._runtime.stop()

    def on_metadata(self, old: MetadataImage, new: MetadataImage, delta: ImageDelta) -> None:
        """Follow the metadata: leaders of partitions."""
        self._runtime.on_metadata(old, new, delta)

    def follow_settings(self, settings: BrokerSettings) -> None:
        """Follow settings that were changed while the broker runs."""
        self._retention_ms = settings.transactional_id_expiration_ms
        self._max_timeout_ms = settings.transaction_max_timeout_ms

    def abort_overdue(self) -> Iterator[None]:
        """Abort the transactions that have been open for too long, in steps."""
        for shard in self._runtime.shards()[0]:
            yield from shard.abort_overdue()

    def forget_idle(self) -> Iterator[None]:
        """Remove the ids that nobody has used for transactional.id.expiration.ms, in steps."""
        for shard in self._runtime.shards()[0]:
            yield from shard.forget_idle(self._retention_ms)

    # where ids live

    def prepare(self) -> KafkaError | Deferred[KafkaError | None] | None:
        """Make the topic if there is none; return the error COORDINATOR_NOT_AVAILABLE where that cannot be done."""
        return self._runtime.prepare()

    def leader_for(self, transactional_id: str) -> int:
        """Return the broker that leads the partition which an id lives in, -1 for nobody."""
        return self._runtime.leader_for(transactional_id, self._image())

    def shards(self) -> tuple[list[TransactionShard], bool]:
        """Return the shards that serve, in the order of their partitions, and whether these are all that this broker
        has."""
        shards, are_all = self._runtime.shards()
        return sorted(shards, key=lambda shard: shard.index), are_all

    def describe(self, transactional_id: str) -> TransactionMetadata | None:
        """Return what is known of an id, None for nothing.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR.
        """
        return self._runtime.shard(transactional_id).transactions.get(transactional_id)

    # requests

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: Producer | None
    ) -> ProducerResult | Deferred[ProducerResult]:
        """Let a producer begin under an id; `expected` is what it was before, if it says so.

        Errors: INVALID_TRANSACTION_TIMEOUT, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED, INVALID_REQUEST, and those of a
        coordinator that is elsewhere, loads, or cannot write.
        """
        if not 0 < timeout_ms <= self._max_timeout_ms:
            return ProducerResult(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        try:
            shard = self._runtime.shard(transactional_id)
        except KafkaError as elsewhere:
            return ProducerResult(elsewhere.code)
        return shard.initialise(transactional_id, expected, timeout_ms)

    def add(
        self, transactional_id: str, producer: Producer, added: Partitions, version: int
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Take partitions into a transaction; NONE once that is committed. `version` is that of transactions which the
        request speaks: 2 for one by a broker for a client of KIP-890, 0 for one by a client.

        Errors: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
        """
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        try:
            shard = self._runtime.shard(transactional_id)
        except KafkaError as elsewhere:
            return elsewhere.code
        return shard.add(transactional_id, producer, added, version)

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        version: int,
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Take partitions into a transaction, as `add` does."""
        return self.add(transactional_id, Producer(producer_id, producer_epoch), by_topic(partitions), version)

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Return for each partition whether it is in the open transaction: NONE, TRANSACTION_ABORTABLE where it is not,
        or the same error for all, as `add` has them."""
        error = ErrorCode.INVALID_REQUEST
        if transactional_id:
            try:
                shard = self._runtime.shard(transactional_id)
            except KafkaError as elsewhere:
                return dict.fromkeys(partitions, elsewhere.code)
            known = shard.verify(transactional_id, Producer(producer_id, producer_epoch))
            if isinstance(known, TransactionMetadata):
                held = known.partitions
                return {
                    one: ErrorCode.NONE if one.partition in held.get(one.topic, ()) else ErrorCode.TRANSACTION_ABORTABLE
                    for one in partitions
                }
            error = known
        return dict.fromkeys(partitions, error)

    def end_transaction(
        self, transactional_id: str, producer: Producer, is_commit: bool, version: int
    ) -> ProducerResult | Deferred[ProducerResult]:
        """Decide how a transaction ends; the producer of the next one, once that is committed. `version` is that of
        transactions which the request speaks.

        Errors: INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS,
        INVALID_TXN_STATE.
        """
        if not transactional_id:
            return ProducerResult(ErrorCode.INVALID_REQUEST)
        try:
            shard = self._runtime.shard(transactional_id)
        except KafkaError as elsewhere:
            return ProducerResult(elsewhere.code)
        return shard.end(transactional_id, producer, is_commit, version)


def by_topic(partitions: Sequence[TopicPartition]) -> Partitions:
    """Return partitions by their topic."""
    found: dict[str, set[int]] = {}
    for topic, index in partitions:
        found.setdefault(topic, set()).add(index)
    return {topic: frozenset(indexes) for topic, indexes in found.items()}
