"""Many ACLs, made through a broker by librdkafka."""

from __future__ import annotations

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from benchmarks.target import Endpoint

_AT_ONCE = 1000
_DEADLINE_SECONDS = 60


def make(endpoint: Endpoint, topic: str, count: int) -> None:
    """Let nobody but whoever has not logged in write to a topic, and make so many ACLs about other topics and users,
    half of them of prefixes. The one that shuts the others out comes last."""
    host, port = endpoint.address
    admin = AdminClient({"bootstrap.servers": f"{host}:{port}"})
    bindings = [
        _binding(
            f"other-{number}" if number % 2 else f"{topic}-{number}",
            ResourcePatternType.PREFIXED if number % 4 > 1 else ResourcePatternType.LITERAL,
            f"User:{number % 1000}",
            AclOperation.READ,
        )
        for number in range(count)
    ]
    own = [
        _binding(topic, ResourcePatternType.LITERAL, "User:ANONYMOUS", operation)
        for operation in (AclOperation.WRITE, AclOperation.DESCRIBE)
    ]
    for begin in range(0, count, _AT_ONCE):
        _create(admin, bindings[begin : begin + _AT_ONCE])
    _create(admin, own)


def _create(admin: AdminClient, bindings: list[AclBinding]) -> None:
    for made in admin.create_acls(bindings).values():
        made.result(_DEADLINE_SECONDS)


def _binding(name: str, pattern: ResourcePatternType, principal: str, operation: AclOperation) -> AclBinding:
    return AclBinding(ResourceType.TOPIC, name, pattern, principal, "*", operation, AclPermissionType.ALLOW)
