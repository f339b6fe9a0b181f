"""The table: which rule answers for which API, at a broker's listeners and at a controller's.

Every API that is served has a row, which a test holds. What only brokers and controllers ask of each other takes
CLUSTER_ACTION. Source: Kafka 4.3's KafkaApis and ControllerApis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from odradek.broker.authorization import rules_of_groups as groups
from odradek.broker.authorization import rules_of_tokens as tokens
from odradek.broker.authorization import rules_of_topics as topics
from odradek.broker.authorization import rules_of_transactions as transactions
from odradek.broker.authorization.asking import CLUSTER, GROUP, TOPIC, Asking, Entries, refuse_some
from odradek.broker.authorization.partly import Outcome, Partly
from odradek.broker.authorization.refusals import refuse_all
from odradek.broker.metadata.image import ResourceType
from odradek.protocol.acls import CLUSTER_NAME, AclOperation
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.registry import ApiKey

Rule = Callable[[Asking, Any], Outcome]


def everybody(_asking: Asking, _request: Any) -> None:
    """Everybody may."""


def to_cluster(operation: AclOperation) -> Rule:
    """Return the rule of an API that takes an operation on the cluster."""

    def rule(asking: Asking, request: Any) -> Outcome:
        if asking.may_to_cluster(operation):
            return None
        return refuse_all(asking.api, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    return rule


def describe_cluster(asking: Asking, request: Any) -> Outcome:
    """Everybody may; what he may do with the cluster is told where it is asked for."""
    if not request.include_cluster_authorized_operations:
        return None

    def fill(response: Any) -> Message:
        if not response.error_code:
            response.cluster_authorized_operations = topics.cluster_operations_of(asking)
        message: Message = response
        return message

    return Partly(request, fill)


def describe_cluster_of_controllers(asking: Asking, request: Any) -> Outcome:
    """CLUSTER ALTER: who asks controllers for themselves is to change them."""
    return to_cluster(AclOperation.ALTER)(asking, request) or describe_cluster(asking, request)


def of_configs(operation: AclOperation, answered: str) -> Rule:
    """Return the rule of an API about configs: those of topics and groups take an operation on these, all others on
    the cluster."""

    def refusal(asking: Asking, resource: Any) -> ErrorCode | None:
        match resource.resource_type:
            case ResourceType.TOPIC:
                may = asking.may(operation, TOPIC, resource.resource_name)
                return None if may else ErrorCode.TOPIC_AUTHORIZATION_FAILED
            case ResourceType.GROUP:
                may = asking.may(operation, GROUP, resource.resource_name)
                return None if may else ErrorCode.GROUP_AUTHORIZATION_FAILED
            case ResourceType.BROKER | ResourceType.BROKER_LOGGER | ResourceType.CLIENT_METRICS:
                may = asking.may(operation, CLUSTER, CLUSTER_NAME)
                return None if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return None  # the handler says that there is no such kind

    def rule(asking: Asking, request: Any) -> Outcome:
        return refuse_some(asking, request, Entries("resources", answered), partial(refusal, asking))

    return rule


_CLUSTER_ACTION = to_cluster(AclOperation.CLUSTER_ACTION)
_ALTER = to_cluster(AclOperation.ALTER)
_DESCRIBE = to_cluster(AclOperation.DESCRIBE)

RULES: Final[Mapping[ApiKey, Rule]] = MappingProxyType(
    {
        # topics
        ApiKey.PRODUCE: topics.produce,
        ApiKey.FETCH: everybody,  # its handler asks, since most of its partitions are in sessions: `readable`
        ApiKey.LIST_OFFSETS: topics.of_each(AclOperation.DESCRIBE),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: topics.offsets_of_epochs,
        ApiKey.METADATA: topics.metadata,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: topics.describe_topic_partitions,
        ApiKey.CREATE_TOPICS: topics.create_topics,
        ApiKey.DELETE_TOPICS: topics.delete_topics,
        ApiKey.CREATE_PARTITIONS: topics.of_each(AclOperation.ALTER, answered="results"),
        ApiKey.DELETE_RECORDS: topics.of_each(AclOperation.DELETE),
        ApiKey.DESCRIBE_PRODUCERS: topics.of_each(AclOperation.READ),
        # groups
        ApiKey.FIND_COORDINATOR: groups.find_coordinator,
        ApiKey.JOIN_GROUP: groups.join_group,
        ApiKey.SYNC_GROUP: groups.sync_group,
        ApiKey.HEARTBEAT: groups.of_group(AclOperation.READ),
        ApiKey.LEAVE_GROUP: groups.of_group(AclOperation.READ),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: groups.consumer_group_heartbeat,
        ApiKey.OFFSET_COMMIT: groups.offset_commit,
        ApiKey.OFFSET_FETCH: groups.offset_fetch,
        ApiKey.OFFSET_DELETE: groups.offset_delete,
        ApiKey.TXN_OFFSET_COMMIT: groups.txn_offset_commit,
        ApiKey.LIST_GROUPS: groups.list_groups,
        ApiKey.DESCRIBE_GROUPS: groups.describe_groups,
        ApiKey.CONSUMER_GROUP_DESCRIBE: groups.consumer_group_describe,
        ApiKey.DELETE_GROUPS: groups.of_each_group(AclOperation.DELETE, "groups_names", "results"),
        # transactions
        ApiKey.INIT_PRODUCER_ID: transactions.init_producer_id,
        ApiKey.ADD_PARTITIONS_TO_TXN: transactions.add_partitions,
        ApiKey.ADD_OFFSETS_TO_TXN: transactions.add_offsets,
        ApiKey.END_TXN: transactions.end,
        ApiKey.WRITE_TXN_MARKERS: transactions.write_markers,
        ApiKey.DESCRIBE_TRANSACTIONS: transactions.describe,
        ApiKey.LIST_TRANSACTIONS: transactions.list_all,
        # the cluster
        ApiKey.API_VERSIONS: everybody,
        ApiKey.SASL_HANDSHAKE: everybody,
        ApiKey.SASL_AUTHENTICATE: everybody,
        ApiKey.DESCRIBE_CLUSTER: describe_cluster,
        ApiKey.DESCRIBE_CONFIGS: of_configs(AclOperation.DESCRIBE_CONFIGS, "results"),
        ApiKey.ALTER_CONFIGS: of_configs(AclOperation.ALTER_CONFIGS, "responses"),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: of_configs(AclOperation.ALTER_CONFIGS, "responses"),
        ApiKey.LIST_CONFIG_RESOURCES: to_cluster(AclOperation.DESCRIBE_CONFIGS),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: to_cluster(AclOperation.DESCRIBE_CONFIGS),
        ApiKey.ALTER_CLIENT_QUOTAS: to_cluster(AclOperation.ALTER_CONFIGS),
        ApiKey.DESCRIBE_ACLS: _DESCRIBE,
        ApiKey.CREATE_ACLS: _ALTER,
        ApiKey.DELETE_ACLS: _ALTER,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _DESCRIBE,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _ALTER,
        # of delegation tokens everybody has his own; who may what with those of others is with the handlers
        ApiKey.CREATE_DELEGATION_TOKEN: tokens.create,
        ApiKey.RENEW_DELEGATION_TOKEN: everybody,
        ApiKey.EXPIRE_DELEGATION_TOKEN: everybody,
        ApiKey.DESCRIBE_DELEGATION_TOKEN: tokens.describe,
        ApiKey.DESCRIBE_LOG_DIRS: _DESCRIBE,
        ApiKey.ALTER_REPLICA_LOG_DIRS: _ALTER,
        ApiKey.DESCRIBE_QUORUM: _DESCRIBE,
        ApiKey.ELECT_LEADERS: _ALTER,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: _ALTER,
        ApiKey.LIST_PARTITION_REASSIGNMENTS: _DESCRIBE,
        ApiKey.UPDATE_FEATURES: _ALTER,
        ApiKey.UNREGISTER_BROKER: _ALTER,
        ApiKey.ADD_RAFT_VOTER: _ALTER,
        ApiKey.REMOVE_RAFT_VOTER: _ALTER,
        # nodes among each other
        ApiKey.VOTE: _CLUSTER_ACTION,
        ApiKey.BEGIN_QUORUM_EPOCH: _CLUSTER_ACTION,
        ApiKey.END_QUORUM_EPOCH: _CLUSTER_ACTION,
        ApiKey.UPDATE_RAFT_VOTER: _CLUSTER_ACTION,
        ApiKey.FETCH_SNAPSHOT: _CLUSTER_ACTION,
        ApiKey.ENVELOPE: _CLUSTER_ACTION,
        ApiKey.BROKER_REGISTRATION: _CLUSTER_ACTION,
        ApiKey.BROKER_HEARTBEAT: _CLUSTER_ACTION,
        ApiKey.CONTROLLER_REGISTRATION: _CLUSTER_ACTION,
        ApiKey.ALTER_PARTITION: _CLUSTER_ACTION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS: _CLUSTER_ACTION,
        ApiKey.ALLOCATE_PRODUCER_IDS: _CLUSTER_ACTION,
    }
)
"""At a broker's listeners, and at a controller's where that has no rule of its own."""

CONTROLLER_RULES: Final[Mapping[ApiKey, Rule]] = MappingProxyType(
    {
        **RULES,
        ApiKey.FETCH: _CLUSTER_ACTION,
        ApiKey.DESCRIBE_CLUSTER: describe_cluster_of_controllers,
    }
)
"""At a controller's listeners."""
