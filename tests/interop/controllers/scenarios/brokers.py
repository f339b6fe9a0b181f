"""Brokers that come, live and go: registration, heartbeats, fencing, stopping, being forgotten."""

from typing import Any
from uuid import UUID

from odradek.broker.metadata.records import MetadataRecord
from odradek.protocol.messages.metadata_records import BrokerRegistrationChangeRecord
from tests.interop.controllers.talk import FEATURES, Talk, directory, identity

UNKNOWN = 77


def registrations(talk: Talk) -> None:
    """Everything that a registration can be refused for, and what a second one does."""
    talk.register("another cluster", 1, cluster_id="4L6g3nShT-eMCtK--X86sw")
    talk.register("no features", 1, features=[])
    for name, (least, most) in FEATURES.items():
        talk.register(f"without {name}", 1, "never", features=_features(**{name: None}))
        talk.register(f"too low {name}", 1, "never", features=_features(**{name: (least, least)}))
        talk.register(f"too high {name}", 1, "never", features=_features(**{name: (most + 1, most + 2)}))
    talk.register("unknown feature", 1, features=[*_features(), _feature("no.such", 0, 3)])
    talk.register("unknown feature, upside down", 1, "never", features=[*_features(), _feature("no.such", 3, 0)])
    talk.register("unknown feature, negative", 1, "never", features=[*_features(), _feature("no.such", -1, 3)])
    talk.register("range upside down", 1, features=_features(**{"metadata.version": (30, 7)}))
    talk.register("a feature twice", 1, features=[*_features(), _feature("metadata.version", 7, 30)])
    talk.register("no directories", 2, log_dirs=[])
    talk.register("reserved directory", 2, log_dirs=[UUID(int=9)])
    talk.register("directory twice", 2, log_dirs=[directory(2), directory(2)])
    talk.register("directory of another", 2, log_dirs=[directory(1), directory(2)])
    endpoint = {"name": "PLAINTEXT", "host": "h", "port": 9092, "security_protocol": 0}
    talk.register("listener twice", 2, listeners=[endpoint, {**endpoint, "host": "other"}])
    talk.register("no listeners", 2, listeners=[])
    talk.register("a node of ZooKeeper's", 2, is_migrating_zk_broker=True)
    talk.register("a node of ZooKeeper's without directories", 2, is_migrating_zk_broker=True, log_dirs=[])
    talk.register("a node of ZooKeeper's without features", 2, is_migrating_zk_broker=True, features=[])
    talk.register("negative id", -3)
    talk.register("with rack", 3, rack="r3")
    talk.register("again", 3, rack="r3")
    talk.register("again with another rack", 3, rack="r4")
    talk.register("another incarnation before its first heartbeat", 3, "second")
    talk.beat("serves", 3)
    talk.register("again while it serves", 3, "second")
    talk.register("another incarnation while it serves", 3, "third")
    talk.beat("still there", 3)
    for version in (1, 2, 3):
        talk.ask(
            f"version {version}",
            "BrokerRegistration",
            version,
            broker_id=10 + version,
            cluster_id=talk.cluster_id,
            incarnation_id=identity("old"),
            listeners=[endpoint],
            features=_features(),
            log_dirs=[directory(10 + version)],
        )


def heartbeats(talk: Talk) -> None:
    """Fenced until caught up; fenced and unfenced by wish; epochs that are not its own."""
    talk.beat("unknown broker", UNKNOWN)
    epoch = talk.register("registers", 1)
    talk.beat("other epoch", 1, broker_epoch=epoch + 1)
    talk.beat("older epoch", 1, broker_epoch=epoch - 1)
    talk.beat("wants fence", 1, want_fence=True)
    talk.beat("behind", 1, current_metadata_offset=epoch - 1)
    talk.beat("behind and wants fence", 1, current_metadata_offset=epoch - 1, want_fence=True)
    talk.beat("just there", 1, current_metadata_offset=epoch)
    talk.beat("again", 1)
    talk.beat("behind while it serves", 1, current_metadata_offset=epoch - 1)
    talk.beat("wants fence while it serves", 1, want_fence=True)
    talk.beat("serves again", 1)
    talk.beat("fence and stop", 1, want_fence=True, want_shut_down=True)
    talk.beat("after the stop", 1)
    talk.beat("stops with nothing to hand over", 1, want_shut_down=True)
    talk.beat("stops once more", 1, want_shut_down=True)


