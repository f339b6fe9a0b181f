"""What administrators change, for the audit log: what a request asked for, and what became of each part of it.

Owns: which APIs are changes, and what of a request and its answer says so. Must not know: who asked. Only names,
numbers and error codes are taken; of configs the values, before and after, unless they are secret or of a kind that
nobody knows. Credentials and keys are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from odradek.broker.metadata.image import MetadataImage, ResourceType
from odradek.config.definitions import broker_definitions, group_definitions, topic_definitions
from odradek.protocol.acl_messages import acl_to_create, removed_acl
from odradek.protocol.errors import error_name
from odradek.protocol.registry import ApiKey

MOST: Final = 100
"""Changes of one request that are told one by one."""
Told = dict[str, object]
Describe = Callable[[MetadataImage, Any, Any], Iterable[Told]]
"""Takes the image before the change, the request and the answer to it."""

_DEFINITIONS = {
    ResourceType.TOPIC: topic_definitions,
    ResourceType.BROKER: broker_definitions,
    ResourceType.GROUP: group_definitions,
}
_OPERATIONS = ("SET", "DELETE", "APPEND", "SUBTRACT")


def changes_of(key: ApiKey, image: MetadataImage, request: Any, response: Any) -> list[Told]:
    """Return what a request changed, or was to change."""
    top = getattr(response, "error_code", 0)
    told: list[Told] = []
    for one in CHANGES[key](image, request, response):
        if len(told) == MOST:
            told.append({"more": True})
            break
        if top and "error" not in one:
            one["error"] = error_name(top)
        told.append(one)
    return told


def _result(code: int) -> Told:
    return {"error": error_name(code)} if code else {}


def _named(kind: str, asked: str, answered: str, name: str = "name") -> Describe:
    """Describe requests that name things, by the entries of their answers."""

    def describe(_image: MetadataImage, request: Any, response: Any) -> Iterable[Told]:
        entries = getattr(response, answered) or ()
        if not entries:
            return [{kind: getattr(one, name, one)} for one in getattr(request, asked) or ()]
        return [{kind: getattr(one, name, None), **_result(getattr(one, "error_code", 0))} for one in entries]

    return describe


def _create_topics(_image: MetadataImage, request: Any, response: Any) -> Iterable[Told]:
    codes = {one.name: one.error_code for one in response.topics}
    for one in request.topics:
        after = {config.name: _shown(ResourceType.TOPIC, config.name, config.value) for config in one.configs}
        yield {
            "topic": one.name,
            "partitions": one.num_partitions,
            "replication_factor": one.replication_factor,
            **({"configs": after} if after else {}),
            **_result(codes.get(one.name, 0)),
        }


def _create_partitions(image: MetadataImage, request: Any, response: Any) -> Iterable[Told]:
    codes = {one.name: one.error_code for one in response.results}
    for one in request.topics:
        topic = image.topic(one.name)
        before = None if topic is None else len(topic.partitions)
        yield {"topic": one.name, "before": before, "after": one.count, **_result(codes.get(one.name, 0))}


def _delete_topics(image: MetadataImage, _request: Any, response: Any) -> Iterable[Told]:
    for one in response.responses:
        topic = image.topic_by_id(one.topic_id)
        name = one.name if one.name is not None else None if topic is None else topic.name
        yield {"topic": name, **_result(one.error_code)}


def _alter_configs(image: MetadataImage, request: Any, response: Any) -> Iterable[Told]:
    codes = {(one.resource_type, one.resource_name): one.error_code for one in response.responses}
    for resource in request.resources:
        kind, name = resource.resource_type, resource.resource_name
        before = image.config(kind, name)
        for config in resource.configs:
            operation = getattr(config, "config_operation", 0)
            yield {
                "resource": f"{_kind(kind)}:{name}",
                "config": config.name,
                "operation": _OPERATIONS[operation] if 0 <= operation < len(_OPERATIONS) else operation,
                "before": _shown(kind, config.name, before.get(config.name)),
                "after": _shown(kind, config.name, config.value),
                **_result(codes.get((kind, name), 0)),
            }


def _kind(number: int) -> str:
    try:
        return ResourceType(number).name
    except ValueError:
        return str(number)


def _shown(kind: int, name: str, value: str | None) -> str | None:
    """Return a value of a config as it may be told."""
    if value is None:
        return None
    definitions = _DEFINITIONS.get(kind)  # type: ignore[call-overload]  # of any number
    definition = None if definitions is None else definitions().get(name)
    return value if definition is not None and not definition.sensitive else "[hidden]"


def _create_acls(_image: MetadataImage, request: Any, response: Any) -> Iterable[Told]:
    codes = [one.error_code for one in response.results]
    for index, one in enumerate(request.creations):
        acl = acl_to_create(one)
        yield {"acl": str(acl), **_result(codes[index] if index < len(codes) else 0)}


def _delete_acls(_image: MetadataImage, request: Any, response: Any) -> Iterable[Told]:
    if isinstance(response, bytes):  # very many, written on a thread
        for one in request.filters:
            yield {
                "resource": f"{one.resource_type_filter}:{one.pattern_type_filter}:{one.resource_name_filter}",
                "principal": one.principal_filter,
                "host": one.host_filter,
            }
        return
    for one in response.filter_results:
        if one.error_code:
            yield _result(one.error_code)
        for match in one.matching_acls:
            acl = removed_acl(match)
            yield {"acl": str(acl), **_result(match.error_code)}


def _users(_image: MetadataImage, request: Any, response: Any) -> Iterable[Told]:
    codes = {one.user: one.error_code for one in getattr(response, "results", ())}
    for operation, changes in (("SET", request.upsertions), ("DELETE", request.deletions)):
        for one in changes:
            told = {"user": one.name, "mechanism": one.mechanism, "operation": operation}
            yield {**told, **_result(codes.get(one.name, 0))}


def _quotas(_image: MetadataImage, request: Any, response: Any) -> Iterable[Told]:
    codes = {_entity(one): one.error_code for one in getattr(response, "entries", ())}
    for entry in request.entries:
        entity = {part.entity_type: part.entity_name for part in entry.entity}
        for op in entry.ops:
            told = {"entity": entity, "quota": op.key, "after": None if op.remove else op.value}
            yield {**told, **_result(codes.get(_entity(entry), 0))}


def _entity(entry: Any) -> frozenset[tuple[str, str | None]]:
    return frozenset((part.entity_type, part.entity_name) for part in entry.entity)


def _partitions(_image: MetadataImage, request: Any, _response: Any) -> Iterable[Told]:
    for topic in request.topics:
        for one in topic.partitions:
            yield {"topic": topic.name, "partition": one.partition_index, **_detail(one)}


def _detail(partition: Any) -> Told:
    if hasattr(partition, "offset"):
        return {"begins_at": partition.offset}
    return {"replicas": getattr(partition, "replicas", None)}


def _elections(_image: MetadataImage, request: Any, _response: Any) -> Iterable[Told]:
    if request.topic_partitions is None:
        yield {"topic": None, "election_type": request.election_type}
    for one in request.topic_partitions or ():
        yield {"topic": one.topic, "partitions": one.partitions, "election_type": request.election_type}


def _features(image: MetadataImage, request: Any, _response: Any) -> Iterable[Told]:
    for one in request.feature_updates:
        yield {"feature": one.feature, "before": image.feature(one.feature), "after": one.max_version_level}


def _brokers(_image: MetadataImage, request: Any, _response: Any) -> Iterable[Told]:
    yield {"broker": request.broker_id}


def _directories(_image: MetadataImage, request: Any, _response: Any) -> Iterable[Told]:
    for one in request.dirs:
        for topic in one.topics:
            yield {"topic": topic.name, "partitions": topic.partitions, "directory": one.path}


def _offsets(_image: MetadataImage, request: Any, _response: Any) -> Iterable[Told]:
    for one in request.topics:
        yield {
            "group": request.group_id,
            "topic": one.name,
            "partitions": [part.partition_index for part in one.partitions],
        }


def _nothing_more(_image: MetadataImage, _request: Any, _response: Any) -> Iterable[Told]:
    """Describe what has nothing that may be told: tokens are secrets, and of voters the name of the API says all."""
    yield {}


CHANGES: Final[Mapping[ApiKey, Describe]] = MappingProxyType(
    {
        ApiKey.CREATE_TOPICS: _create_topics,
        ApiKey.DELETE_TOPICS: _delete_topics,
        ApiKey.CREATE_PARTITIONS: _create_partitions,
        ApiKey.DELETE_RECORDS: _partitions,
        ApiKey.ALTER_CONFIGS: _alter_configs,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
        ApiKey.CREATE_ACLS: _create_acls,
        ApiKey.DELETE_ACLS: _delete_acls,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _users,
        ApiKey.ALTER_CLIENT_QUOTAS: _quotas,
        ApiKey.CREATE_DELEGATION_TOKEN: _nothing_more,
        ApiKey.RENEW_DELEGATION_TOKEN: _nothing_more,
        ApiKey.EXPIRE_DELEGATION_TOKEN: _nothing_more,
        ApiKey.ELECT_LEADERS: _elections,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: _partitions,
        ApiKey.ALTER_REPLICA_LOG_DIRS: _directories,
        ApiKey.UPDATE_FEATURES: _features,
        ApiKey.UNREGISTER_BROKER: _brokers,
        ApiKey.ADD_RAFT_VOTER: _nothing_more,
        ApiKey.REMOVE_RAFT_VOTER: _nothing_more,
        ApiKey.DELETE_GROUPS: _named("group", "groups_names", "results", "group_id"),
        ApiKey.OFFSET_DELETE: _offsets,
    }
)
"""The APIs that change something that is not a client's own."""
