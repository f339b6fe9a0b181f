"""A request of every API, or several: each is asked by every user."""

from collections.abc import Sequence
from uuid import UUID

from tests.interop.acls.world import CLUSTER_ACTION, KAFKA_CLUSTER, creation, produce
from tests.support.wire import Message

Case = tuple[str, str, int, Message]
"""Label, API, version, fields."""

NAMES = ("t", "u", "missing")
_PARTITION = {"partition_index": 0}
_SECOND = {"partition_index": 1}
_EARLIEST = {"partition_index": 0, "timestamp": -2}
_ELECTION: Message = {"topic_partitions": [{"topic": "t", "partitions": [0]}], "timeout_ms": 5000}
_COMMITTED = {"partition_index": 0, "committed_offset": 1}
_FETCHED = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000, "current_leader_epoch": -1}
_FETCH: Message = {"replica_id": -1, "max_wait_ms": 10, "min_bytes": 1, "max_bytes": 10_000, "session_epoch": -1}
_CONFIG = {"name": "retention.ms", "value": "1000", "config_operation": 0}
_FILTER: Message = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
NO_ID = UUID(int=255)


def topics(**of_each: object) -> list[Message]:
    """Return entries for all topics that are asked about."""
    return [{"name": name, **of_each} for name in NAMES]


def _of_topics() -> Sequence[Case]:
    fetched = [{"topic": name, "partitions": [_FETCHED]} for name in NAMES]
    return [
        ("produce", "Produce", 9, produce(*NAMES)),
        ("old produce", "Produce", 3, produce("t", "u")),
        ("produce by id", "Produce", 13, {**produce(), "topic_data": [{"topic_id": "TOPIC_ID"}]}),
        ("old fetch", "Fetch", 4, {**_FETCH, "topics": fetched}),
        ("fetch", "Fetch", 12, {**_FETCH, "topics": fetched}),
        ("fetch by id", "Fetch", 13, {**_FETCH, "topics": [{"topic_id": "TOPIC_ID", "partitions": [_FETCHED]}]}),
        ("fetch in a session", "Fetch", 12, {**_FETCH, "session_epoch": 0, "topics": fetched}),
        ("old offsets", "ListOffsets", 1, {"replica_id": -1, "topics": topics(partitions=[_PARTITION])}),
        (
            "offsets",
            "ListOffsets",
            8,
            {"replica_id": -1, "topics": topics(partitions=[{**_PARTITION, "timestamp": -2}])},
        ),
        (
            "epochs",
            "OffsetForLeaderEpoch",
            4,
            {
                "replica_id": -1,
                "topics": [{"topic": name, "partitions": [{"partition": 0, "leader_epoch": 0}]} for name in NAMES],
            },
        ),
        ("all metadata", "Metadata", 1, {"topics": None}),
        ("metadata", "Metadata", 9, {"topics": topics(), "include_topic_authorized_operations": True}),
        (
            "operations on the cluster",
            "Metadata",
            8,
            {"topics": [], "include_cluster_authorized_operations": True},
        ),
        ("all metadata with operations", "Metadata", 12, {"topics": None, "include_topic_authorized_operations": True}),
        ("metadata by id", "Metadata", 12, {"topics": [{"topic_id": "TOPIC_ID", "name": None}]}),
        ("pages of all", "DescribeTopicPartitions", 0, {"topics": [], "response_partition_limit": 100}),
        ("pages", "DescribeTopicPartitions", 0, {"topics": topics(), "response_partition_limit": 100}),
        (
            "new topics",
            "CreateTopics",
            7,
            {
                "topics": [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("n", "m", "t")],
                "timeout_ms": 5000,
                "validate_only": True,
            },
        ),
        ("deletion", "DeleteTopics", 6, {"topics": [{"name": "missing"}], "timeout_ms": 5000}),
        ("old deletion", "DeleteTopics", 3, {"topic_names": ["missing"], "timeout_ms": 5000}),
        (
            "deletion of an unknown id",
            "DeleteTopics",
            6,
            {"topics": [{"topic_id": NO_ID, "name": None}], "timeout_ms": 5000},
        ),
        (
            "more partitions",
            "CreatePartitions",
            3,
            {"topics": topics(count=5, assignments=None), "timeout_ms": 5000, "validate_only": True},
        ),
        ("records", "DeleteRecords", 2, {"topics": topics(partitions=[_PARTITION]), "timeout_ms": 5000}),
        ("producers", "DescribeProducers", 0, {"topics": topics(partition_indexes=[0])}),
    ]


