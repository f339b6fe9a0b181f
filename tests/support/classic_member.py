"""A client of the classic protocol in a consumer group: joins again when it is told to, and says what it has."""

from __future__ import annotations

from collections.abc import Mapping
from struct import pack
from uuid import UUID

from odradek.broker.coordinator.effects import Effects, OperationResult
from odradek.broker.groups.classic.values import (
    ClassicHeartbeat,
    HeartbeatResult,
    JoinRequest,
    JoinResult,
    LeavingMember,
    SupportedProtocol,
    SyncRequest,
    SyncResult,
)
from odradek.broker.groups.consumer.embedded import by_id, read_assignment
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription, TopicPartition
from tests.support.consumer_group import GroupUnderTest


class FakeClassicMember:
    """Does what it is told, as a consumer with a cooperative assignor does, or an eager one."""

    def __init__(
        self,
        under_test: GroupUnderTest,
        member_id: str,
        *topics: str,
        cooperative: bool = True,
        instance_id: str | None = None,
    ) -> None:
        self.under_test = under_test
        self.member_id = member_id
        self.topics = topics
        self.cooperative = cooperative
        self.instance_id = instance_id
        self.fields: dict[str, object] = {}
        self.epoch = 0
        self.has: Mapping[UUID, frozenset[int]] = {}
        self.join()

    def join(self) -> JoinResult:
        """Join, or join again, and ask what it has then."""
        if not self.cooperative:
            self.has = {}
        is_takeover = self.instance_id is not None and not self.epoch
        request = JoinRequest(
            "" if is_takeover else self.member_id,
            self.instance_id,
            "tests",
            "/127.0.0.1",
            10_000,
            20_000,
            "consumer",
            (SupportedProtocol("range", self._subscription()),),
            9,
            self.member_id,
        )
        answer = self._tell(self.under_test.group.join(request, object(), self.under_test.now))
        assert isinstance(answer, JoinResult)
        if answer.error is ErrorCode.NONE:
            self.member_id, self.epoch = answer.member_id, answer.generation
            self.sync()
        return answer

    def sync(self) -> None:
        """Ask what it has; nothing comes of it if the group has moved on meanwhile."""
        if self.under_test.group.is_gone:
            return  # it has become a classic one
        request = SyncRequest(self.member_id, self.instance_id, self.epoch, "consumer", "range", {})
        answer = self._tell(self.under_test.group.sync(request, object()))
        assert isinstance(answer, SyncResult)
        if answer.error is ErrorCode.NONE:
            self.has = by_id(read_assignment(answer.assignment).partitions, self.under_test.image)

    def beat(self, **_: object) -> OperationResult:
        """Send a heartbeat, and do as it says."""
        request = ClassicHeartbeat(self.member_id, self.instance_id, self.epoch)
        answer = self._tell(self.under_test.group.classic_heartbeat(request, object()))
        assert isinstance(answer, HeartbeatResult)
        if answer.error is ErrorCode.NONE:
            return answer
        if answer.error is not ErrorCode.REBALANCE_IN_PROGRESS:
            self.has = {}
        return self.join()

    def obey(self) -> None:
        """It has done so already."""

    def leave(self) -> None:
        """Leave the group."""
        self.has = {}
        leaving = [LeavingMember(self.member_id, self.instance_id)]
        self._tell(self.under_test.group.leave(leaving, object(), self.under_test.now))

    def _tell(self, effects: Effects) -> OperationResult:
        [(_, answer)] = effects.answers
        effects.answers.clear()
        self.under_test.carry_out(effects)
        return answer

    def _subscription(self) -> bytes:
        names = {topic.topic_id: topic.name for topic in self.under_test.image.topics_by_name.values()}
        owned = [
            TopicPartition(topic=names[topic], partitions=sorted(partitions))
            for topic, partitions in self.has.items()
            if topic in names
        ]
        said = ConsumerProtocolSubscription(topics=list(self.topics), owned_partitions=owned)
        return pack(">h", 1) + encode(said, 1)
