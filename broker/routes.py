"""Which handler answers which API: the one table that ApiVersions, the dispatcher and docs/protocol.md are made from.

Another API is its message (`protocol.messages`, by its name), its handler (`broker_handlers`, `controller_handlers`),
and a line here. Handlers are imported and made at the first request for one of theirs, and all of them soon after the
start (`load_all`), so that no request has to open the files of modules when there is no descriptor left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from odradek.broker.dispatch.route import DirectHandler, MessageHandler
from odradek.protocol.codec import Message
from odradek.protocol.registry import API, ApiKey

if TYPE_CHECKING:
    from odradek.broker.broker_handlers import BrokerHandlers
    from odradek.broker.controller_handlers import ControllerHandlers


DIRECT_ROUTES: Mapping[ApiKey, Callable[[BrokerHandlers], DirectHandler]] = {
    ApiKey.PRODUCE: lambda of: of.produce,
    ApiKey.FETCH: lambda of: of.fetch,
}
"""The APIs whose handlers write their own responses."""

MESSAGE_ROUTES: Mapping[ApiKey, Callable[[BrokerHandlers], MessageHandler]] = {
    ApiKey.API_VERSIONS: lambda of: of.api_versions.api_versions,
    ApiKey.SASL_HANDSHAKE: lambda of: of.security.sasl.sasl_handshake,
    ApiKey.SASL_AUTHENTICATE: lambda of: of.security.sasl.sasl_authenticate,
    ApiKey.METADATA: lambda of: of.metadata.metadata,
    ApiKey.DESCRIBE_CLUSTER: lambda of: of.cluster.describe_cluster,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: lambda of: of.cluster.describe_topic_partitions,
    ApiKey.CREATE_TOPICS: lambda of: of.topics.create_topics,
    ApiKey.DELETE_TOPICS: lambda of: of.topics.delete_topics,
    ApiKey.CREATE_PARTITIONS: lambda of: of.topics.create_partitions,
    ApiKey.ELECT_LEADERS: lambda of: of.replication.elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda of: of.replication.alter_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda of: of.replication.list_reassignments,
    ApiKey.UPDATE_FEATURES: lambda of: of.replication.update_features,
    ApiKey.UNREGISTER_BROKER: lambda of: of.replication.unregister_broker,
    ApiKey.DESCRIBE_QUORUM: lambda of: of.quorum.describe_quorum,
    ApiKey.DESCRIBE_CONFIGS: lambda of: of.configs.describe_configs,
    ApiKey.ALTER_CONFIGS: lambda of: of.configs.alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda of: of.configs.incremental_alter_configs,
    ApiKey.LIST_CONFIG_RESOURCES: lambda of: of.configs.list_config_resources,
    ApiKey.DESCRIBE_ACLS: lambda of: of.security.acls.describe_acls,
    ApiKey.CREATE_ACLS: lambda of: of.security.acls.create_acls,
    ApiKey.DELETE_ACLS: lambda of: of.security.acls.delete_acls,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: lambda of: of.security.client_quotas.describe_client_quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: lambda of: of.security.client_quotas.alter_client_quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda of: of.security.scram_users.describe,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda of: of.security.scram_users.alter,
    ApiKey.CREATE_DELEGATION_TOKEN: lambda of: of.security.tokens.create,
    ApiKey.RENEW_DELEGATION_TOKEN: lambda of: of.security.tokens.renew,
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda of: of.security.tokens.expire,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda of: of.security.tokens.describe,
    ApiKey.LIST_OFFSETS: lambda of: of.offsets.list_offsets,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda of: of.offsets.offset_for_leader_epoch,
    ApiKey.DELETE_RECORDS: lambda of: of.delete_records,
    ApiKey.ALTER_REPLICA_LOG_DIRS: lambda of: of.alter_log_dirs.alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: lambda of: of.log_dirs.describe_log_dirs,
    ApiKey.INIT_PRODUCER_ID: lambda of: of.producer_ids.init_producer_id,
    ApiKey.DESCRIBE_PRODUCERS: lambda of: of.producers.describe_producers,
    ApiKey.FIND_COORDINATOR: lambda of: of.coordinator.find_coordinator,
    ApiKey.JOIN_GROUP: lambda of: of.groups.join_group,
    ApiKey.SYNC_GROUP: lambda of: of.groups.sync_group,
    ApiKey.HEARTBEAT: lambda of: of.groups.heartbeat,
    ApiKey.LEAVE_GROUP: lambda of: of.groups.leave_group,
    ApiKey.OFFSET_COMMIT: lambda of: of.offset_commits.offset_commit,
    ApiKey.OFFSET_DELETE: lambda of: of.offset_commits.offset_delete,
    ApiKey.OFFSET_FETCH: lambda of: of.offset_fetch.offset_fetch,
    ApiKey.ADD_PARTITIONS_TO_TXN: lambda of: of.transactions.add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: lambda of: of.transactions.add_offsets_to_txn,
    ApiKey.END_TXN: lambda of: of.transactions.end_txn,
    ApiKey.DESCRIBE_TRANSACTIONS: lambda of: of.transaction_admin.describe_transactions,
    ApiKey.LIST_TRANSACTIONS: lambda of: of.transaction_admin.list_transactions,
    ApiKey.TXN_OFFSET_COMMIT: lambda of: of.txn_offset_commits.txn_offset_commit,
    ApiKey.WRITE_TXN_MARKERS: lambda of: of.txn_markers.write_txn_markers,
    ApiKey.DESCRIBE_GROUPS: lambda of: of.group_admin.describe_groups,
    ApiKey.LIST_GROUPS: lambda of: of.group_admin.list_groups,
    ApiKey.DELETE_GROUPS: lambda of: of.group_admin.delete_groups,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda of: of.consumer_groups.heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: lambda of: of.consumer_groups.describe,
}
"""The APIs whose handlers return a response message."""

SERVED: Sequence[ApiKey] = sorted({*DIRECT_ROUTES, *MESSAGE_ROUTES})
"""What ApiVersions tells."""

CONTROLLER_ROUTES: Mapping[ApiKey, Callable[[ControllerHandlers], MessageHandler]] = {
    ApiKey.FETCH: lambda of: of.fetch.fetch,
    ApiKey.API_VERSIONS: lambda of: of.api_versions.api_versions,
    ApiKey.SASL_HANDSHAKE: lambda of: of.security.sasl.sasl_handshake,
    ApiKey.SASL_AUTHENTICATE: lambda of: of.security.sasl.sasl_authenticate,
    ApiKey.CREATE_TOPICS: lambda of: of.topics.create_topics,
    ApiKey.DELETE_TOPICS: lambda of: of.topics.delete_topics,
    ApiKey.DESCRIBE_ACLS: lambda of: of.security.acls.describe_acls,
    ApiKey.CREATE_ACLS: lambda of: of.security.acls.create_acls,
    ApiKey.DELETE_ACLS: lambda of: of.security.acls.delete_acls,
    ApiKey.DESCRIBE_CONFIGS: lambda of: of.configs.describe_configs,
    ApiKey.ALTER_CONFIGS: lambda of: of.configs.alter_configs,
    ApiKey.CREATE_PARTITIONS: lambda of: of.topics.create_partitions,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda of: of.configs.incremental_alter_configs,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda of: of.security.scram_users.alter,
    ApiKey.CREATE_DELEGATION_TOKEN: lambda of: of.security.tokens.create,
    ApiKey.RENEW_DELEGATION_TOKEN: lambda of: of.security.tokens.renew,
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda of: of.security.tokens.expire,
    ApiKey.VOTE: lambda of: of.elections.vote,
    ApiKey.BEGIN_QUORUM_EPOCH: lambda of: of.elections.begin_quorum_epoch,
    ApiKey.END_QUORUM_EPOCH: lambda of: of.elections.end_quorum_epoch,
    ApiKey.DESCRIBE_QUORUM: lambda of: of.quorum.describe_quorum,
    ApiKey.ENVELOPE: lambda of: of.envelopes.envelope,
    ApiKey.FETCH_SNAPSHOT: lambda of: of.snapshots.fetch_snapshot,
    ApiKey.DESCRIBE_CLUSTER: lambda of: of.cluster.describe_cluster,
    ApiKey.ELECT_LEADERS: lambda of: of.replication.elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda of: of.replication.alter_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda of: of.replication.list_reassignments,
    ApiKey.ALTER_CLIENT_QUOTAS: lambda of: of.security.client_quotas.alter_client_quotas,
    ApiKey.UPDATE_FEATURES: lambda of: of.replication.update_features,
    ApiKey.UNREGISTER_BROKER: lambda of: of.replication.unregister_broker,
    ApiKey.BROKER_REGISTRATION: lambda of: of.broker_requests.register,
    ApiKey.BROKER_HEARTBEAT: lambda of: of.broker_requests.heartbeat,
    ApiKey.ALTER_PARTITION: lambda of: of.broker_requests.alter_partition,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: lambda of: of.broker_requests.assign_directories,
    ApiKey.ALLOCATE_PRODUCER_IDS: lambda of: of.broker_requests.allocate_producer_ids,
    ApiKey.CONTROLLER_REGISTRATION: lambda of: of.cluster.controller_registration,
}
"""The APIs of a controller's listener; their handlers return a response message."""

FORWARDED: frozenset[ApiKey] = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)
"""What a broker that is not the controller hands on to it in an envelope (KIP-590)."""

HANDED_ON: frozenset[ApiKey] = FORWARDED & API.keys()
"""Those of them whose versions are known here: what a broker does whose controllers are elsewhere."""


def load_all(handlers: BrokerHandlers, without: Collection[ApiKey] = ()) -> Iterator[type[Message]]:
    """Import and make every handler, with the messages of its API; yields after each, for others to get their turn."""
    for key in SERVED:
        if key in without:
            continue
        find = DIRECT_ROUTES.get(key) or MESSAGE_ROUTES[key]
        find(handlers)
        yield API[key].request


def load_all_of_controller(handlers: ControllerHandlers) -> Iterator[type[Message]]:
    """Do the same for a controller's listener."""
    for key, find in CONTROLLER_ROUTES.items():
        find(handlers)
        yield API[key].request