def directories(talk: Talk) -> None:
    """Where replicas lie, and directories that fail (KIP-858)."""
    talk.register("1 registers", 1, log_dirs=[directory(1), directory(1, 1)])
    talk.register("2 registers", 2, log_dirs=[directory(2)])
    talk.beat("1 serves", 1)
    talk.beat("2 serves", 2)
    talk.create("d", [1, 2], [2, 1])
    talk.create("one", [1])
    assign(talk, "assign", 1, {directory(1): {"d": [0], "one": [0]}, directory(1, 1): {"d": [1]}})
    assign(talk, "assign again", 1, {directory(1): {"d": [0], "one": [0]}})
    assign(talk, "move", 1, {directory(1, 1): {"d": [0]}})
    assign(talk, "unknown", 1, {directory(1): {"no-such": [0], "d": [9]}})
    assign(talk, "not a replica", 2, {directory(2): {"one": [0]}})
    assign(talk, "other epoch", 1, {directory(1): {"d": [0]}}, broker_epoch=talk.epochs[1] - 1)
    assign(talk, "unknown directory", 2, {directory(2, 5): {"d": [1]}})
    assign(talk, "back", 2, {directory(2): {"d": [1]}})
    talk.beat("a stranger's fails", 1, offline_log_dirs=[directory(9)])
    talk.beat("one fails", 1, offline_log_dirs=[directory(1, 1)])
    talk.beat("one fails again", 1, offline_log_dirs=[directory(1, 1)])
    assign(talk, "assign to the failed", 1, {directory(1, 1): {"one": [0]}})
    talk.beat("both fail", 1, offline_log_dirs=[directory(1), directory(1, 1)])
    talk.register("1 comes back", 1, "second", log_dirs=[directory(1), directory(1, 1)])
    talk.beat("1 serves again", 1)


def cordons(talk: Talk) -> None:
    """Directories that take no new replicas (KIP-1066)."""
    talk.register("1 registers", 1, log_dirs=[directory(1), directory(1, 1)])
    talk.beat("1 serves", 1)
    talk.join(2)
    talk.beat("cordons none", 1, cordoned_log_dirs=[])
    talk.beat("cordons none again", 1, cordoned_log_dirs=[])
    talk.beat("cordons one", 1, cordoned_log_dirs=[directory(1, 1)])
    talk.beat("says nothing of it", 1)
    talk.beat("cordons a stranger's", 1, cordoned_log_dirs=[directory(9)])
    talk.beat("cordons both", 1, cordoned_log_dirs=[directory(1), directory(1, 1)])
    new = {"name": "where", "num_partitions": 2, "replication_factor": 1}
    talk.ask("create beside the cordoned", "CreateTopics", 7, timeout_ms=8000, topics=[new])
    talk.beat("cordons none once more", 1, cordoned_log_dirs=[])


def assign(talk: Talk, label: str, broker: int, wishes: dict[UUID, dict[str, list[int]]], **fields: Any) -> None:
    """Tell in which directories replicas of a broker lie."""
    wanted = [
        {
            "id": where,
            "topics": [
                {
                    "topic_id": talk.topics.get(name, identity(name)),
                    "partitions": [{"partition_index": index} for index in indexes],
                }
                for name, indexes in topics.items()
            ],
        }
        for where, topics in wishes.items()
    ]
    request = {"broker_id": broker, "broker_epoch": talk.epochs[broker], "directories": wanted}
    talk.ask(label, "AssignReplicasToDirs", 0, **{**request, **fields})


