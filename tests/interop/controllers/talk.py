"""A test's hand on one controller: brokers that it plays, requests, and what was written after each of them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from odradek.broker.metadata.records import MetadataRecord
from odradek.protocol.messages.metadata_records import (
    BeginTransactionRecord,
    ClientQuotaRecord,
    ConfigRecord,
    EndTransactionRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.interop.controllers.naming import Names
from tests.interop.controllers.written import WrittenMetadata
from tests.interop.differential.normalise import Comparable
from tests.support.waiting import eventually
from tests.support.wire import ConnectionClosedError, Message, WireClient

NO_LEADER_CHANGE = -2
PATIENCE_S = 60
_TRANSACTIONS = (BeginTransactionRecord, EndTransactionRecord)
"""Around the first records of Kafka's, which are several batches; here they are one."""
_ANY_ORDER = {ClientQuotaRecord, ConfigRecord, PartitionChangeRecord, RemoveTopicRecord}
"""Records that Kafka writes in the order of a hash map, where an event has several of them."""
FEATURES: Mapping[str, tuple[int, int]] = {
    "metadata.version": (7, 30),
    "kraft.version": (0, 1),
    "group.version": (0, 1),
    "transaction.version": (0, 2),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    "eligible.leader.replicas.version": (0, 1),
}
"""What a broker of Kafka 4.3 says that it can run."""


def identity(name: str) -> UUID:
    """Return an id that is the same in every run."""
    return uuid5(NAMESPACE_OID, name)


def directory(broker: int, number: int = 0) -> UUID:
    """Return the id of a log directory of a broker."""
    return identity(f"directory {number} of {broker}")


