"""Replaces what two right controllers may choose differently: ids of topics, epochs of brokers, wording of errors.

Ids and epochs get a name when they are first seen, which is theirs from then on, so that a wrong one is still told from
the right one.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from odradek.broker.metadata.records import Message as RecordMessage
from odradek.broker.metadata.records import MetadataRecord
from odradek.protocol.codec import Struct
from odradek.protocol.messages.metadata_records import RegisterBrokerRecord, TopicRecord
from tests.interop.differential.normalise import Comparable
from tests.support.wire import ERROR_NAMES

_TEXTS = {"error_message", "message"}
_ANY_ORDER = {"entries", "replica_election_results", "responses", "results", "topics"}
"""Lists of answers whose order means nothing."""
_OFFSETS_AND_TIMES = {"high_watermark", "last_caught_up_timestamp", "last_fetch_timestamp", "log_end_offset"}
_NODES = {"broker_id", "controller_id", "leader_id", "node_id", "replica_id"}
_EPOCHS = {"broker_epoch", "replica_epoch"}


class Names:
    """What ids and epochs are called, of one controller."""

    def __init__(self, port: int, node: int, cluster: str) -> None:
        """`port` and `node` are the controller's own, `cluster` is the id that it made."""
        self._port = port
        self._node = node
        self._cluster = cluster
        self._ids: dict[UUID, str] = {}
        self._epochs: dict[int, str] = {}

    def learn(self, record: RecordMessage) -> None:
        """Name what a record brings up."""
        match record:
            case TopicRecord():
                self._ids.setdefault(record.topic_id, f"{record.name} #{self._count(self._ids, record.name) + 1}")
            case RegisterBrokerRecord():
                broker = f"epoch of {record.broker_id}"
                self._epochs.setdefault(record.broker_epoch, f"{broker} #{self._count(self._epochs, broker) + 1}")

    def record(self, record: MetadataRecord) -> dict[str, Comparable]:
        """Return a metadata record as plain values, with its type and version."""
        version = record.value[2]  # behind the versions of the frame and of the type, which are small numbers
        return {"record": f"{type(record.message).__name__} v{version}", **self._struct(record.message)}

    def plain(self, value: object, field: str = "") -> Comparable:
        """Return a value of a decoded answer, or of a record."""
        if isinstance(value, Struct):
            return self._struct(value)
        if isinstance(value, dict):
            return {key: self.plain(each, key) for key, each in value.items()}
        if isinstance(value, list):
            items = [self.plain(each, field) for each in value]
            return sorted(items, key=repr) if field in _ANY_ORDER else items
        if isinstance(value, UUID):
            return self._ids.get(value, str(value))
        if field in _TEXTS or field == "throttle_time_ms":
            return None
        if field == "cluster_id":
            return value == self._cluster
        if field == "port" and value == self._port:
            return "the controller's"
        if field == "error_code" and isinstance(value, int):
            return ERROR_NAMES.get(value, value)
        if field in _OFFSETS_AND_TIMES and isinstance(value, int) and value > 0:
            return field
        if field in _NODES and value == self._node:
            return "the controller"
        if field in _EPOCHS and isinstance(value, int):
            return self._epochs.get(value, value)
        assert value is None or isinstance(value, bool | int | float | str)
        return value

    def _struct(self, value: Struct) -> dict[str, Comparable]:
        names = [field.name for field in type(value).SCHEMA.fields]
        return {name: self.plain(getattr(value, name), name) for name in names}

    @staticmethod
    def _count(names: Mapping[Any, str], start: str) -> int:
        return sum(1 for name in names.values() if name.startswith(f"{start} #"))
