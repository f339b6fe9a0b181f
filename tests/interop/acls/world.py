"""What there is on either broker, who may do what with it, and what is heard of an answer."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tests.support.sasl_brokers import SaslBroker
from tests.support.wire import ConnectionClosedError, Message, Record, WireClient, build_batch

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ANY, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(1, 9)
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = range(9, 13)
TOPIC, GROUP, CLUSTER, TRANSACTION = 2, 3, 4, 5
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
KAFKA_CLUSTER = "kafka-cluster"

Rule = tuple[int, str, int]
"""Kind of a resource, its name, an operation."""

USERS: Mapping[str, Sequence[Rule]] = {
    "nobody": (),
    "describer": (
        *((kind, name, DESCRIBE) for kind, name in ((TOPIC, "t"), (GROUP, "g"), (TRANSACTION, "x"))),
        (CLUSTER, KAFKA_CLUSTER, DESCRIBE),
    ),
    "reader": ((TOPIC, "t", READ), (GROUP, "g", READ)),
    "writer": ((TOPIC, "t", WRITE), (TRANSACTION, "x", WRITE)),
    "creator": ((TOPIC, "n", CREATE), (TOPIC, "t", ALTER), (GROUP, "g", DELETE)),
    "configurer": ((TOPIC, "t", ALTER_CONFIGS), (GROUP, "g", DESCRIBE_CONFIGS), (CLUSTER, KAFKA_CLUSTER, CREATE)),
    "owner": ((TOPIC, "t", ALL), (GROUP, "g", ALL), (TRANSACTION, "x", ALL)),
    "operator": ((CLUSTER, KAFKA_CLUSTER, ALL),),
    "configs": ((CLUSTER, KAFKA_CLUSTER, DESCRIBE_CONFIGS), (CLUSTER, KAFKA_CLUSTER, IDEMPOTENT_WRITE)),
    "everything": ((TOPIC, "*", ALL), (GROUP, "*", ALL), (TRANSACTION, "*", ALL), (CLUSTER, KAFKA_CLUSTER, ALL)),
    "denied": ((TOPIC, "*", ALL), (GROUP, "*", ALL), (TRANSACTION, "*", ALL)),
    "admin": (),
}
"""Users with what they may; the last is a super user, and the one before may not read `t` nor anything that begins with
`g`."""
PREFIX_OWNER = "prefixed"
_SECRET = "secret-of-"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_USERS = " ".join(f'user_{name}="{_SECRET}{name}"' for name in (*USERS, PREFIX_OWNER))

SETTINGS = {
    "authorizer.class.name": AUTHORIZER,
    "super.users": "User:ANONYMOUS;User:admin",
    "listener.name.sasl.plain.sasl.jaas.config": f"{_PLAIN} {_USERS};",
    "auto.create.topics.enable": "true",
}


def creation(
    user: str, kind: int, name: str, operation: int, permission: int = ALLOW, pattern: int = LITERAL
) -> Message:
    """Return an entry of CreateAcls."""
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": pattern,
        "principal": f"User:{user}",
        "host": "*",
        "operation": operation,
        "permission_type": permission,
    }


def all_acls() -> list[Message]:
    """Return the ACLs of everybody."""
    return [
        *(creation(user, *rule) for user, rules in USERS.items() for rule in rules),
        creation("denied", TOPIC, "t", READ, DENY),
        creation("denied", GROUP, "g", READ, DENY, PREFIXED),
        creation(PREFIX_OWNER, TOPIC, "t", ALL, pattern=PREFIXED),
        creation(PREFIX_OWNER, GROUP, "*", ALL, pattern=PREFIXED),
    ]


class Side:
    """One broker, and connections of everybody to it."""

    def __init__(self, broker: SaslBroker) -> None:
        self.broker = broker
        self.super = WireClient(broker.process.port, timeout=20)
        self.topic_id: Any = None
        self._clients: dict[str, WireClient] = {}

    def prepare(self) -> None:
        """Make what there is: topics `t` and `u`, groups `g` and `h` with offsets, a transactional id `x`, and the
        ACLs."""
        topics = [{"name": name, "num_partitions": 2, "replication_factor": 1} for name in ("t", "u")]
        self.super.ask("CreateTopics", 7, topics=topics, timeout_ms=10_000)
        self._until(lambda: self._produced() == 0)
        metadata = self.super.ask("Metadata", 12, topics=[{"name": "t"}])
        self.topic_id = metadata["topics"][0]["topic_id"]
        self._until(lambda: self._found(0, "g"))
        self._until(lambda: self._found(1, "x"))
        for group in ("g", "h"):
            self._until(partial(self._has_committed, group))
        self._until(
            lambda: (
                self.super.ask("InitProducerId", 4, transactional_id="x", transaction_timeout_ms=60_000)["error_code"]
                == 0
            )
        )
        results = self.super.ask("CreateAcls", 3, creations=all_acls())["results"]
        assert {one["error_code"] for one in results} == {0}

    def close(self) -> None:
        """Close all connections."""
        for client in (self.super, *self._clients.values()):
            client.close()

    def client(self, user: str) -> WireClient:
        """Return a connection that has logged in."""
        client = self._clients.get(user)
        if client is None or client._socket is None:
            client = self._clients[user] = WireClient(self.broker.sasl_port, timeout=20)
            client.ask("SaslHandshake", 1, mechanism="PLAIN")
            answer = client.ask("SaslAuthenticate", 2, auth_bytes=f"\0{user}\0{_SECRET}{user}".encode())
            assert answer["error_code"] == 0, answer
        return client

    def ask(self, user: str, api: str, version: int, fields: Message) -> object:
        """Return what a user hears; `TOPIC_ID` in the fields stands for that of `t`."""
        try:
            return heard(self.client(user).ask(api, version, **self._with_id(fields)))
        except ConnectionClosedError:
            self._clients.pop(user).close()
            return "closed"

    def _with_id(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._with_id(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._with_id(one) for one in value]
        return self.topic_id if value == "TOPIC_ID" else value

    def _produced(self) -> int:
        answer = self.super.ask("Produce", 9, **produce("t"))
        code: int = answer["responses"][0]["partition_responses"][0]["error_code"]
        return code

    def _found(self, kind: int, key: str) -> bool:
        answer = self.super.ask("FindCoordinator", 4, key_type=kind, coordinator_keys=[key])
        return bool(answer["coordinators"][0]["error_code"] == 0)

    def _has_committed(self, group: str) -> bool:
        topics = [{"name": name, "partitions": [{"partition_index": 0, "committed_offset": 1}]} for name in "tu"]
        answer = self.super.ask("OffsetCommit", 8, group_id=group, generation_id_or_member_epoch=-1, topics=topics)
        return all(one["partitions"][0]["error_code"] == 0 for one in answer["topics"])

    @staticmethod
    def _until(holds: Any) -> None:
        deadline = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.2)


def produce(*names: str, acks: int = 1, transactional_id: str | None = None) -> Message:
    """Return a request that writes a record to topics."""
    batch = build_batch([Record(None, b"v")])
    return {
        "transactional_id": transactional_id,
        "acks": acks,
        "timeout_ms": 5000,
        "topic_data": [{"name": name, "partition_data": [{"index": 0, "records": batch}]} for name in names],
    }


_CODES = frozenset({"error_code", "partition_error_code", "topic_config_error_code"})
_NAMES = frozenset({"name", "topic", "topic_name", "group_id", "key", "transactional_id", "resource_type"})
_KEPT = frozenset(
    {
        *("partition_index", "index", "resource_name", "partition", "num_partitions", "replication_factor"),
        *("topic_authorized_operations", "cluster_authorized_operations", "authorized_operations"),
        *("principal", "operation", "permission_type", "host", "pattern_type", "is_internal"),
    }
)


_LEFT_OUT = frozenset({"configs", "api_keys"})
"""Lists of which the two brokers have different ones, whoever asks."""


def heard(answer: Any) -> Any:
    """Return what of an answer says who may do what: names, codes and operations, in an order of their own."""
    if isinstance(answer, list):
        return sorted((heard(one) for one in answer), key=repr)
    if not isinstance(answer, dict):
        return None
    kept: dict[str, object] = {}
    for key, value in answer.items():
        if key in _CODES | _NAMES | _KEPT and not (key == "host" and "node_id" in answer):
            kept[key] = value
        elif isinstance(value, list | dict) and key not in _LEFT_OUT:
            inner = heard(value)
            if inner:
                kept[key] = inner
    return kept