class Talk:
    """Asks one controller, and keeps answers and records of each step by its label."""

    def __init__(self, port: int, node: int, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self.steps: dict[str, Comparable] = {}
        self.epochs: dict[int, int] = {}
        """Of the brokers, as they were told."""
        self.topics: dict[str, UUID] = {}
        self._partitions: dict[tuple[UUID, int], tuple[int, int]] = {}
        self._alive: set[int] = set()
        self._new_names = partial(Names, port, node, cluster_id)
        self._names = self._new_names()
        self._log = WrittenMetadata(port)
        self._wire = WireClient(port)
        self._heartbeats = WireClient(port)

    def close(self) -> None:
        """Close all connections."""
        for each in (self._log, self._wire, self._heartbeats):
            each.close()

    def begin(self) -> dict[str, Comparable]:
        """Return what a new controller writes by itself, until it has registered."""
        records: list[MetadataRecord] = []

        def has_registered() -> bool:
            records.extend(self._learn())
            return any(isinstance(each.message, RegisterControllerRecord) for each in records)

        eventually(has_registered, "the controller registers", PATIENCE_S)
        plain = [self._names.record(each) for each in records if not isinstance(each.message, _TRANSACTIONS)]
        for own in ("controller_id", "incarnation_id"):
            plain[-1].pop(own)
        features = plain[-1]["features"]
        assert isinstance(features, list)
        features.sort(key=repr)
        return {"the controller registers": list(plain)}

    def finish(self) -> dict[str, Comparable]:
        """Forget all brokers and topics, so that what comes next finds none; return all steps since the last time.

        Brokers first: Kafka's controller 4.3 fails over one that was eligible to lead a topic which is gone, where the
        eligible leaders were cleared by a change of min.insync.replicas.
        """
        self._alive.clear()
        for broker in sorted(self.epochs):
            self.ask(f"finally {broker} is unregistered", "UnregisterBroker", 0, broker_id=broker)
        for name in sorted(self.topics):
            self.ask(f"finally {name} is deleted", "DeleteTopics", 6, timeout_ms=8000, topics=[{"name": name}])
        steps, self.steps = self.steps, {}
        self.topics.clear()
        self.epochs.clear()
        self._names = self._new_names()
        return steps

    def ask(self, label: str, api: str, version: int, *, loose: bool = False, **fields: Any) -> Message:
        """Send a request; keep its answer and the records that were written until it came.

        `loose`: a controller chooses replicas by chance; only how many there are is compared.
        """
        self._keep_alive()
        try:
            answer: Message = self._wire.ask(api, version, **fields)
        except ConnectionClosedError:
            answer = {"answer": "connection closed"}
        try:
            records = self._learn()
        except AssertionError as failed:
            raise AssertionError(f"after {label!r}: {failed}") from failed
        self._keep(label, {"answer": self._names.plain(answer), "records": self._plain(records, loose=loose)})
        return answer

    def await_records(self, label: str, is_there: Callable[[list[MetadataRecord]], bool]) -> None:
        """Wait for records that the controller writes by itself; keep those that came until then."""
        records: list[MetadataRecord] = []

        def came() -> bool:
            self._keep_alive()
            records.extend(self._learn())
            return is_there(records)

        eventually(came, label, PATIENCE_S)
        self._keep(label, {"records": self._plain(records)})

    def register(self, label: str, broker: int, incarnation: str = "first", **fields: Any) -> int:
        """Register a broker; return its epoch."""
        features = [
            {"name": name, "min_supported_version": least, "max_supported_version": most}
            for name, (least, most) in FEATURES.items()
        ]
        wanted = {
            "broker_id": broker,
            "cluster_id": self.cluster_id,
            "incarnation_id": identity(f"{incarnation} of {broker}"),
            "listeners": [{"name": "PLAINTEXT", "host": f"host-{broker}", "port": 9092, "security_protocol": 0}],
            "features": features,
            "rack": None,
            "log_dirs": [directory(broker)],
            "previous_broker_epoch": -1,
        }
        answer = self.ask(label, "BrokerRegistration", 4, **{**wanted, **fields})
        if answer["error_code"] == 0:
            self.epochs[broker] = answer["broker_epoch"]
            self._alive.discard(broker)
        return int(answer["broker_epoch"])

    def beat(self, label: str, broker: int, **fields: Any) -> Message:
        """Send a heartbeat of a broker that has seen everything and wants to serve; go on doing so while it does."""
        wanted = {
            "broker_id": broker,
            "broker_epoch": self.epochs.get(broker, -1),
            "current_metadata_offset": self._log.next_offset,
            "want_fence": False,
            "want_shut_down": False,
        }
        answer = self.ask(label, "BrokerHeartbeat", 2, **{**wanted, **fields})
        if answer["error_code"] == 0 and not answer["is_fenced"] and not fields.get("want_shut_down"):
            self._alive.add(broker)
        else:
            self._alive.discard(broker)
        return answer

    def join(self, *brokers: int, **fields: Any) -> None:
        """Register brokers, and have them serve."""
        for broker in brokers:
            self.register(f"{broker} registers", broker, **fields)
            self.beat(f"{broker} serves", broker)

    def falls_silent(self, broker: int) -> None:
        """Send no more heartbeats for a broker."""
        self._alive.discard(broker)

    def create(self, name: str, *replicas: Sequence[int], **configs: object) -> None:
        """Create a topic whose partitions have these replicas."""
        assignments = [{"partition_index": index, "broker_ids": list(ids)} for index, ids in enumerate(replicas)]
        wanted = [{"name": key.replace("_", "."), "value": str(value)} for key, value in configs.items()]
        topic = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": assignments}
        self.ask(f"create {name}", "CreateTopics", 7, timeout_ms=8000, topics=[{**topic, "configs": wanted}])

    def state(self, topic: str, partition: int, isr: Sequence[int | tuple[int, int]], **fields: Any) -> Message:
        """Return the wish for an ISR as AlterPartition takes it; members without an epoch come with their own."""
        leader_epoch, partition_epoch = self._partitions[self.topics[topic], partition]
        members = [one if isinstance(one, tuple) else (one, self.epochs.get(one, -1)) for one in isr]
        return {
            "partition_index": partition,
            "leader_epoch": leader_epoch,
            "partition_epoch": partition_epoch,
            "new_isr_with_epochs": [{"broker_id": one, "broker_epoch": epoch} for one, epoch in members],
            "leader_recovery_state": 0,
            **fields,
        }

    def epochs_of(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """Return the leader epoch and the partition epoch."""
        return self._partitions[self.topics[topic], partition]

    def alter(self, label: str, sender: int, wishes: Mapping[str, Sequence[Message]], **fields: Any) -> Message:
        """Ask for other ISRs: wishes by topic."""
        topics = [
            {"topic_id": self.topics.get(name, identity(name)), "partitions": list(each)}
            for name, each in wishes.items()
        ]
        wanted = {"broker_id": sender, "broker_epoch": self.epochs.get(sender, -1), "topics": topics}
        return self.ask(label, "AlterPartition", 3, **{**wanted, **fields})

    def _keep(self, label: str, step: dict[str, Comparable]) -> None:
        assert label not in self.steps, f"two steps are named {label!r}"
        self.steps[label] = step

    def _keep_alive(self) -> None:
        for broker in self._alive:
            answer = self._heartbeats.ask(
                "BrokerHeartbeat",
                2,
                broker_id=broker,
                broker_epoch=self.epochs[broker],
                current_metadata_offset=self._log.next_offset,
            )
            assert answer["error_code"] == 0, answer

    def _learn(self) -> list[MetadataRecord]:
        """Return the records that were not seen yet."""
        records = self._log.read()
        for record in records:
            message = record.message
            self._names.learn(message)
            match message:
                case TopicRecord():
                    self.topics[message.name] = message.topic_id
                case PartitionRecord():
                    self._partitions[message.topic_id, message.partition_id] = 0, 0
                case PartitionChangeRecord():
                    place = message.topic_id, message.partition_id
                    leader_epoch, partition_epoch = self._partitions[place]
                    is_new = message.leader != NO_LEADER_CHANGE
                    self._partitions[place] = leader_epoch + is_new, partition_epoch + 1
                case RegisterBrokerRecord():
                    self.epochs[message.broker_id] = message.broker_epoch
        return records

    def _plain(self, records: Sequence[MetadataRecord], *, loose: bool = False) -> list[Comparable]:
        """Return records for comparison; the order within a run of one kind may mean nothing."""
        plain: list[Comparable] = []
        run: list[dict[str, Comparable]] = []
        for record in records:
            each = self._names.record(record)
            if loose:
                for field in ("replicas", "isr", "directories"):
                    if isinstance(chosen := each.get(field), list):
                        each[field] = len(chosen)
                each.pop("leader", None)
            if run and not (type(record.message) in _ANY_ORDER and run[0]["record"] == each["record"]):
                plain += sorted(run, key=repr)
                run = []
            run.append(each)
        return [*plain, *sorted(run, key=repr)]
