"""One partition of `__consumer_offsets`: the groups that live in it, and their committed offsets.

Owns: which groups there are, and what an appended record does to the offsets. It is loaded from its log before it
serves, and unloaded when another broker leads, by the coordinator runtime. Must not know: requests of any version,
which partition a group belongs to, how the log is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from odradek.broker.coordinator.background import Slices
from odradek.broker.coordinator.effects import CoordinatorRecord, Effects, OperationResult, TimerKey, Token
from odradek.broker.coordinator.operations import CoordinatorOperations, OperationServices
from odradek.broker.coordinator.plain_records import KeyAndValue
from odradek.broker.coordinator.writer import OpenTransaction, PartitionWriter
from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import ClassicGroupLimits
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.group import Group, is_gone, loaded, on_timer, unload
from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.playback import GroupPlayback
from odradek.broker.groups.records import OffsetKey, OffsetRecord, decode_committed, encode_commit, encode_record
from odradek.broker.groups.visible import VisibleOffsets
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.partitions.transaction_marker import TransactionMarker
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, OffsetCommitKey

TOMBSTONES_PER_BATCH = 2000
"""A batch must fit the largest message of the topic."""
OFFSETS_PER_SLICE = 500
"""Offsets looked at or removed before others get their turn."""
GROUPS_PER_SLICE = 20
"""Groups looked at before others get their turn."""


@dataclass(frozen=True, slots=True)
class ShardServices:
    """What the shards of all partitions share."""

    operations: OperationServices
    limits: ClassicGroupLimits
    consumer_settings: Callable[[str], ConsumerGroupSettings]
    """Of a group, by its name."""
    image: Callable[[], MetadataImage]


class GroupShard:
    """The groups and offsets of one partition of `__consumer_offsets`."""

    def __init__(self, writer: PartitionWriter, services: ShardServices) -> None:
        """Make an empty one: call `loaded` once `playback` has all records."""
        self.services = services
        self.writer = writer
        self.operations: CoordinatorOperations[Group] = CoordinatorOperations(writer, services.operations, self)
        self.groups: dict[str, Group] = {}
        self.offsets = OffsetStore()
        partition = writer.partition
        self.visible = VisibleOffsets(self.offsets, lambda: partition.high_watermark)
        """The offsets as they may be told."""
        self._playback: GroupPlayback | None = GroupPlayback(self.offsets, f"{partition.topic}-{partition.index}")

    # life

    @property
    def playback(self) -> GroupPlayback:
        """What takes the records of the log in."""
        assert self._playback is not None, "everything is read"
        return self._playback

    def loaded(self) -> None:
        """Make groups of the records that were read, and serve."""
        now = self.services.operations.clock.now_ms()
        for record in self.playback.group_records():
            self._replay(record)
        self._playback = None
        for group_id in self.offsets.groups:
            self._group_with_offsets(group_id, now)
        for group in list(self.groups.values()):
            self.carry_out(group, loaded(group, now))

    def unload(self, error: ErrorCode) -> None:
        """Serve no more: everybody who waits is told `error`."""
        now = self.services.operations.clock.now_ms()
        for group in list(self.groups.values()):
            self.carry_out(group, unload(group, error, now))
        self.groups.clear()
        self.operations.stop()

    def _replay(self, record: CoordinatorRecord) -> None:
        key, value = record
        if isinstance(key, GroupMetadataKey):
            assert isinstance(value, GroupMetadataValue)
            self.groups[key.group] = ClassicGroup.from_record(key.group, value, self.services.limits)
            return
        group_id = getattr(key, "group_id", None)
        if isinstance(group_id, str):
            group = self.groups.get(group_id)
            if not isinstance(group, ConsumerGroup):
                group = self.groups[group_id] = self._new_consumer_group(group_id)
            group.apply(record)

    def _group_with_offsets(self, group_id: str, now: int) -> None:
        """Make sure that there is a group: offsets alone make one, whoever commits them keeps no membership here."""
        if group_id not in self.groups:
            self.groups[group_id] = ClassicGroup(group_id, self.services.limits, now, is_new=False)

    # machines

    def classic_group(self, group_id: str, now: int) -> Group:
        """Return the group of that name for who joins with the classic protocol; a new classic one if there is none.

        A consumer group without members gives way; one that has some is returned.
        """
        group = self.groups.get(group_id)
        if group is None or (isinstance(group, ConsumerGroup) and self._gives_way(group)):
            group = self.groups[group_id] = ClassicGroup(group_id, self.services.limits, now)
        return group

    def consumer_group(self, group_id: str, create: bool) -> ConsumerGroup | None:
        """Return the consumer group of that name, a new one if there is none and `create` is set.

        A classic group without members gives way; one that has some becomes the new group when somebody has joined.
        """
        group = self.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if not create:
            return None
        if group is not None and not self._gives_way(group):
            return self._new_consumer_group(group_id, group)
        group = self.groups[group_id] = self._new_consumer_group(group_id)
        return group

    def _new_consumer_group(self, group_id: str, predecessor: ClassicGroup | None = None) -> ConsumerGroup:
        services = self.services
        return ConsumerGroup(group_id, lambda: services.consumer_settings(group_id), services.image, predecessor)

    def _gives_way(self, group: Group) -> bool:
        """Remove a group without members for one of the other kind; its offsets stay."""
        if group.delete_error() is not ErrorCode.NONE:
            return False
        self.carry_out(group, group.delete())
        return group.group_id not in self.groups

    def ask(self, group: Group, event: Callable[[Token], Effects]) -> OperationResult | Deferred[OperationResult]:
        """Let a group work on a request, and return its answer, or the place where it will be."""
        answer = self.operations.ask(group.group_id, group, event)
        if group.group_id not in self.groups and self.offsets.has_offsets(group.group_id):
            self._group_with_offsets(group.group_id, self.services.operations.clock.now_ms())  # it gave way for nothing
        return answer

    def carry_out(self, group: Group, effects: Effects) -> None:
        """Do what a group wants; see `effects`."""
        self.operations.carry_out(group.group_id, group, effects)

    # what the runtime asks of the machines

    def encode(self, record: CoordinatorRecord) -> KeyAndValue:
        """Return key and value of a record as they are stored."""
        return encode_record(record)

    def appended(self, record: CoordinatorRecord, value: bytes | None, end: int) -> None:
        """Take over an offset; what else is written, the group that wrote it knows."""
        key = record.key
        if isinstance(key, OffsetCommitKey):
            self._take_over(OffsetKey(key.group, key.topic, key.partition), value, end)

    def settle(self, machine: Group) -> None:
        """Forget a group that is gone, and let one that has become a group of the other kind take its place."""
        group_id = machine.group_id
        if not is_gone(machine):
            self.groups[group_id] = machine
        elif self.groups.get(group_id) is machine:
            del self.groups[group_id]
            if isinstance(machine, ConsumerGroup) and machine.successor is not None:
                now = self.services.operations.clock.now_ms()
                classic = self.groups[group_id] = ClassicGroup.from_record(
                    group_id, machine.successor, self.services.limits
                )
                self.carry_out(classic, classic.loaded(now))
                if machine.successor_rebalances:
                    self.carry_out(classic, classic.rebalance(now))

    def on_timer(self, name: str, key: TimerKey) -> None:
        """A timer of a group ran out."""
        group = self.groups.get(name)
        if group is not None:
            self.carry_out(group, on_timer(group, key, self.services.operations.clock.now_ms()))

    # offsets

    def write_marker(self, marker: TransactionMarker) -> ErrorCode | Deferred[ErrorCode]:
        """Append the marker that ends a producer's transaction: its offsets count from now on, or never will.

        Who fetches offsets sees that once the marker is safe, which is when this is answered.
        """
        try:
            end = self.writer.append_marker(marker, self.services.operations.clock.now_ms())
        except KafkaError as failed:
            return failed.code
        self.visible.end_transaction(marker.producer_id, marker.committed, end)
        return self.operations.when_safe(end)

    def write_transactional_offsets(
        self, commits: Sequence[OffsetRecord], transaction: OpenTransaction
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Append offsets of a producer's transaction in one batch; they wait for its end. Return how that went once the
        batch is safe."""
        now = self.services.operations.clock.now_ms()
        try:
            end = self.writer.append([(raw_key, value) for _, raw_key, value in commits], now, transaction)
        except KafkaError as failed:
            return failed.code
        for position, (key, _, value) in enumerate(commits, end - len(commits)):
            self.offsets.apply_pending(transaction.producer_id, key, value, position)
            self._group_with_offsets(key.group, now)
        return self.operations.when_safe(end)

    def write_offsets(self, commits: Sequence[OffsetRecord]) -> ErrorCode | Deferred[ErrorCode]:
        """Append offsets in one batch, and take them over; return how that went once it is safe."""
        pairs: list[KeyAndValue] = [(raw_key, value) for _, raw_key, value in commits]
        now = self.services.operations.clock.now_ms()
        try:
            end = self.writer.append(pairs, now)
        except KafkaError as failed:
            return failed.code
        for key, _, value in commits:
            self._take_over(key, value, end)
            if value is not None:
                self._group_with_offsets(key.group, now)
        return self.operations.when_safe(end)

    def when_all_safe(self) -> ErrorCode | Deferred[ErrorCode]:
        """Return NONE if everything that was appended until now is safe; otherwise how that went, once it is known."""
        return self.operations.when_safe(self.writer.end)

    def remove_offsets(self, keys: Sequence[OffsetKey]) -> ErrorCode | Deferred[ErrorCode]:
        """Append tombstones; return how the last batch of them went."""
        result: ErrorCode | Deferred[ErrorCode] = ErrorCode.NONE
        for start in range(0, len(keys), TOMBSTONES_PER_BATCH):
            result = self.write_offsets(
                [encode_commit(key, None) for key in keys[start : start + TOMBSTONES_PER_BATCH]]
            )
            if isinstance(result, ErrorCode) and result is not ErrorCode.NONE:
                return result
        return result

    def remove_topics(self, topics: frozenset[str]) -> Slices[None]:
        """These topics are deleted, and all offsets in them go, in open transactions too; those stay that were
        committed since for a new topic of the name."""
        self._remove_of_deleted(self.offsets.pending_in(topics))
        for count, group_id in enumerate(list(self.offsets.groups)):
            keys = self.offsets.stored_in(group_id, topics)
            for start in range(0, len(keys), OFFSETS_PER_SLICE):
                self._remove_of_deleted(keys[start : start + OFFSETS_PER_SLICE])
                yield
            if count % GROUPS_PER_SLICE == 0:
                yield

    def _remove_of_deleted(self, keys: Sequence[OffsetKey]) -> None:
        image = self.services.image()
        removed = []
        for key in keys:
            topic, value = image.topic(key.topic), self.offsets.value_of(key)
            if topic is None or value is None or decode_committed(value).topic_id != topic.topic_id:
                removed.append(key)
        self.remove_offsets(removed)

    def _take_over(self, key: OffsetKey, value: bytes | None, end: int) -> None:
        if self.writer.is_safe(end):
            self.offsets.apply(key, value)
        else:
            self.visible.apply(key, value, end)
