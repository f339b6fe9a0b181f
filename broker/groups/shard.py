"""One partition of `__consumer_offsets`: the groups that live in it, and their committed offsets.

Owns: the order in which effects of the state machines are carried out (append, apply, answer, timers), and who waits
for what. A shard is loaded from its log before it serves. Must not know: requests of any version, which partition a
group belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from odradek.broker.groups.classic.group import ClassicGroup
from odradek.broker.groups.classic.values import Limits
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.effects import Answer, Effects, Record, TimerKey, Token
from odradek.broker.groups.group import Group, is_gone, loaded, on_timer, unload
from odradek.broker.groups.loading import Loader
from odradek.broker.groups.offsets import OffsetStore
from odradek.broker.groups.plain_records import KeyAndValue
from odradek.broker.groups.records import OffsetKey, encode_offset_key, encode_record
from odradek.broker.groups.shard_log import ShardLog
from odradek.broker.groups.timers import Scheduler, Timers
from odradek.broker.groups.visible import VisibleOffsets
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.partitions.partition import Partition
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, OffsetCommitKey

TOMBSTONES_PER_BATCH = 2000
"""A batch must fit the largest message of the topic."""


class Failed(NamedTuple):
    """The answer to a request that could not be carried out."""

    error: ErrorCode


class ShardState(Enum):
    """Whether a shard serves."""

    LOADING = "its log is read"
    ACTIVE = "it serves"
    FAILED = "its log could not be read"
    CLOSED = "the partition is gone, or the broker stops"


@dataclass(frozen=True, slots=True)
class ShardServices:
    """What every shard of a broker is given."""

    scheduler: Scheduler
    clock: Clock
    limits: Limits
    consumer_settings: Callable[[str], ConsumerGroupSettings]
    """Of a group, by its name."""
    image: Callable[[], MetadataImage]
    codec: int
    commit_timeout_ms: int
    load_chunk_bytes: int


class Shard:
    """See the module."""

    def __init__(self, partition: Partition, services: ShardServices) -> None:
        self.services = services
        self.log = ShardLog(partition, services.scheduler, services.codec, services.commit_timeout_ms)
        self._timers: Timers[tuple[str, TimerKey]] = Timers(services.scheduler, self._on_timer)
        self._deleted_topics: list[str] = []
        self.begin_loading()
        assert self.loader is not None
        if self.loader.is_at_end:
            self.finish_loading()

    # loading

    def begin_loading(self) -> None:
        """Know nothing, and read the log from its start."""
        partition = self.log.partition
        self.offsets = OffsetStore()
        self.visible = VisibleOffsets(self.offsets, lambda: partition.high_watermark)
        """The offsets as they may be told."""
        self.groups: dict[str, Group] = {}
        self.loader: Loader | None = Loader(partition.log, self.offsets, self.services.load_chunk_bytes)
        self.state = ShardState.LOADING

    def finish_loading(self) -> None:
        """Make groups of the records that were read, and serve."""
        assert self.loader is not None
        now = self.services.clock.now_ms()
        for record in self.loader.group_records():
            self._replay(record)
        for group_id in self.offsets.groups:
            self._group_with_offsets(group_id, now)
        self.loader = None
        self.state = ShardState.ACTIVE
        for group in list(self.groups.values()):
            self.carry_out(group, loaded(group, now))
        for topic in self._deleted_topics:
            self.remove_topic(topic)
        self._deleted_topics.clear()

    def fail(self) -> None:
        """Serve nothing: what cannot be read cannot be served. `begin_loading` tries again."""
        self.loader = None
        self.groups.clear()
        self._timers.clear()
        self.state = ShardState.FAILED

    def close(self) -> None:
        """Serve no more: everybody who waits is told to look for the coordinator."""
        now = self.services.clock.now_ms()
        self.loader = None
        self.state = ShardState.CLOSED
        for group in list(self.groups.values()):
            self.carry_out(group, unload(group, ErrorCode.NOT_COORDINATOR, now))
        self.groups.clear()
        self._timers.clear()

    def _replay(self, record: Record) -> None:
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

    def ask(self, group: Group, event: Callable[[Token], Effects]) -> Answer | Deferred[Answer]:
        """Let a group work on a request, and return its answer, or the place where it will be."""
        answer: Deferred[Answer] = Deferred()
        self.carry_out(group, event(answer))
        if group.group_id not in self.groups and self.offsets.has_offsets(group.group_id):
            self._group_with_offsets(group.group_id, self.services.clock.now_ms())  # it gave way for nothing
        return answer.now_or_later()

    def carry_out(self, group: Group, effects: Effects) -> None:
        """Do what a machine wants; see `effects`.

        Answers go out last of all: an answer may let its connection send the next request at once, and that must find
        everything done.
        """
        end = -1
        answers: list[tuple[Token, Answer]] = []
        following: Effects | None = effects
        while following is not None:
            effects, following = following, None
            error = ErrorCode.NONE
            if effects.records:
                try:
                    end = self._append(effects.records)
                except KafkaError as failed:
                    error = failed.code
            for key, delay_ms in effects.timers:
                name = (group.group_id, key)
                if delay_ms is None:
                    self._timers.cancel(name)
                else:
                    self._timers.set(name, delay_ms)
            if error is ErrorCode.NONE:
                answers += effects.answers
            else:
                answers += [(token, Failed(error)) for token, _ in effects.answers]
            if effects.after is not None:
                following = effects.after(error, self.services.clock.now_ms())
        self._keep_or_drop(group)
        if answers:
            self._give(answers, end)

    def _keep_or_drop(self, group: Group) -> None:
        """Forget a group that is gone, and let one that has become a group of the other kind take its place."""
        group_id = group.group_id
        if not is_gone(group):
            self.groups[group_id] = group
        elif self.groups.get(group_id) is group:
            del self.groups[group_id]
            if isinstance(group, ConsumerGroup) and group.successor is not None:
                now = self.services.clock.now_ms()
                classic = self.groups[group_id] = ClassicGroup.from_record(
                    group_id, group.successor, self.services.limits
                )
                self.carry_out(classic, classic.loaded(now))
                if group.successor_rebalances:
                    self.carry_out(classic, classic.rebalance(now))

    def _append(self, records: Sequence[Record]) -> int:
        pairs = [encode_record(record) for record in records]
        end = self.log.append(pairs, self.services.clock.now_ms())
        for record, (_, value) in zip(records, pairs, strict=True):
            key = record.key
            if isinstance(key, OffsetCommitKey):
                self._take_over(OffsetKey(key.group, key.topic, key.partition), value, end)
        return end

    def _take_over(self, key: OffsetKey, value: bytes | None, end: int) -> None:
        if self.log.is_safe(end):
            self.offsets.apply(key, value)
        else:
            self.visible.apply(key, value, end)

    def _give(self, answers: Sequence[tuple[Token, Answer]], end: int) -> None:
        def give(error: ErrorCode) -> None:
            for token, answer in answers:
                assert isinstance(token, Deferred)
                token.resolve(answer if error is ErrorCode.NONE else Failed(error))

        if end < 0 or self.log.is_safe(end):
            give(ErrorCode.NONE)
        else:
            self.log.when_safe(end, give)

    def _on_timer(self, name: tuple[str, TimerKey]) -> None:
        group_id, key = name
        group = self.groups.get(group_id)
        if group is not None:
            self.carry_out(group, on_timer(group, key, self.services.clock.now_ms()))

    # offsets

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """The marker that ends a producer's transaction is in the log: its offsets count now, or never will."""
        self.offsets.end_transaction(producer_id, committed)

    def write_offsets(self, commits: Sequence[tuple[OffsetKey, bytes | None]]) -> ErrorCode | Deferred[ErrorCode]:
        """Append offsets (None removes one) in one batch, and take them over; return how that went once it is safe."""
        pairs: list[KeyAndValue] = [(encode_offset_key(key), value) for key, value in commits]
        now = self.services.clock.now_ms()
        try:
            end = self.log.append(pairs, now)
        except KafkaError as failed:
            return failed.code
        for key, value in commits:
            self._take_over(key, value, end)
            if value is not None:
                self._group_with_offsets(key.group, now)
        if self.log.is_safe(end):
            return ErrorCode.NONE
        return self._when_safe(end)

    def when_all_safe(self) -> ErrorCode | Deferred[ErrorCode]:
        """Return NONE if everything that was appended until now is safe; otherwise how that went, once it is known."""
        end = self.log.end
        return ErrorCode.NONE if self.log.is_safe(end) else self._when_safe(end)

    def _when_safe(self, end: int) -> Deferred[ErrorCode]:
        waiting: Deferred[ErrorCode] = Deferred()
        self.log.when_safe(end, waiting.resolve)
        return waiting

    def remove_offsets(self, keys: Sequence[OffsetKey]) -> ErrorCode | Deferred[ErrorCode]:
        """Append tombstones; return how the last batch of them went."""
        result: ErrorCode | Deferred[ErrorCode] = ErrorCode.NONE
        for start in range(0, len(keys), TOMBSTONES_PER_BATCH):
            result = self.write_offsets([(key, None) for key in keys[start : start + TOMBSTONES_PER_BATCH]])
            if isinstance(result, ErrorCode) and result is not ErrorCode.NONE:
                return result
        return result

    def remove_topic(self, topic: str) -> None:
        """The topic is deleted, and all offsets in it with it."""
        if self.state in (ShardState.LOADING, ShardState.FAILED):
            self._deleted_topics.append(topic)
        elif self.state is ShardState.ACTIVE:
            self.remove_offsets(self.offsets.keys_in_topic(topic))
