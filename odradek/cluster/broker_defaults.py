"""Configs that hold for all brokers of a cluster unless one has its own: a resource without a name.

librdkafka takes no empty name, so these requests go over a connection of our own: DescribeConfigs version 1 and
IncrementalAlterConfigs version 0, which every broker since Apache Kafka 2.3 serves. Changes go to the controller, or to
the broker that stands in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from confluent_kafka import KafkaError
from confluent_kafka.admin import AlterConfigOpType, ConfigSource, ResourceType

from odradek.client.errors import ClientError
from odradek.cluster.configs import Config
from odradek.cluster.connection import ClusterClients
from odradek.cluster.errors import ANSWER_TIMEOUT_S, sentence
from odradek.cluster.one_request import ask, can_ask
from odradek.protocol.codec import Message
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
from odradek.protocol.registry import ApiKey
from odradek.terminal.errors import CommandError

WHAT = "the default of all brokers"

_DESCRIBE_VERSION, _ALTER_VERSION = 1, 0
_BROKER = ResourceType.BROKER.value

Answer = TypeVar("Answer", bound=Message)


def describe_broker_defaults(cluster: ClusterClients) -> list[Config]:
    """Return what is set for all brokers, by name; CommandError where it cannot be asked for."""
    resource = DescribeConfigsResource(resource_type=_BROKER, resource_name="", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource])
    answer = _ask(cluster, ApiKey.DESCRIBE_CONFIGS, _DESCRIBE_VERSION, request, DescribeConfigsResponse)
    for result in answer.results:
        _check(result.error_code, result.error_message)
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
    answer = _ask(cluster, ApiKey.INCREMENTAL_ALTER_CONFIGS, _ALTER_VERSION, request, IncrementalAlterConfigsResponse)
    for result in answer.responses:
        _check(result.error_code, result.error_message)


def _ask(cluster: ClusterClients, api: ApiKey, version: int, request: Message, answer: type[Answer]) -> Answer:
    if not can_ask(cluster.settings):
        raise CommandError(f"{WHAT} can only be asked for over a PLAINTEXT listener")
    found = cluster.metadata()
    # Declared as if it had no address.
    broker: Any = found.brokers.get(found.controller_id) or next(iter(found.brokers.values()))
    try:
        return ask(broker.host, broker.port, api, version, request, answer, ANSWER_TIMEOUT_S)
    except ClientError as failed:
        raise CommandError(f"{broker.host}:{broker.port} does not answer about {WHAT}: {failed}") from failed


def _check(code: int, reason: str | None) -> None:
    if code:
        error = KafkaError(code, reason) if reason else KafkaError(code)
        raise CommandError(sentence(error, WHAT))
