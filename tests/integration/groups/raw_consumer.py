"""A member of a group of the consumer protocol (KIP-848) that is nothing but its requests."""

import uuid

from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import ERROR_NAMES, Message, WireClient


class RawConsumer:
    """A member of the consumer protocol that is nothing but its heartbeats."""

    def __init__(self, broker: BrokerProcess, group: str, topic: str, instance_id: str | None = None) -> None:
        self.wire = WireClient(broker.port)
        self.group = group
        self.topic = topic
        self.instance_id = instance_id
        self.member_id = str(uuid.uuid4())
        self.epoch = 0
        self.assigned: set[int] = set()

    def beat(self, **changed: object) -> Message:
        """Heartbeat with what has not changed left out."""
        fields = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance_id,
            "rebalance_timeout_ms": -1,
            "subscribed_topic_names": None,
            "topic_partitions": None,
        }
        answer = self.wire.ask("ConsumerGroupHeartbeat", 1, **{**fields, **changed})
        if answer["error_code"] == 0:
            self.epoch = answer["member_epoch"]
            for assignment in [answer["assignment"]] if answer["assignment"] else []:
                self.assigned = {index for each in assignment["topic_partitions"] for index in each["partitions"]}
        return answer

    def join(self, **changed: object) -> Message:
        """Heartbeat with everything that a new member tells."""
        whole = {
            "member_epoch": 0,
            "rebalance_timeout_ms": 10_000,
            "subscribed_topic_names": [self.topic],
            "topic_partitions": [],
        }
        return self.beat(**{**whole, **changed})

    def enter(self, count: int) -> None:
        """Join and heartbeat until so many partitions are assigned."""
        assert self.join()["error_code"] == 0

        def assigned() -> bool:
            return self.beat()["error_code"] == 0 and len(self.assigned) == count

        eventually(assigned, f"{count} partitions are assigned")

    def error(self, **changed: object) -> str:
        """Heartbeat and return the name of the error."""
        return ERROR_NAMES[self.beat(**changed)["error_code"]]

    def join_error(self, **changed: object) -> str:
        """Join and return the name of the error."""
        return ERROR_NAMES[self.join(**changed)["error_code"]]

    def commit(self, offset: int, version: int = 9, **changed: object) -> str:
        """Commit partition 0 and return the name of the error."""
        place = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1}
        fields = {
            "group_id": self.group,
            "generation_id_or_member_epoch": self.epoch,
            "member_id": self.member_id,
            "topics": [{"name": self.topic, "partitions": [place]}],
        }
        answer = self.wire.ask("OffsetCommit", version, **{**fields, **changed})
        return ERROR_NAMES[answer["topics"][0]["partitions"][0]["error_code"]]

    def fetch(self, **changed: object) -> str:
        """Fetch all committed offsets as this member and return the name of the error."""
        asked = {"group_id": self.group, "member_id": self.member_id, "member_epoch": self.epoch, "topics": None}
        [answer] = self.wire.ask("OffsetFetch", 9, groups=[{**asked, **changed}])["groups"]
        return ERROR_NAMES[answer["error_code"]]
