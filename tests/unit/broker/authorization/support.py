"""A gate with ACLs in front of no handlers, and requests that name one of everything."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from odradek.broker.authorization.access import Authorizer
from odradek.broker.authorization.asking import Asking, World
from odradek.broker.authorization.reading import Readers
from odradek.broker.authorization.rules import RULES, Rule
from odradek.broker.authorization.standard_authorizer import StandardAuthorizer
from odradek.broker.dispatch.gate import Gate
from odradek.broker.metadata.acls import NO_ACLS, AclDraft, AclImage, acl_record
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.protocol.acls import Acl, AclOperation, AclPermission, AclResourceType, Decision, PatternType
from odradek.protocol.codec import Struct
from odradek.protocol.registry import API, ApiKey
from tests.unit.broker.metadata.support import image_of, topic_records

TOPIC_ID = UUID(int=7)
IMAGE = image_of(topic_records("t", TOPIC_ID, 2))
ANNA = KafkaPrincipal("User", "anna")
ROOT = KafkaPrincipal("User", "root")


def acls(*some: Acl) -> AclImage:
    """Return an image of ACLs."""
    draft = AclDraft(NO_ACLS)
    for index, one in enumerate(some):
        draft.apply(acl_record(UUID(int=index + 1), one))
    return draft.finish()


def allow(kind: AclResourceType, name: str, operation: AclOperation) -> Acl:
    """Return an ACL that lets anna do something."""
    return Acl(kind, PatternType.LITERAL, name, str(ANNA), "*", operation, AclPermission.ALLOW)


class Refusals:
    """Remembers what the audit log would have."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def refused(self, asking: Asking, operation: int, resource_type: int, name: str, decision: Decision) -> None:
        """Remember it."""
        assert not decision.allowed
        self.told.append(
            (asking.api.name, AclOperation(operation).name, f"{AclResourceType(resource_type).name} {name}")
        )


class Front:
    """A gate, and what it needs."""

    def __init__(
        self, *some: Acl, image: MetadataImage = IMAGE, rules: Mapping[ApiKey, Rule] = RULES, auto_creates: bool = True
    ) -> None:
        self.refusals = Refusals()
        self.authorizer = Authorizer(StandardAuthorizer(acls(*some), frozenset({str(ROOT)})))
        world = World(lambda: image, auto_creates)
        self.gate = Gate(self.authorizer, rules, world, self.refusals)
        self.readers = Readers(self.authorizer, world, self.refusals)

    def admit(self, request: Any, version: int, who: KafkaPrincipal = ANNA) -> Any:
        """Return what becomes of a request."""
        return self.gate.admit(context(version, who), API[ApiKey(request.SCHEMA.api_key)], request)


def context(version: int, who: KafkaPrincipal = ANNA) -> RequestContext:
    """Return the context of a request."""
    found = RequestContext("10.0.0.7:1", "10.0.0.7", "PLAINTEXT", "127.0.0.1", 9092)
    found.principal, found.api_version = who, version
    return found


def sample(kind: type[Any], version: int, **given: object) -> Any:
    """Return a struct with one of everything that there is in a version; names are `t`, numbers 0."""
    values: dict[str, object] = {}
    for field in kind.SCHEMA.fields:
        if field.name in given:
            values[field.name] = given[field.name]
        elif not _is_in(field.versions, version):
            continue
        elif field.is_array:
            values[field.name] = [_one(field.type, version)]
        elif isinstance(field.type, type) and issubclass(field.type, Struct):
            values[field.name] = sample(field.type, version)
        elif field.type.name == "string":
            values[field.name] = "t"
        elif field.type.name == "uuid" and field.name == "topic_id":
            values[field.name] = TOPIC_ID
    return kind(**values)


def _one(kind: Any, version: int) -> object:
    if isinstance(kind, type):
        return sample(kind, version)
    return {"string": "t", "uuid": TOPIC_ID, "bytes": b""}.get(kind.name, 0)


def _is_in(versions: str, version: int) -> bool:
    first, dash, last = versions.partition("-")
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    return int(first) <= version <= int(last if dash else first)


def codes_in(value: object, version: int) -> Iterator[int]:
    """Yield all error codes in an answer, from the top down."""
    if isinstance(value, list):
        for one in value:
            yield from codes_in(one, version)
    elif isinstance(value, Struct):
        for field in value.SCHEMA.fields:
            inner = getattr(value, field.name)
            if not _is_in(field.versions, version):
                continue
            if field.name in ("error_code", "partition_error_code"):
                assert isinstance(inner, int)
                yield inner
            else:
                yield from codes_in(inner, version)
