"""The configs of topics, brokers, groups and subscriptions to clients' metrics: changing, listing, describing them.

AlterConfigs (0-2) replaces all that was set on a resource, IncrementalAlterConfigs (0-1) changes single keys, and
DescribeConfigs (1-4) says what is in force. Each resource has a result of its own; what can be changed is changed at
once. As in Kafka the form of the changes is checked first and loggers (`broker_loggers`) are changed on the spot; all
else is the controller's. Whether values fit is decided in `config.alter`, whether a resource may be meant in
`broker.controller.configs`.
Version notes: DescribeConfigs v3 has types and documentation; ListConfigResources (0-1) v0 is about clients' metrics
only (KIP-1142).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from odradek.broker.controller.configs import Alteration, changes_of_wish, check_elements
from odradek.broker.controller.controller import Controller
from odradek.broker.handlers.broker_loggers import change_loggers
from odradek.broker.handlers.describe_configs import ConfigDescriber
from odradek.broker.metadata.image import ConfigResource, MetadataImage, ResourceType
from odradek.broker.metadata.source import MetadataImages
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.config.alter import AlterConfigOp, AlterTarget, ConfigChange, alter
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages import alter_configs, incremental_alter_configs
from odradek.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResponse
from odradek.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from odradek.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.list_config_resources import (
    ConfigResource as ListedResource,
)
from odradek.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_LISTED = (
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
)
"""Kafka's order, whatever the order of a request."""

C = TypeVar("C")

_Wish = tuple[ConfigResource, Sequence[C]]
"""A resource and what a request says of its keys."""


_Verdicts = list[tuple[ConfigResource, ErrorCode, str | None]]
"""Code and message for each resource of a request."""


class ConfigHandlers:
    """Answers the requests about configs."""

    def __init__(
        self,
        metadata: MetadataImages,
        controller: Controller | None,
        describer: ConfigDescriber,
        node_id: int,
        brokers: Callable[[], Sequence[int]],
    ) -> None:
        """`controller` changes configs, None where they are changed elsewhere; `brokers` gives the ids of all."""
        self._metadata = metadata
        self._brokers = brokers
        self._controller = controller
        self._describer = describer
        self._node_id = node_id

    def describe_configs(self, _context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        """Answer DescribeConfigs."""
        return DescribeConfigsResponse(results=self._describer.describe_all(self._metadata.image, request))

    def alter_configs(
        self, _context: RequestContext, request: AlterConfigsRequest
    ) -> AlterConfigsResponse | Deferred[AlterConfigsResponse]:
        """Answer AlterConfigs."""
        wishes = [(ConfigResource(one.resource_type, one.resource_name), one.configs) for one in request.resources]
        return then(
            self._alter(wishes, _replacements, _replacement, request.validate_only),
            lambda verdicts: AlterConfigsResponse(
                responses=[
                    alter_configs.AlterConfigsResourceResponse(
                        error_code=code, error_message=message, resource_type=resource.type, resource_name=resource.name
                    )
                    for resource, code, message in verdicts
                ]
            ),
        )

    def incremental_alter_configs(
        self, _context: RequestContext, request: IncrementalAlterConfigsRequest
    ) -> IncrementalAlterConfigsResponse | Deferred[IncrementalAlterConfigsResponse]:
        """Answer IncrementalAlterConfigs."""
        wishes = [(ConfigResource(one.resource_type, one.resource_name), one.configs) for one in request.resources]
        return then(
            self._alter(wishes, _increments, _increment, request.validate_only),
            lambda verdicts: IncrementalAlterConfigsResponse(
                responses=[
                    incremental_alter_configs.AlterConfigsResourceResponse(
                        error_code=code, error_message=message, resource_type=resource.type, resource_name=resource.name
                    )
                    for resource, code, message in verdicts
                ]
            ),
        )

    def list_config_resources(
        self, context: RequestContext, request: ListConfigResourcesRequest
    ) -> ListConfigResourcesResponse:
        """Answer ListConfigResources."""
        types: Sequence[int] = request.resource_types or _LISTED
        if context.api_version == 0:
            types = (ResourceType.CLIENT_METRICS,)
        if any(one not in _LISTED for one in types):
            return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        image = self._metadata.image
        return ListConfigResourcesResponse(
            config_resources=[
                ListedResource(resource_name=name, resource_type=one)
                for one in _LISTED
                if one in types
                for name in self._names(image, one)
            ]
        )

    def _names(self, image: MetadataImage, resource_type: int) -> list[str]:
        if resource_type == ResourceType.TOPIC:
            return sorted(image.topics_by_name, key=_java_hash)
        if resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
            return [str(one) for one in self._brokers()]
        return [resource.name for resource in image.configs if resource.type == resource_type]

    def _alter(
        self,
        wishes: Sequence[_Wish[C]],
        changes_of: Callable[[Sequence[C]], list[ConfigChange]],
        kind: Callable[[Sequence[ConfigChange]], Alteration],
        validate_only: bool,
    ) -> _Verdicts | Deferred[_Verdicts]:
        """Change what can be changed; return code and message for each resource, in order."""
        counts = Counter(resource for resource, _ in wishes)
        verdicts: dict[ConfigResource, KafkaError | None] = {}
        asked: list[tuple[ConfigResource, Alteration]] = []
        elements = 0
        for resource, configs in wishes:
            try:
                changes = changes_of_wish(counts[resource], configs, changes_of)
                elements = check_elements(elements, changes)
                if resource.type == ResourceType.BROKER_LOGGER and kind is _increment:
                    change_loggers(resource.name, changes, self._node_id, validate_only=validate_only)
                    verdicts[resource] = None
                else:
                    asked.append((resource, kind(changes)))
            except KafkaError as error:
                verdicts[resource] = error.detached()

        def answers(results: Sequence[KafkaError | None]) -> _Verdicts:
            verdicts.update(zip((resource for resource, _ in asked), results, strict=True))
            return [(resource, *_told(verdicts[resource])) for resource, _ in wishes]

        assert self._controller is not None, "changes are handed on to the controller"
        return then(self._controller.alter_configs(asked, validate_only=validate_only), answers)


def _replacements(configs: Sequence[AlterableConfig]) -> list[ConfigChange]:
    return [ConfigChange(config.name, AlterConfigOp.SET, config.value) for config in configs]


def _increments(configs: Sequence[incremental_alter_configs.AlterableConfig]) -> list[ConfigChange]:
    return [ConfigChange(config.name, config.config_operation, config.value) for config in configs]


def _told(refusal: KafkaError | None) -> tuple[ErrorCode, str | None]:
    return (refusal.code, refusal.message or None) if refusal else (ErrorCode.NONE, None)


def _java_hash(text: str) -> int:
    """Return what Java's String.hashCode does: Kafka lists topics in its order, which is no worse than another."""
    value = 0
    for byte in text.encode("ascii", "replace"):
        value = value * 31 + byte & 0xFFFFFFFF
    return value - (value >> 31 << 32)


def _replacement(changes: Sequence[ConfigChange]) -> Alteration:
    def alteration(_target: AlterTarget, _current: Mapping[str, str]) -> dict[str, str]:
        return {change.name: change.value or "" for change in changes}

    return alteration


def _increment(changes: Sequence[ConfigChange]) -> Alteration:
    def alteration(target: AlterTarget, current: Mapping[str, str]) -> dict[str, str]:
        return alter(target, current, changes)

    return alteration
