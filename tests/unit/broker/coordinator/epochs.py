"""A small kind of coordinator, for tests of the runtime: every name has an epoch, and somebody may wait for the next.

It has nothing of groups: it shows what a kind of coordinator has to bring, and that the runtime asks for nothing else.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from odradek.broker.coordinator.background import Background
from odradek.broker.coordinator.effects import CoordinatorRecord, Effects, Now, OperationResult, TimerKey, Token
from odradek.broker.coordinator.operations import CoordinatorOperations, OperationServices
from odradek.broker.coordinator.runtime import CoordinatorRuntime, RuntimeSettings
from odradek.broker.coordinator.topic import CoordinatorTopic
from odradek.broker.coordinator.writer import PartitionWriter
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from odradek.broker.partitions.table import PartitionTable
from odradek.broker.runtime.deferred import Deferred
from odradek.config.loading import load_settings
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from odradek.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from tests.unit.broker.groups.coordinator_world import Cluster, topic_config
from tests.unit.broker.groups.shard_world import ManualFlusher, ManualScheduler
from tests.unit.broker.metadata.support import NODE, record_of

LONGEST_WAIT_MS = 5000
OTHER_NODE = 2


class Told(NamedTuple):
    """The answer: an epoch."""

    error: ErrorCode
    epoch: int = -1


class Epoch:
    """The machine: a name's epoch, and who waits for the next one."""

    def __init__(self, name: str, epoch: int = 0) -> None:
        self.name = name
        self.epoch = epoch
        self.waiting: list[Token] = []

    def bump(self, token: Token) -> Effects:
        """Go to the next epoch, and tell it to everybody, once it is written."""
        effects = Effects()
        following = self.epoch + 1
        effects.records.append(
            CoordinatorRecord(
                TransactionLogKey(transactional_id=self.name), TransactionLogValue(producer_epoch=following)
            )
        )

        def written(error: ErrorCode, _: Now) -> Effects:
            then = Effects()
            if error is ErrorCode.NONE:
                self.epoch = following
                then.answers += [(one, Told(ErrorCode.NONE, following)) for one in (*self.waiting, token)]
                then.timers.append((TimerKey("wait"), None))
                self.waiting.clear()
            else:
                then.answers.append((token, Told(error)))
            return then

        effects.after = written
        return effects

    def wait(self, token: Token) -> Effects:
        """Wait for the next epoch, but not for ever."""
        effects = Effects()
        self.waiting.append(token)
        effects.timers.append((TimerKey("wait"), LONGEST_WAIT_MS))
        return effects

    def give_up(self, error: ErrorCode) -> Effects:
        """Tell everybody who waits that there is none."""
        effects = Effects()
        effects.answers += [(one, Told(error)) for one in self.waiting]
        effects.timers.append((TimerKey("wait"), None))
        self.waiting.clear()
        return effects


class EpochShard:
    """The epochs of one partition; also what takes its records in."""

    def __init__(self, writer: PartitionWriter, scheduler: ManualScheduler, cluster: Cluster) -> None:
        self.operations: CoordinatorOperations[Epoch] = CoordinatorOperations(
            writer, OperationServices(scheduler, cluster.clock, Background(scheduler)), self
        )
        self.writer = writer
        self.epochs: dict[str, Epoch] = {}

    @property
    def playback(self) -> EpochShard:
        """Itself."""
        return self

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Take an epoch over; the name is all that follows its length."""
        name = key[4:].decode()
        assert value is not None
        self.epochs[name] = Epoch(name, int.from_bytes(value[10:12], "big"))

    def replay_pending(self, producer_id: int, key: bytes, value: bytes | None, offset: int) -> None:
        """There are none."""
        raise AssertionError(producer_id, key, value, offset)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """There are none."""
        raise AssertionError(producer_id, committed)

    def loaded(self) -> None:
        """Nothing waits yet."""

    def unload(self, error: ErrorCode) -> None:
        """Answer everybody."""
        for epoch in self.epochs.values():
            self.operations.carry_out(epoch.name, epoch, epoch.give_up(error))
        self.epochs.clear()
        self.operations.stop()

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Return the bytes of a record, version 0."""
        assert record.value is not None
        return b"\0\0" + encode(record.key, 0), b"\0\0" + encode(record.value, 0)

    def appended(self, record: CoordinatorRecord, value: bytes | None, end: int) -> None:
        """The machine knows."""

    def settle(self, machine: Epoch) -> None:
        """Keep it."""
        self.epochs[machine.name] = machine

    def on_timer(self, name: str, key: TimerKey) -> None:
        """It was too long."""
        assert key == TimerKey("wait")
        epoch = self.epochs[name]
        self.operations.carry_out(name, epoch, epoch.give_up(ErrorCode.REQUEST_TIMED_OUT))


class EpochCoordinator:
    """All epochs of a broker; to be made inside a running loop."""

    def __init__(self, cluster: Cluster, *, is_prepared: bool = True) -> None:
        """`is_prepared`: somebody has asked for the coordinator, so that its topic is there and known."""
        self.cluster = cluster
        self.flusher = ManualFlusher()
        self.scheduler = ManualScheduler(cluster.clock)
        self.partitions = PartitionTable(NODE, cluster.logs, self.flusher, topic_config, lambda _: None, lambda: 0.0)
        self.partitions.apply(MetadataImage(), cluster.source.image)
        self.partitions.open_all()
        cluster.source.watch(lambda old, new, _: self.partitions.apply(old, new))
        settings = load_settings(None, ["transaction.state.log.num.partitions=2"])
        self.runtime: CoordinatorRuntime[EpochShard] = CoordinatorRuntime(
            asyncio.get_running_loop(),
            threads := ThreadPoolExecutor(1),
            CoordinatorTopic(TRANSACTIONS_TOPIC, 1, cluster.controller(), self.partitions, settings),
            RuntimeSettings(kind="epoch", codec=0, write_timeout_ms=5000, load_chunk_bytes=1 << 20),
            lambda writer: EpochShard(writer, self.scheduler, cluster),
        )
        cluster.source.watch(self.runtime.on_metadata)
        self.threads = threads
        if is_prepared:
            self.runtime.prepare()

    def stop(self) -> None:
        """Stop it."""
        self.runtime.stop()
        self.threads.shutdown()

    def bump(self, name: str) -> OperationResult | Deferred[OperationResult]:
        """Ask for the next epoch of a name. Raises KafkaError."""
        shard, epoch = self._find(name)
        return shard.operations.ask(name, epoch, epoch.bump)

    def wait(self, name: str) -> list[OperationResult]:
        """Return where the next epoch of a name will be. Raises KafkaError."""
        shard, epoch = self._find(name)
        answer = shard.operations.ask(name, epoch, epoch.wait)
        assert isinstance(answer, Deferred)
        found: list[OperationResult] = []
        answer.on_done(found.append)
        return found

    def _find(self, name: str) -> tuple[EpochShard, Epoch]:
        shard = self.runtime.shard(name)
        return shard, shard.epochs.get(name) or Epoch(name)

    def move(self, leader: int) -> None:
        """Let a broker lead all partitions, as a controller would."""
        image = self.cluster.source.image
        topic = image.topic(TRANSACTIONS_TOPIC)
        assert topic is not None
        changes = [
            PartitionChangeRecord(partition_id=index, topic_id=topic.topic_id, leader=leader)
            for index in range(len(topic.partitions))
        ]
        self.cluster.source.propose([record_of(change) for change in changes], image)