def _of_groups() -> Sequence[Case]:
    member = {"group_id": "g", "generation_id": 1, "member_id": "nobody"}
    offsets = {"generation_id_or_member_epoch": -1, "topics": topics(partitions=[_COMMITTED])}
    return [
        ("old coordinator", "FindCoordinator", 2, {"key": "g", "key_type": 0}),
        ("coordinators", "FindCoordinator", 4, {"key_type": 0, "coordinator_keys": ["g", "h"]}),
        ("transaction coordinators", "FindCoordinator", 4, {"key_type": 1, "coordinator_keys": ["x", "y"]}),
        (
            "join",
            "JoinGroup",
            9,
            {
                "group_id": "g",
                "session_timeout_ms": 10_000,
                "rebalance_timeout_ms": 10_000,
                "protocol_type": "consumer",
                "protocols": [{"name": "range", "metadata": b""}],
            },
        ),
        ("sync", "SyncGroup", 5, {**member, "protocol_type": "consumer", "protocol_name": "range"}),
        ("sync without a protocol", "SyncGroup", 5, member),
        ("heartbeat", "Heartbeat", 4, member),
        ("leave", "LeaveGroup", 5, {"group_id": "g", "members": [{"member_id": "nobody"}]}),
        ("old leave", "LeaveGroup", 2, {"group_id": "g", "member_id": "nobody"}),
        *(
            (
                f"member of {name}",
                "ConsumerGroupHeartbeat",
                1,
                {
                    "group_id": group,
                    "member_id": "m",
                    "member_epoch": 7,
                    "rebalance_timeout_ms": -1,
                    "subscribed_topic_names": [name],
                    "topic_partitions": None,
                },
            )
            for group, name in (("g2", "t"), ("g", "t"), ("g", "missing"))
        ),
        ("commit", "OffsetCommit", 8, {"group_id": "g", **offsets}),
        ("commit to another group", "OffsetCommit", 8, {"group_id": "h", **offsets}),
        ("old fetch of offsets", "OffsetFetch", 1, {"group_id": "g", "topics": topics(partition_indexes=[0])}),
        ("fetch of offsets", "OffsetFetch", 7, {"group_id": "g", "topics": topics(partition_indexes=[0])}),
        ("fetch of all offsets", "OffsetFetch", 7, {"group_id": "g", "topics": None}),
        (
            "fetch of groups' offsets",
            "OffsetFetch",
            8,
            {
                "groups": [
                    {"group_id": "g", "topics": topics(partition_indexes=[0])},
                    {"group_id": "h", "topics": topics(partition_indexes=[0])},
                ]
            },
        ),
        ("fetch of all offsets of groups", "OffsetFetch", 8, {"groups": [{"group_id": "g", "topics": None}]}),
        (
            "removal of offsets",
            "OffsetDelete",
            0,
            {"group_id": "g", "topics": topics(partitions=[{"partition_index": 1}])},
        ),
        ("removal of groups", "DeleteGroups", 2, {"groups_names": ["g-not-there", "not-there"]}),
        ("groups", "DescribeGroups", 5, {"groups": ["g", "h"], "include_authorized_operations": True}),
        ("new groups", "ConsumerGroupDescribe", 1, {"group_ids": ["g2", "h"], "include_authorized_operations": True}),
        ("list of groups", "ListGroups", 5, {}),
    ]


