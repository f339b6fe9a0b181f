"""A member of a classic group that is nothing but its requests: for what no real client would send."""

import struct
import time
from collections.abc import Sequence

from tests.support.broker import BrokerProcess
from tests.support.waiting import eventually
from tests.support.wire import Message, WireClient, error_code

SESSION_MS = 6000


def subscription(*topics: str, owned: Sequence[tuple[str, int]] = ()) -> bytes:
    """Return the metadata of a consumer that subscribes to topics, version 1 of the consumer protocol."""
    out = struct.pack(">hi", 1, len(topics)) + b"".join(map(_string, topics))
    out += struct.pack(">i", -1) + struct.pack(">i", len(owned))
    for topic, partition in owned:
        out += _string(topic) + struct.pack(">ii", 1, partition)
    return out


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def await_coordinator(broker: BrokerProcess, group: str) -> None:
    """Return once the broker coordinates the group; the first question creates the topic of committed offsets."""
    with WireClient(broker.port) as wire:

        def ready() -> bool:
            [found] = wire.ask("FindCoordinator", 4, key_type=0, coordinator_keys=[group])["coordinators"]
            if found["error_code"]:
                return False
            answer = wire.ask("OffsetFetch", 7, group_id=group, topics=None)
            return bool(answer["error_code"] == 0)

        eventually(ready, "the group has a coordinator", 60)


class RawMember:
    """One member over a connection of its own; every method returns the broker's answer as it is."""

    def __init__(self, broker: BrokerProcess, group: str, topic: str = "any", instance_id: str | None = None) -> None:
        self.wire = WireClient(broker.port, timeout=30)
        self.group = group
        self.topic = topic
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1

    def close(self) -> None:
        """Cut the connection; the group is told nothing."""
        self.wire.close()

    def send_join(self, version: int = 7, **changed: object) -> None:
        """Send JoinGroup without waiting for its answer."""
        protocols = [{"name": "range", "metadata": subscription(self.topic)}]
        fields = {
            "group_id": self.group,
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": SESSION_MS,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": "consumer",
            "protocols": protocols,
        }
        self.wire.send("JoinGroup", version, **{**fields, **changed})

    def joined(self, version: int = 7) -> Message:
        """Receive the answer to JoinGroup and keep the identity that it gives."""
        answer = self.wire.answer("JoinGroup", version)
        if answer["member_id"]:
            self.member_id = answer["member_id"]
        if not answer["error_code"]:
            self.generation = answer["generation_id"]
        return answer

    def join(self, version: int = 7, **changed: object) -> Message:
        """Join, a second time with the id that was given if one is demanded."""
        self.send_join(version, **changed)
        answer = self.joined(version)
        if answer["error_code"] == error_code("MEMBER_ID_REQUIRED"):
            self.send_join(version, **{**changed, "member_id": self.member_id})
            answer = self.joined(version)
        return answer

    def send_sync(self, assignments: dict[str, bytes] | None = None, version: int = 5, **changed: object) -> None:
        """Send SyncGroup without waiting for its answer."""
        listed = [{"member_id": member, "assignment": each} for member, each in (assignments or {}).items()]
        fields = {**self._identity(), "protocol_type": "consumer", "protocol_name": "range", "assignments": listed}
        self.wire.send("SyncGroup", version, **{**fields, **changed})

    def sync(self, assignments: dict[str, bytes] | None = None, version: int = 5, **changed: object) -> Message:
        """Fetch the assignment, or as leader hand it in."""
        self.send_sync(assignments, version, **changed)
        return self.wire.answer("SyncGroup", version)

    def enter(self) -> None:
        """Join as the only member and become stable."""
        assert self.join()["error_code"] == 0
        assert self.sync({self.member_id: b"mine"})["error_code"] == 0

    def heartbeat(self, version: int = 4, **changed: object) -> int:
        """Return the error code of a heartbeat."""
        code: int = self.wire.ask("Heartbeat", version, **{**self._identity(), **changed})["error_code"]
        return code

    def commit(self, offset: int, version: int = 8, **changed: object) -> int:
        """Commit partition 0 of the topic and return the error code of it."""
        partition = {
            "partition_index": changed.pop("partition", 0),
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": changed.pop("metadata", ""),
        }
        identity = self._identity()
        identity["generation_id_or_member_epoch"] = identity.pop("generation_id")
        topics = [{"name": changed.pop("name", self.topic), "partitions": [partition]}]
        fields = {**identity, "retention_time_ms": -1, "topics": topics, **changed}
        answer = self.wire.ask("OffsetCommit", version, **fields)
        code: int = answer["topics"][0]["partitions"][0]["error_code"]
        return code

    def leave(self, version: int = 4, **changed: object) -> Message:
        """Leave the group."""
        member = {"member_id": self.member_id, "group_instance_id": self.instance_id, **changed}
        return self.wire.ask("LeaveGroup", version, group_id=self.group, members=[member])

    def _identity(self) -> dict[str, object]:
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
        }


def committed(wire: WireClient, group: str, topic: str, partition: int = 0) -> int:
    """Return the committed offset of one partition, -1 when there is none, waiting while the group is loaded."""
    loading = {error_code(name) for name in ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR")}
    deadline = time.monotonic() + 30
    while True:
        asked = [{"name": topic, "partition_indexes": [partition]}]
        answer = wire.ask("OffsetFetch", 7, group_id=group, topics=asked)
        if answer["error_code"] not in loading or time.monotonic() > deadline:
            assert answer["error_code"] == 0, answer
            [[found]] = [each["partitions"] for each in answer["topics"]]
            assert found["error_code"] == 0, found
            return int(found["committed_offset"])
