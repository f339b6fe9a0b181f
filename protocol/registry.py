"""Which APIs exist, which of their versions are served, and the messages that belong to them.

The one table that ApiVersions is answered from, requests are checked against and headers are read by, so that they
cannot differ. It follows Apache Kafka 4.3: what that serves as stable is served here, and also the first versions of
each API, which Kafka 4 dropped (KIP-896), so that clients of any age go on working. The message classes of an API are
imported when they are first asked for, so that a broker starts without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from importlib import import_module
from types import MappingProxyType

from odradek.protocol.codec import DecodeError, EncodeError, Message, decode, encode, encode_into
from odradek.protocol.codec.fields import Versions


class ApiKey(IntEnum):
    """Every API of Kafka 4.3. Keys 4 to 7 belonged to ZooKeeper mode and are no longer spoken."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


class Api:
    """One API: its versions and its messages."""

    __slots__ = ("_messages", "first_flexible", "key", "name", "served")

    def __init__(self, key: ApiKey, name: str, served: Versions, first_flexible: int | None) -> None:
        self.key = key
        self.name = name
        """Kafka's name: "CreateTopics"."""
        self.served = served
        """The versions that ApiVersions tells; a request of any other closes the connection (ApiVersions excepted)."""
        self.first_flexible = first_flexible
        """The first version with tagged fields, in the headers too (KIP-482); None if there is none."""
        self._messages: tuple[type[Message], type[Message]] | None = None

    @property
    def request(self) -> type[Message]:
        """The class of its requests, imported on first use."""
        return self._load()[0]

    @property
    def response(self) -> type[Message]:
        """The class of its responses, imported on first use."""
        return self._load()[1]

    def is_flexible(self, version: int) -> bool:
        """True for the versions with tagged fields."""
        return self.first_flexible is not None and version >= self.first_flexible

    def _load(self) -> tuple[type[Message], type[Message]]:
        if self._messages is None:
            module = import_module(f"odradek.protocol.messages.{self.key.name.lower()}")
            self._messages = (getattr(module, f"{self.name}Request"), getattr(module, f"{self.name}Response"))
        return self._messages

    def __repr__(self) -> str:
        return f"<Api {self.key.value} {self.name} {self.served.first}-{self.served.last}>"