def _of_transactions() -> Sequence[Case]:
    producer = {"producer_id": 4711, "producer_epoch": 0}
    transaction = {"transactional_id": "x", **producer, "verify_only": True, "topics": topics(partitions=[0])}
    return [
        ("producer id", "InitProducerId", 4, {"transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1}),
        (
            "producer id of a transaction",
            "InitProducerId",
            4,
            {"transactional_id": "x", "transaction_timeout_ms": -1, **producer},
        ),
        (
            "partitions",
            "AddPartitionsToTxn",
            3,
            {
                "v3_and_below_transactional_id": "x",
                "v3_and_below_producer_id": 4711,
                "v3_and_below_topics": topics(partitions=[0]),
            },
        ),
        (
            "partitions for brokers",
            "AddPartitionsToTxn",
            4,
            {"transactions": [transaction]},
        ),
        ("offsets", "AddOffsetsToTxn", 3, {"transactional_id": "x", **producer, "group_id": "g"}),
        ("end", "EndTxn", 3, {"transactional_id": "x", **producer, "committed": True}),
        (
            "commit of offsets",
            "TxnOffsetCommit",
            3,
            {
                "transactional_id": "x",
                "group_id": "g",
                **producer,
                "generation_id": -1,
                "topics": topics(partitions=[_COMMITTED]),
            },
        ),
        ("transactions", "DescribeTransactions", 0, {"transactional_ids": ["x", "y"]}),
        ("list of transactions", "ListTransactions", 1, {"duration_filter": -1}),
    ]


def _of_the_cluster() -> Sequence[Case]:
    resources = [(2, "t"), (2, "u"), (32, "g"), (32, "h"), (4, "1"), (8, "1"), (16, "m")]
    described = [{"resource_type": kind, "resource_name": name, "configuration_keys": []} for kind, name in resources]
    altered = [{"resource_type": kind, "resource_name": name, "configs": [_CONFIG]} for kind, name in resources[:2]]
    return [
        ("versions", "ApiVersions", 0, {}),
        ("cluster", "DescribeCluster", 1, {"include_cluster_authorized_operations": True, "endpoint_type": 1}),
        ("configs", "DescribeConfigs", 4, {"resources": described}),
        ("change of configs", "IncrementalAlterConfigs", 1, {"resources": altered, "validate_only": True}),
        (
            "change of a broker's configs",
            "IncrementalAlterConfigs",
            1,
            {
                "resources": [
                    {"resource_type": 4, "resource_name": "1", "configs": [{**_CONFIG, "name": "log.retention.ms"}]}
                ],
                "validate_only": True,
            },
        ),
        ("old change of configs", "AlterConfigs", 2, {"resources": altered, "validate_only": True}),
        ("resources with configs", "ListConfigResources", 1, {"resource_types": [16]}),
        ("quotas", "DescribeClientQuotas", 1, {"components": []}),
        (
            "change of quotas",
            "AlterClientQuotas",
            1,
            {
                "entries": [
                    {
                        "entity": [{"entity_type": "user", "entity_name": "u"}],
                        "ops": [{"key": "producer_byte_rate", "value": 1e9, "remove": False}],
                    }
                ],
                "validate_only": True,
            },
        ),
        ("users", "DescribeUserScramCredentials", 0, {"users": [{"name": "not-there"}]}),
        ("change of users", "AlterUserScramCredentials", 0, {"deletions": [{"name": "not-there", "mechanism": 1}]}),
        ("ACLs", "DescribeAcls", 3, {**_FILTER, "principal_filter": "User:reader"}),
        ("new ACLs", "CreateAcls", 3, {"creations": [creation("z", 4, KAFKA_CLUSTER, CLUSTER_ACTION)]}),
        ("removal of ACLs", "DeleteAcls", 3, {"filters": [{**_FILTER, "principal_filter": "User:nobody-at-all"}]}),
        ("directories", "DescribeLogDirs", 4, {"topics": [{"topic": "missing", "partitions": [0]}]}),
        ("old directories", "DescribeLogDirs", 1, {"topics": [{"topic": "missing", "partitions": [0]}]}),
        (
            "move to a directory",
            "AlterReplicaLogDirs",
            2,
            {"dirs": [{"path": "/not/there", "topics": [{"name": "t", "partitions": [0]}]}]},
        ),
        ("elections", "ElectLeaders", 2, _ELECTION),
        (
            "old elections",
            "ElectLeaders",
            0,
            {"topic_partitions": [{"topic": "t", "partitions": [0]}], "timeout_ms": 5000},
        ),
        (
            "reassignments",
            "AlterPartitionReassignments",
            0,
            {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "replicas": None}]}], "timeout_ms": 5000},
        ),
        ("list of reassignments", "ListPartitionReassignments", 0, {"topics": None, "timeout_ms": 5000}),
        (
            "features",
            "UpdateFeatures",
            1,
            {
                "timeout_ms": 5000,
                "feature_updates": [{"feature": "no.such", "max_version_level": 1, "upgrade_type": 1}],
                "validate_only": True,
            },
        ),
        ("forgetting a broker", "UnregisterBroker", 0, {"broker_id": 99}),
        (
            "markers",
            "WriteTxnMarkers",
            1,
            {
                "markers": [
                    {
                        "producer_id": 4711,
                        "transaction_result": True,
                        "topics": [{"name": "missing", "partition_indexes": [0]}],
                    }
                ]
            },
        ),
    ]


CASES: Sequence[Case] = [*_of_topics(), *_of_groups(), *_of_transactions(), *_of_the_cluster()]
