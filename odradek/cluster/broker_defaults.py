"""Configs that hold for all brokers of a cluster unless one has its own: a resource without a name.

librdkafka takes no empty name, so these requests go over a connection of our own.
"""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka.admin import AlterConfigOpType, ConfigSource, ResourceType

from odradek.cluster.broker_requests import check
from odradek.cluster.configs import Config
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

WHAT = "the default of all brokers"

_BROKER = ResourceType.BROKER.value


def describe_broker_defaults(cluster: ClusterClients) -> list[Config]:
    """Return what is set for all brokers, by name; CommandError where it cannot be asked for."""
    resource = DescribeConfigsResource(resource_type=_BROKER, resource_name="", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource])
    answer = cluster.requests.ask(request, DescribeConfigsResponse, WHAT)
    for result in answer.results:
        check(result.error_code, result.error_message, WHAT)
    return [
        Config(
            name=each.name,
            value=None if each.is_sensitive else each.value,
            source=ConfigSource(each.config_source),
            sensitive=each.is_sensitive,
            read_only=each.read_only,
        )
        for result in answer.results
        for each in sorted(result.configs, key=lambda config: config.name)
    ]


def alter_broker_defaults(
    cluster: ClusterClients, changes: Sequence[tuple[str, str]], deletions: Sequence[str]
) -> None:
    """Set some for all brokers and take others back; CommandError where one is refused, and then none is changed."""
    set_one, delete_one = AlterConfigOpType.SET.value, AlterConfigOpType.DELETE.value
    configs = [AlterableConfig(name=name, config_operation=set_one, value=value) for name, value in changes]
    configs += [AlterableConfig(name=name, config_operation=delete_one, value=None) for name in deletions]
    resource = AlterConfigsResource(resource_type=_BROKER, resource_name="", configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    answer = cluster.requests.ask(request, IncrementalAlterConfigsResponse, WHAT)
    for result in answer.responses:
        check(result.error_code, result.error_message, WHAT)
