"""A consumer group with a log that is a list, clients that are told what to do, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Protocol
from uuid import UUID

from odradek.broker.coordinator.effects import CoordinatorRecord, Effects, TimerKey
from odradek.broker.groups.consumer.group import ConsumerGroup
from odradek.broker.groups.consumer.heartbeat import ClientInfo, ConsumerHeartbeatResult
from odradek.broker.groups.consumer.settings import ConsumerGroupSettings
from odradek.broker.groups.records import decode_record, encode_record
from odradek.broker.metadata.image import MetadataImage, PartitionImage, TopicImage
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

GROUP = "g"
CLIENT = ClientInfo("tests", "/127.0.0.1")
PARTITION = PartitionImage((1,), (1,), 1, 0, 0)


def image_of(partitions: Mapping[str, int], ids: Mapping[str, UUID] | None = None) -> MetadataImage:
    """Return an image with these topics; the id of a topic follows from its name unless given."""
    known = ids or {}
    topics = [
        TopicImage(name, known.get(name, topic_id(name)), (PARTITION,) * count) for name, count in partitions.items()
    ]
    return MetadataImage(
        topics_by_name={topic.name: topic for topic in topics}, topics_by_id={topic.topic_id: topic for topic in topics}
    )


def topic_id(name: str) -> UUID:
    """Return the id that `image_of` gives a topic."""
    return UUID(bytes=name.encode().ljust(16, b"\0")[:16])


class GroupUnderTest:
    """Carries out the effects of one group, and keeps what a shard would keep."""

    def __init__(
        self,
        topics: Mapping[str, int],
        settings: ConsumerGroupSettings | None = None,
        log: Iterable[CoordinatorRecord] = (),
    ) -> None:
        self.image = image_of(topics)
        self.settings = settings or ConsumerGroupSettings()
        self.group = ConsumerGroup(GROUP, lambda: self.settings, lambda: self.image)
        self.now = 1_000_000
        self.log: list[CoordinatorRecord] = []
        self.timers: dict[TimerKey, int] = {}
        self.append_error = ErrorCode.NONE
        self.background: list[Generator[None, None, Callable[[int], Effects]]] = []
        self.client = CLIENT
        self.works_at_once = True
        """Whether work in the background is done behind the event that began it; otherwise see `work`."""
        for record in log:
            self.group.apply(record)
            self.log.append(record)
        self.carry_out(self.group.loaded())

    def carry_out(self, effects: Effects) -> ConsumerHeartbeatResult | None:
        """Do as a shard does; return the answer, if there is one."""
        error = ErrorCode.NONE
        answer: ConsumerHeartbeatResult | None = None
        for key, delay in effects.timers:
            if delay is None:
                self.timers.pop(key, None)
            else:
                self.timers[key] = delay
        if effects.records:
            error = self.append_error
            if error is ErrorCode.NONE:
                for record in effects.records:
                    assert decode_record(*encode_record(record)) == record, "a record is read as it was written"
                self.log += effects.records
        for _, result in effects.answers:
            assert isinstance(result, ConsumerHeartbeatResult)
            answer = result if error is ErrorCode.NONE else ConsumerHeartbeatResult(error)
        if effects.background is not None and error is ErrorCode.NONE:
            self.background.append(effects.background)
        if effects.after is not None:
            self.carry_out(effects.after(error, self.now))
        if self.works_at_once:
            self.work()
        return answer

    def work(self) -> None:
        """Do all that is to be done in the background."""
        while self.background:
            work = self.background.pop()
            try:
                while True:
                    next(work)
            except StopIteration as done:
                self.carry_out(done.value(self.now))

    def beat(self, member_id: str, epoch: int, **fields: object) -> ConsumerHeartbeatResult:
        """Send a heartbeat."""
        request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=member_id, member_epoch=epoch)
        for name, value in fields.items():
            setattr(request, name, value)
        answer = self.carry_out(self.group.heartbeat(request, self.client, object(), self.now))
        assert answer is not None
        return answer

    def join(self, member_id: str, *topics: str, **fields: object) -> ConsumerHeartbeatResult:
        """Send the heartbeat of a client that joins."""
        full: dict[str, object] = {
            "rebalance_timeout_ms": 30_000,
            "subscribed_topic_names": list(topics),
            "topic_partitions": [],
        }
        return self.beat(member_id, 0, **(full | fields))

    def expire(self, kind: str, member_id: str) -> None:
        """Let a timer run out."""
        del self.timers[TimerKey(kind, member_id)]
        self.carry_out(self.group.on_timer(TimerKey(kind, member_id), self.now))

    def reloaded(self) -> GroupUnderTest:
        """Return the group as it is after a restart: made of the last record of each key."""
        again = GroupUnderTest({}, self.settings, self.reloaded_records())
        again.image = self.image
        return again

    def reloaded_records(self) -> list[CoordinatorRecord]:
        """Return what a compacted log would have: the last record of each key, tombstones left out."""
        last = {encode_record(record)[0]: record for record in self.log}
        return [record for record in self.log if last[encode_record(record)[0]] is record and record.value is not None]


def owned(partitions: Mapping[UUID, Iterable[int]]) -> list[TopicPartitions]:
    """Return partitions in the form of a request."""
    return [TopicPartitions(topic_id=topic, partitions=sorted(indexes)) for topic, indexes in partitions.items()]


class FakeMember:
    """A client that does what it is told: takes over assignments, and reports what it has."""

    def __init__(self, under_test: GroupUnderTest, member_id: str, *topics: str, **fields: object) -> None:
        self.under_test = under_test
        self.member_id = member_id
        self.fields = fields
        self.topics = topics
        self.epoch = 0
        self.has: Mapping[UUID, frozenset[int]] = {}
        self.told: Mapping[UUID, frozenset[int]] = {}
        self.join()

    def join(self) -> ConsumerHeartbeatResult:
        """Join, or join again, with nothing."""
        self.has, self.epoch = {}, 0
        answer = self.under_test.join(self.member_id, *self.topics, **self.fields)
        return self._take(answer)

    def beat(self, **fields: object) -> ConsumerHeartbeatResult:
        """Report what it has, and take over what it is told."""
        answer = self.under_test.beat(self.member_id, self.epoch, **({"topic_partitions": owned(self.has)} | fields))
        return self._take(answer)

    def beat_in_full(self) -> ConsumerHeartbeatResult:
        """Say all of itself, as after an answer that did not come."""
        full = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": list(self.topics)}
        return self.beat(**(full | self.fields))

    def obey(self) -> None:
        """Give up and take over partitions, as last told."""
        self.has = self.told

    def _take(self, answer: ConsumerHeartbeatResult) -> ConsumerHeartbeatResult:
        if answer.error is ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.told = answer.assignment
                gone = {topic: self.has[topic] & self.told.get(topic, frozenset()) for topic in self.has}
                self.has = {topic: kept for topic, kept in gone.items() if kept}
        return answer


class Settling(Protocol):
    """A member that can settle."""

    under_test: GroupUnderTest
    epoch: int
    has: Mapping[UUID, frozenset[int]]

    def beat(self) -> object:
        """Send a heartbeat."""

    def obey(self) -> None:
        """Do as it was told."""


def settle(*members: Settling, rounds: int = 20) -> None:
    """Let all members send heartbeats and obey until nothing changes any more."""
    for _ in range(rounds):
        before = [(member.epoch, member.has, member.under_test.group.state.epoch) for member in members]
        for member in members:
            member.beat()
            member.obey()
        if before == [(member.epoch, member.has, member.under_test.group.state.epoch) for member in members]:
            return
    raise AssertionError("the group does not settle")
