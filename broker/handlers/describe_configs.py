"""What is in force for a resource, as DescribeConfigs and CreateTopics answer it.

Owns: which resources can be described, and the shape of the answer. The values, their sources and synonyms are
`config.effective`'s business. Sentences follow Kafka (`ConfigHelper`).
"""

from collections.abc import Collection, Iterable

from odradek.broker.controller.topics import PlannedTopic
from odradek.broker.handlers.broker_loggers import ROOT_LOGGER, level_of_root
from odradek.broker.metadata.broker_configs import BrokerConfigs
from odradek.broker.metadata.image import MetadataImage, ResourceType
from odradek.broker.metadata.topic_names import check_name
from odradek.config.effective import (
    ConfigEntry,
    describe_broker,
    describe_client_metrics,
    describe_created_topic,
    describe_default_broker,
    describe_group,
    describe_topic,
)
from odradek.config.layers import ConfigSource
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.create_topics import CreatableTopicConfigs
from odradek.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_NO_TYPE = 0
_DESCRIBED = frozenset(
    {
        ResourceType.TOPIC,
        ResourceType.BROKER,
        ResourceType.BROKER_LOGGER,
        ResourceType.CLIENT_METRICS,
        ResourceType.GROUP,
    }
)


class ConfigDescriber:
    """Describes resources as they are with an image."""

    def __init__(self, configs: BrokerConfigs) -> None:
        self._configs = configs

    def describe_all(self, image: MetadataImage, request: DescribeConfigsRequest) -> list[DescribeConfigsResult]:
        """Return the results for the resources of a request; one of a kind that there is not refuses all of them."""
        strangers = [one.resource_type for one in request.resources if one.resource_type not in _DESCRIBED]
        if strangers:
            return [
                DescribeConfigsResult(
                    error_code=ErrorCode.INVALID_REQUEST,
                    error_message=f"Unexpected resource type {strangers[0]}",
                    resource_type=one.resource_type,
                    resource_name=one.resource_name,
                )
                for one in request.resources
            ]
        return [
            self._describe(image, one, request.include_synonyms, request.include_documentation)
            for one in request.resources
        ]

    def _describe(
        self, image: MetadataImage, wanted: DescribeConfigsResource, with_synonyms: bool, documented: bool
    ) -> DescribeConfigsResult:
        result = DescribeConfigsResult(
            error_message="", resource_type=wanted.resource_type, resource_name=wanted.resource_name
        )
        try:
            entries = self._entries(image, wanted, wanted.configuration_keys or None, documented)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        else:
            result.configs = [_shape(entry, with_synonyms) for entry in entries]
        return result

    def describe_created(self, topic: PlannedTopic) -> list[CreatableTopicConfigs]:
        """Return the configs of a new topic for the answer of CreateTopics, by name."""
        entries = describe_created_topic(self._configs.layers, topic.configs)
        return [
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in sorted(entries)
        ]

    def _entries(
        self, image: MetadataImage, wanted: DescribeConfigsResource, keys: Collection[str] | None, documented: bool
    ) -> Iterable[ConfigEntry]:
        name, kind = wanted.resource_name, wanted.resource_type
        layers = self._configs.layers
        overrides = image.config(kind, name)
        match kind:
            case ResourceType.TOPIC:
                problem = check_name(name)
                if problem:
                    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
                if image.topic(name) is None:
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                return describe_topic(layers, overrides, keys, documented)
            case ResourceType.BROKER:
                if not name:
                    return describe_default_broker(layers, keys, documented)
                self._check_broker(name, "or empty string, ")
                return describe_broker(layers, keys, documented)
            case ResourceType.BROKER_LOGGER:
                if not name:
                    raise _refusal("Broker id must not be empty")
                self._check_broker(name, "")
                return [_root_logger()] if keys is None or ROOT_LOGGER in keys else []
            case ResourceType.CLIENT_METRICS:
                if not name:
                    raise _refusal("Client metrics subscription name must not be empty")
                return describe_client_metrics(overrides, keys, documented)
            case ResourceType.GROUP:
                if not name:
                    raise _refusal("Group name must not be empty")
                return describe_group(layers, overrides, keys, documented)
        raise _refusal(f"Unsupported resource type {kind}")

    def _check_broker(self, name: str, alternative: str) -> None:
        if not name.removeprefix("-").isdecimal():
            raise _refusal(f"Broker id must be an integer, but it is: {name}")
        if name != str(self._configs.node_id):
            raise _refusal(f"Unexpected broker id, expected {self._configs.node_id} {alternative}but received {name}")


def _root_logger() -> ConfigEntry:
    return ConfigEntry(ROOT_LOGGER, level_of_root(), ConfigSource.BROKER_LOGGER, False, False, (), _NO_TYPE, "")


def _shape(entry: ConfigEntry, with_synonyms: bool) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if with_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        is_default=entry.source is ConfigSource.DEFAULT,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[DescribeConfigsSynonym(name=one.name, value=one.value, source=one.source) for one in synonyms],
        config_type=entry.type,
        documentation=entry.documentation,
    )


def _refusal(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