def stops(talk: Talk) -> None:
    """Controlled shutdown: leaders move first, and the last one goes with what nobody else has."""
    talk.join(1, 2, 3)
    talk.create("s", [1, 2], [2, 1])
    talk.create("one", [1])
    talk.create("three", [3, 1, 2])
    talk.beat("1 wants to stop", 1, want_shut_down=True)
    talk.beat("1 still wants to", 1, want_shut_down=True)
    talk.beat("2 has seen it", 2)
    talk.beat("3 has seen it", 3)
    talk.beat("1 may", 1, want_shut_down=True)
    talk.beat("1 after it may", 1, want_shut_down=True)
    talk.beat("1 changes its mind", 1)
    talk.alter("1 into an ISR while it stops", 2, {"s": [talk.state("s", 0, [2, 1])]})
    talk.register("1 comes back in order", 1, "second", previous_broker_epoch=talk.epochs[1])
    talk.beat("1 serves again", 1)
    talk.beat("3 wants to stop", 3, want_shut_down=True)
    talk.beat("2 wants to stop", 2, want_shut_down=True)
    talk.beat("1 has seen it", 1)
    talk.beat("3 may", 3, want_shut_down=True)
    talk.beat("2 may", 2, want_shut_down=True)
    talk.beat("1 is the last", 1, want_shut_down=True)
    talk.register("2 comes back in order", 2, "second", previous_broker_epoch=talk.epochs[2])
    talk.beat("2 serves again", 2)
    talk.register("3 comes back after a crash", 3, "second")
    talk.beat("3 serves again", 3)
    talk.register("1 comes back after a crash", 1, "third")
    talk.beat("1 serves once more", 1)


def silence(talk: Talk) -> None:
    """A broker whose session times out is fenced, and others lead; what only it had waits for it."""
    talk.join(1, 2)
    talk.create("q", [1, 2], [2, 1])
    talk.create("one", [1])
    talk.falls_silent(1)
    talk.await_records("1 is fenced", _has_fenced)
    talk.beat("1 is back", 1)
    talk.register("1 says again who it is", 1)
    talk.await_records("1 is fenced again", _has_fenced)
    talk.beat("1 is back again", 1)
    talk.alter("1 is in sync again", 2, {"q": [talk.state("q", 0, [2, 1]), talk.state("q", 1, [2, 1])]})


def _has_fenced(records: list[MetadataRecord]) -> bool:
    return any(isinstance(each.message, BrokerRegistrationChangeRecord) for each in records)


def forgetting(talk: Talk) -> None:
    """UnregisterBroker, whatever the broker is doing; what it was in sync for."""
    talk.join(1, 2, 3)
    talk.create("f", [1, 2], [3, 1])
    talk.create("one", [3])
    talk.ask("unknown", "UnregisterBroker", 0, broker_id=UNKNOWN)
    talk.ask("3, which serves", "UnregisterBroker", 0, broker_id=3)
    talk.falls_silent(3)
    talk.ask("3 again", "UnregisterBroker", 0, broker_id=3)
    talk.beat("3 knows nothing of it", 3)
    talk.register("3 registers again", 3)
    talk.beat("3 serves again", 3)
    talk.beat("2 is fenced", 2, want_fence=True)
    talk.ask("2, which is fenced", "UnregisterBroker", 0, broker_id=2)


def producer_ids(talk: Talk) -> None:
    """Blocks of a thousand, for brokers that are who they say."""
    epoch = talk.register("registers", 1)
    for label, broker, given in (
        ("fenced", 1, epoch),
        ("other epoch", 1, epoch + 1),
        ("unknown", UNKNOWN, epoch),
        ("next", 1, epoch),
    ):
        talk.ask(label, "AllocateProducerIds", 0, broker_id=broker, broker_epoch=given)


def controllers(talk: Talk) -> None:
    """What the only voter says to a controller that registers, and of the cluster."""
    talk.ask("the controllers", "DescribeCluster", 2, endpoint_type=2)
    talk.ask(
        "a stranger registers",
        "ControllerRegistration",
        0,
        controller_id=4000,
        incarnation_id=identity("controller"),
        listeners=[{"name": "CONTROLLER", "host": "h", "port": 1, "security_protocol": 0}],
        features=_features(),
    )
    talk.ask("brokers at a controller", "DescribeCluster", 2, endpoint_type=1)
    talk.join(1)
    wanted = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    talk.ask("the quorum", "DescribeQuorum", 2, topics=wanted)
    wanted = [{"topic_name": "no-such", "partitions": [{"partition_index": 0}]}]
    talk.ask("another quorum", "DescribeQuorum", 2, topics=wanted)
    talk.ask("no kind of endpoint", "DescribeCluster", 2, endpoint_type=3)


def _features(**others: tuple[int, int] | None) -> list[dict[str, object]]:
    ranges = {**FEATURES, **others}
    return [_feature(name, *given) for name, given in ranges.items() if given is not None]


def _feature(name: str, least: int, most: int) -> dict[str, object]:
    return {"name": name, "min_supported_version": least, "max_supported_version": most}