_APIS = (
    Api(ApiKey.PRODUCE, "Produce", Versions(0, 13), 9),
    Api(ApiKey.FETCH, "Fetch", Versions(0, 18), 12),
    Api(ApiKey.LIST_OFFSETS, "ListOffsets", Versions(0, 11), 6),
    Api(ApiKey.METADATA, "Metadata", Versions(0, 13), 9),
    Api(ApiKey.OFFSET_COMMIT, "OffsetCommit", Versions(0, 10), 8),
    Api(ApiKey.OFFSET_FETCH, "OffsetFetch", Versions(0, 10), 6),
    Api(ApiKey.FIND_COORDINATOR, "FindCoordinator", Versions(0, 6), 3),
    Api(ApiKey.JOIN_GROUP, "JoinGroup", Versions(0, 9), 6),
    Api(ApiKey.HEARTBEAT, "Heartbeat", Versions(0, 4), 4),
    Api(ApiKey.LEAVE_GROUP, "LeaveGroup", Versions(0, 5), 4),
    Api(ApiKey.SYNC_GROUP, "SyncGroup", Versions(0, 5), 4),
    Api(ApiKey.DESCRIBE_GROUPS, "DescribeGroups", Versions(0, 6), 5),
    Api(ApiKey.LIST_GROUPS, "ListGroups", Versions(0, 5), 3),
    Api(ApiKey.SASL_HANDSHAKE, "SaslHandshake", Versions(0, 1), None),
    Api(ApiKey.API_VERSIONS, "ApiVersions", Versions(0, 4), 3),
    Api(ApiKey.CREATE_TOPICS, "CreateTopics", Versions(0, 7), 5),
    Api(ApiKey.DELETE_TOPICS, "DeleteTopics", Versions(0, 6), 4),
    Api(ApiKey.DELETE_RECORDS, "DeleteRecords", Versions(0, 2), 2),
    Api(ApiKey.INIT_PRODUCER_ID, "InitProducerId", Versions(0, 5), 2),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch", Versions(0, 4), 4),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn", Versions(0, 5), 3),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", Versions(0, 4), 3),
    Api(ApiKey.END_TXN, "EndTxn", Versions(0, 5), 3),
    Api(ApiKey.WRITE_TXN_MARKERS, "WriteTxnMarkers", Versions(0, 2), 1),
    Api(ApiKey.TXN_OFFSET_COMMIT, "TxnOffsetCommit", Versions(0, 5), 3),
    Api(ApiKey.DESCRIBE_ACLS, "DescribeAcls", Versions(0, 3), 2),
    Api(ApiKey.CREATE_ACLS, "CreateAcls", Versions(0, 3), 2),
    Api(ApiKey.DELETE_ACLS, "DeleteAcls", Versions(0, 3), 2),
    Api(ApiKey.DESCRIBE_CONFIGS, "DescribeConfigs", Versions(0, 4), 4),
    Api(ApiKey.ALTER_CONFIGS, "AlterConfigs", Versions(0, 2), 2),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, "AlterReplicaLogDirs", Versions(0, 2), 2),
    Api(ApiKey.DESCRIBE_LOG_DIRS, "DescribeLogDirs", Versions(0, 5), 2),
    Api(ApiKey.SASL_AUTHENTICATE, "SaslAuthenticate", Versions(0, 2), 2),
    Api(ApiKey.CREATE_PARTITIONS, "CreatePartitions", Versions(0, 3), 2),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, "CreateDelegationToken", Versions(0, 3), 2),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, "RenewDelegationToken", Versions(0, 2), 2),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, "ExpireDelegationToken", Versions(0, 2), 2),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, "DescribeDelegationToken", Versions(0, 3), 2),
    Api(ApiKey.DELETE_GROUPS, "DeleteGroups", Versions(0, 2), 2),
    Api(ApiKey.ELECT_LEADERS, "ElectLeaders", Versions(0, 2), 2),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, "IncrementalAlterConfigs", Versions(0, 1), 1),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "AlterPartitionReassignments", Versions(0, 1), 0),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, "ListPartitionReassignments", Versions(0, 0), 0),
    Api(ApiKey.OFFSET_DELETE, "OffsetDelete", Versions(0, 0), None),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, "DescribeClientQuotas", Versions(0, 1), 1),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, "AlterClientQuotas", Versions(0, 1), 1),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "DescribeUserScramCredentials", Versions(0, 0), 0),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "AlterUserScramCredentials", Versions(0, 0), 0),
    Api(ApiKey.VOTE, "Vote", Versions(0, 2), 0),
    Api(ApiKey.BEGIN_QUORUM_EPOCH, "BeginQuorumEpoch", Versions(0, 1), 1),
    Api(ApiKey.END_QUORUM_EPOCH, "EndQuorumEpoch", Versions(0, 1), 1),
    Api(ApiKey.DESCRIBE_QUORUM, "DescribeQuorum", Versions(0, 2), 0),
    Api(ApiKey.ALTER_PARTITION, "AlterPartition", Versions(0, 3), 0),
    Api(ApiKey.UPDATE_FEATURES, "UpdateFeatures", Versions(0, 2), 0),
    Api(ApiKey.ENVELOPE, "Envelope", Versions(0, 0), 0),
    Api(ApiKey.FETCH_SNAPSHOT, "FetchSnapshot", Versions(0, 1), 0),
    Api(ApiKey.DESCRIBE_CLUSTER, "DescribeCluster", Versions(0, 2), 0),
    Api(ApiKey.DESCRIBE_PRODUCERS, "DescribeProducers", Versions(0, 0), 0),
    Api(ApiKey.BROKER_REGISTRATION, "BrokerRegistration", Versions(0, 4), 0),
    Api(ApiKey.BROKER_HEARTBEAT, "BrokerHeartbeat", Versions(0, 2), 0),
    Api(ApiKey.UNREGISTER_BROKER, "UnregisterBroker", Versions(0, 0), 0),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, "DescribeTransactions", Versions(0, 0), 0),
    Api(ApiKey.LIST_TRANSACTIONS, "ListTransactions", Versions(0, 2), 0),
    Api(ApiKey.ALLOCATE_PRODUCER_IDS, "AllocateProducerIds", Versions(0, 0), 0),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, "ConsumerGroupHeartbeat", Versions(0, 1), 0),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, "ConsumerGroupDescribe", Versions(0, 1), 0),
    Api(ApiKey.CONTROLLER_REGISTRATION, "ControllerRegistration", Versions(0, 0), 0),
    Api(ApiKey.ASSIGN_REPLICAS_TO_DIRS, "AssignReplicasToDirs", Versions(0, 0), 0),
    Api(ApiKey.LIST_CONFIG_RESOURCES, "ListConfigResources", Versions(0, 1), 0),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "DescribeTopicPartitions", Versions(0, 0), 0),
    Api(ApiKey.ADD_RAFT_VOTER, "AddRaftVoter", Versions(0, 1), 0),
    Api(ApiKey.REMOVE_RAFT_VOTER, "RemoveRaftVoter", Versions(0, 0), 0),
    Api(ApiKey.UPDATE_RAFT_VOTER, "UpdateRaftVoter", Versions(0, 0), 0),
)

API: Mapping[ApiKey, Api] = MappingProxyType({api.key: api for api in _APIS})
"""The APIs whose messages are declared, by key; a plain int finds its API too."""

__all__ = ["API", "Api", "ApiKey", "DecodeError", "EncodeError", "decode", "encode", "encode_into"]
