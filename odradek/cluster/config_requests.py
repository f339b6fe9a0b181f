"""Configs of what librdkafka has no name for: all brokers together, and subscriptions to the metrics of clients.

The first is a resource without a name, the second of a type of its own (KIP-714); so these requests go over a
connection of our own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from confluent_kafka.admin import AlterConfigOpType

from odradek.cluster.broker_requests import check
from odradek.cluster.configs import Config, ConfigOrigin, ConfigResourceType
from odradek.cluster.connection import ClusterClients
from odradek.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

WHAT_IS_LISTED = "the names of what has configs"


def describe_by_request(cluster: ClusterClients, kind: ConfigResourceType, name: str, what: str) -> list[Config]:
    """Return the configs of a resource by name; CommandError, of `what`, where it cannot be asked for."""
    resource = DescribeConfigsResource(resource_type=kind.value, resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource])
    answer = cluster.requests.ask(request, DescribeConfigsResponse, what)
    for result in answer.results:
        check(result.error_code, result.error_message, what)
    return [
        Config(
            name=each.name,
            value=None if each.is_sensitive else each.value,
            source=ConfigOrigin(each.config_source),
            sensitive=each.is_sensitive,
            read_only=each.read_only,
        )
        for result in answer.results
        for each in sorted(result.configs, key=lambda config: config.name)
    ]


def alter_by_request(
    cluster: ClusterClients,
    kind: ConfigResourceType,
    name: str,
    changes: Sequence[tuple[str, str]],
    deletions: Sequence[str],
    what: str,
) -> None:
    """Set some configs and take others back; CommandError, of `what`, where one is refused: then none is changed."""
    set_one, delete_one = AlterConfigOpType.SET.value, AlterConfigOpType.DELETE.value
    configs = [AlterableConfig(name=key, config_operation=set_one, value=value) for key, value in changes]
    configs += [AlterableConfig(name=key, config_operation=delete_one, value=None) for key in deletions]
    resource = AlterConfigsResource(resource_type=kind.value, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    answer = cluster.requests.ask(request, IncrementalAlterConfigsResponse, what)
    for result in answer.responses:
        check(result.error_code, result.error_message, what)


def config_names(
    cluster: ClusterClients, kinds: Collection[ConfigResourceType]
) -> list[tuple[ConfigResourceType, str]]:
    """Return the resources of these kinds that can have configs, in order; of groups those that have some.

    Brokers of Apache Kafka before 4.1 tell of subscriptions to metrics alone. CommandError where they tell of nothing.
    """
    request = ListConfigResourcesRequest(resource_types=sorted(each.value for each in kinds))
    answer = cluster.requests.ask(request, ListConfigResourcesResponse, WHAT_IS_LISTED)
    check(answer.error_code, None, WHAT_IS_LISTED)
    known = {each.value: each for each in kinds}
    found = [
        (known[each.resource_type], each.resource_name)
        for each in answer.config_resources
        if each.resource_type in known
    ]
    return sorted(found, key=lambda each: (each[0].value, each[1]))
