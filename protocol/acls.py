"""Access control lists as Kafka has them: their numbers on the wire and in the metadata log, and which of them counts.

Owns: the values, and the rule by which ACLs allow or deny (KIP-11, KIP-290, `StandardAuthorizerData`). Pure. The broker
decides by it, and so does the command that says beforehand what a broker would decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

CLUSTER_NAME: Final = "kafka-cluster"
"""The one name of a resource of type CLUSTER."""
WILDCARD: Final = "*"
"""As the name of a literal resource: every name. As a host: every host."""
WILDCARD_PRINCIPAL: Final = "User:*"


class AclResourceType(IntEnum):
    """What an ACL is about."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How the name of an ACL is meant. ANY and MATCH are for filters: all ACLs of this name, and all that apply to
    it."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What somebody may do, or not."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class AclPermission(IntEnum):
    """Whether he may."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One rule. Types are numbers, since a log may hold some that we do not know."""

    resource_type: int
    pattern_type: int
    resource_name: str
    principal: str
    host: str
    operation: int
    permission_type: int

    def covers(self, resource_type: int, name: str) -> bool:
        """Whether the rule is about the resource."""
        if self.resource_type != resource_type:
            return False
        if self.pattern_type == PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.pattern_type == PatternType.LITERAL and self.resource_name in (name, WILDCARD)

    def concerns(self, principal: str, host: str, operation: int) -> bool:
        """Whether the rule says anything of who asks, from where and for what."""
        if self.principal not in (principal, WILDCARD_PRINCIPAL) or self.host not in (host, WILDCARD):
            return False
        if self.operation in (operation, AclOperation.ALL):
            return True
        return self.permission_type == AclPermission.ALLOW and self.operation in IMPLYING.get(operation, ())

    def __str__(self) -> str:
        """Return the rule as Kafka's audit log has it."""
        return (
            f"StandardAcl(resourceType={name_of(AclResourceType, self.resource_type)}, "
            f"resourceName={self.resource_name}, patternType={name_of(PatternType, self.pattern_type)}, "
            f"principal={self.principal}, host={self.host}, operation={name_of(AclOperation, self.operation)}, "
            f"permissionType={name_of(AclPermission, self.permission_type)})"
        )


IMPLYING: Final[Mapping[int, frozenset[int]]] = MappingProxyType(
    {
        AclOperation.DESCRIBE: frozenset(
            {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}
        ),
        AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.ALTER_CONFIGS}),
    }
)
"""Which operations, where they are allowed, allow another one with it. What is denied implies nothing."""

OPERATIONS_OF: Final[Mapping[int, tuple[AclOperation, ...]]] = MappingProxyType(
    {
        AclResourceType.TOPIC: (
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.CREATE,
            AclOperation.DELETE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        ),
        AclResourceType.GROUP: (
            AclOperation.READ,
            AclOperation.DELETE,
            AclOperation.DESCRIBE,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        ),
        AclResourceType.CLUSTER: (
            AclOperation.CREATE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
            AclOperation.CLUSTER_ACTION,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
            AclOperation.IDEMPOTENT_WRITE,
        ),
        AclResourceType.TRANSACTIONAL_ID: (AclOperation.DESCRIBE, AclOperation.WRITE),
        AclResourceType.DELEGATION_TOKEN: (AclOperation.DESCRIBE,),
        AclResourceType.USER: (AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS),
    }
)
"""What can be asked of each kind of resource (`AclEntry.supportedOperations`)."""


class Reason(Enum):
    """Why somebody may or may not, in the words of Kafka's audit log."""

    SUPER_USER = "SuperUser"
    MATCHING_ACL = "MatchingAcl"
    DEFAULT_ALLOW = "DefaultAllow"
    DEFAULT_DENY = "DefaultDeny"


class Decision(NamedTuple):
    """Whether somebody may, and by which rule."""

    allowed: bool
    reason: Reason
    acl: Acl | None = None

    @property
    def rule(self) -> str:
        """The rule as Kafka's audit log has it."""
        return self.reason.value if self.acl is None else f"{self.reason.value}(acl={self.acl})"


BY_SUPER_USER: Final = Decision(True, Reason.SUPER_USER)
_DEFAULT_ALLOW: Final = Decision(True, Reason.DEFAULT_ALLOW)
_DEFAULT_DENY: Final = Decision(False, Reason.DEFAULT_DENY)


def decide(covering: Iterable[Acl], principal: str, host: str, operation: int, allow_without: bool) -> Decision:
    """Decide by the rules that cover a resource: any that denies, then any that allows.

    `allow_without` is what counts where no rule is about the resource at all (allow.everyone.if.no.acl.found).
    """
    allowing: Acl | None = None
    are_any = False
    for acl in covering:
        are_any = True
        if acl.concerns(principal, host, operation):
            if acl.permission_type == AclPermission.DENY:
                return Decision(False, Reason.MATCHING_ACL, acl)
            if allowing is None and acl.permission_type == AclPermission.ALLOW:
                allowing = acl
    if allowing is not None:
        return Decision(True, Reason.MATCHING_ACL, allowing)
    return _DEFAULT_ALLOW if allow_without and not are_any else _DEFAULT_DENY


def name_of(kind: type[IntEnum], value: int) -> str:
    """Return Kafka's name of a number."""
    try:
        return kind(value).name
    except ValueError:
        return "UNKNOWN"
