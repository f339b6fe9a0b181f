"""Changing configs: of topics, brokers, groups and subscriptions to clients' metrics.

Owns: which resource a request may mean, and the records that lead from the values before to those after. What the
values may be is `config.alter`'s business. Pure. Must not know: requests of any version, files. Codes and sentences
follow Kafka (`ConfigAdminManager`, `ConfigurationControlManager`).
"""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Final, TypeVar

from odradek.broker.controller.controller_view import MIN_INSYNC_REPLICAS
from odradek.broker.metadata.features import ELIGIBLE_LEADER_REPLICAS
from odradek.broker.metadata.image import ConfigResource, MetadataImage, ResourceType
from odradek.broker.metadata.records import MetadataRecord, make_record
from odradek.broker.metadata.topic_names import check_name
from odradek.config.alter import AlterContext, AlterTarget, ConfigChange, check, check_form
from odradek.config.errors import ConfigError, ConfigRequestError, UnknownOperationError
from odradek.config.layers import BrokerLayers
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import ClearElrRecord, ConfigRecord

C = TypeVar("C")

MAX_CONFIGS: Final = 1_000
"""Of one resource. Kafka 4.3 has some 400 for a broker, but keeps unknown ones too, and they are looked at with each
change."""

MAX_VALUE_BYTES: Final = 32_767
"""A string in a record of the metadata is no longer."""
MAX_ELEMENTS: Final = 50_000
"""Of all lists that are changed in one turn of the event loop, since each element is looked at."""

Alteration = Callable[[AlterTarget, Mapping[str, str]], dict[str, str]]
"""Returns the values after a change of the current ones, not judged yet; raises ConfigError."""


Usable = Callable[[Mapping[str, str]], None]
"""Raises ConfigRequestError for dynamic values of this node that it cannot use, such as a file that it cannot read."""


def plan_alteration(
    image: MetadataImage,
    resource: ConfigResource,
    alteration: Alteration,
    node_id: int | None,
    layers: BrokerLayers,
    usable: Usable | None = None,
) -> list[MetadataRecord]:
    """Return the records that change a resource's configs; raise KafkaError with Kafka's code if it cannot be done.

    `node_id` is the only broker whose configs may be changed, None where that is any (`check_registered`); `usable` is
    given where the resource is this node, which can look whether it has what the values name. The order of
    the checks is Kafka's: an operation that is not for lists comes before the name of a topic. Raises
    UnknownOperationError, which is no answer for one resource: it ends the whole request.
    """
    target = find_target(resource, node_id)
    current = image.config(resource.type, resource.name)
    surroundings = AlterContext(layers, image.feature(ELIGIBLE_LEADER_REPLICAS) > 0)
    try:
        after = alteration(target, current)
        check_lengths(after)
        _check_name(resource)
        check(target, current, after, surroundings)
        if usable is not None and target is AlterTarget.BROKER:
            usable(after)
    except UnknownOperationError:
        raise
    except ConfigRequestError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from error
    if target is AlterTarget.TOPIC and image.topic(resource.name) is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
    if len(after) > len(current):
        check_amount(len(after))
    names = dict.fromkeys((*current, *after))
    changed = [name for name in names if current.get(name) != after.get(name)]
    records = [_record(resource, name, after.get(name)) for name in changed]
    if MIN_INSYNC_REPLICAS in changed and surroundings.eligible_leader_replicas:
        records.append(make_record(ClearElrRecord(topic_name=resource.name if target is AlterTarget.TOPIC else "")))
    return records


def check_amount(count: int) -> None:
    """Raise KafkaError POLICY_VIOLATION if a change names, or leads to, more configs than a resource may have."""
    if count > MAX_CONFIGS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{count} configs of one resource; {MAX_CONFIGS} are the most")


def check_lengths(values: Mapping[str, str]) -> None:
    """Raise KafkaError INVALID_CONFIG if a value is longer than what can be written down, before it is looked at."""
    for name, value in values.items():
        if len(value) > MAX_VALUE_BYTES // 4 and (size := len(value.encode())) > MAX_VALUE_BYTES:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} has {size} bytes; {MAX_VALUE_BYTES} are the most")


def check_elements(before: int, changes: Sequence[ConfigChange]) -> int:
    """Return how many elements of lists changes name, with `before`, those of a request's other resources.

    Raises KafkaError POLICY_VIOLATION if they are more than can be looked at in a turn of the event loop.
    """
    count = before + sum(change.value.count(",") for change in changes if change.value)
    if count > MAX_ELEMENTS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{count} elements of lists; {MAX_ELEMENTS} are the most")
    return count


def changes_of_wish(
    times: int, configs: Sequence[C], changes_of: Callable[[Sequence[C]], list[ConfigChange]]
) -> list[ConfigChange]:
    """Return what a request wishes of a resource; refuse one that stands there `times`, too many keys, a bad form.

    `changes_of` reads the entries of a request, once it is known that they are not too many. Raises KafkaError
    INVALID_REQUEST or POLICY_VIOLATION.
    """
    if times > 1:
        raise _refusal("Each resource must appear at most once.")
    check_amount(len(configs))
    changes = changes_of(configs)
    try:
        check_form(changes)
    except ConfigError as error:
        raise _refusal(str(error)) from error
    return changes


def find_target(resource: ConfigResource, node_id: int | None) -> AlterTarget:
    """Return what a resource is; raise KafkaError if it is no kind of thing, or a broker, that this node can change."""
    match resource.type:
        case ResourceType.TOPIC:
            return AlterTarget.TOPIC
        case ResourceType.BROKER:
            if not resource.name:
                return AlterTarget.ALL_BROKERS
            check_node(resource.name, node_id)
            return AlterTarget.BROKER
        case ResourceType.CLIENT_METRICS:
            return AlterTarget.CLIENT_METRICS
        case ResourceType.GROUP:
            return AlterTarget.GROUP
    raise _refusal(f"Unknown resource type {resource.type}")


def _check_name(resource: ConfigResource) -> None:
    if resource.name:
        problem = check_name(resource.name) if resource.type == ResourceType.TOPIC else None
        if problem:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    elif resource.type == ResourceType.TOPIC:
        raise _refusal("Default topic resources are not allowed.")
    elif resource.type == ResourceType.CLIENT_METRICS:
        raise _refusal("Subscription name can't be empty")
    elif resource.type == ResourceType.GROUP:
        raise _refusal("Default group resources are not allowed.")


def check_node(name: str, node_id: int | None) -> None:
    """Raise KafkaError unless the name of a broker resource is this node's id, or with None the id of any node."""
    if not name.removeprefix("-").isdecimal():
        raise _refusal(f"Node id must be an integer, but it is: {name}")
    if node_id is not None and name != str(node_id):
        raise _refusal(f"Unexpected broker id, expected {node_id}, but received {name}")


def check_registered(resource: ConfigResource, nodes: Container[int]) -> None:
    """Raise KafkaError BROKER_ID_NOT_REGISTERED if a resource is a broker, but none of these nodes."""
    is_one = resource.type == ResourceType.BROKER and resource.name.removeprefix("-").isdecimal()
    if is_one and int(resource.name) not in nodes:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No broker with id {resource.name} found.")


def _record(resource: ConfigResource, name: str, value: str | None) -> MetadataRecord:
    return make_record(ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value))


def _refusal(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
