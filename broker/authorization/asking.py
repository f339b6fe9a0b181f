"""One request on its way through the rules: who asks, and what the rules make of it.

Owns: the questions that a rule may put, and the forms of what it decides. Must not know: any API. What is refused is
told to the audit log where it is asked; what only filters an answer is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

from odradek.broker.authorization.access import Access
from odradek.broker.authorization.partly import Outcome, Partly
from odradek.broker.authorization.refusals import refused_entry
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.acls import CLUSTER_NAME, AclOperation, AclResourceType, Decision
from odradek.protocol.codec import Message
from odradek.protocol.errors import ErrorCode
from odradek.protocol.registry import Api

M = TypeVar("M", bound=Message)

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
TRANSACTIONAL_ID = AclResourceType.TRANSACTIONAL_ID


MOST_TOLD: Final = 100
"""Refusals of one request, or of a portion of it, that the audit log is told of."""


class Audit(Protocol):
    """Is told of what was refused."""

    def refused(self, asking: Asking, operation: int, resource_type: int, name: str, decision: Decision) -> None:
        """Note that a client may not do something that it asked for."""


class World(NamedTuple):
    """What rules have to know of the node that they stand in front of."""

    image: Callable[[], MetadataImage]
    auto_creates_topics: bool = False
    """Whether asking for a topic may create it (auto.create.topics.enable)."""


class Asking:
    """Who asks, and for which API."""

    __slots__ = ("_told", "access", "api", "audit", "context", "world")

    def __init__(self, access: Access, context: RequestContext, api: Api, world: World, audit: Audit) -> None:
        self.access = access
        self.context = context
        self.api = api
        self.world = world
        self.audit = audit
        self._told = 0

    @property
    def version(self) -> int:
        """The version of the request."""
        return self.context.api_version

    def may(self, operation: int, resource_type: int, name: str) -> bool:
        """Return whether the client may do what it asks for; if not, the audit log has it."""
        decision = self.access.decide(operation, resource_type, name)
        if not decision.allowed and self._told < MOST_TOLD:
            self._told += 1
            self.audit.refused(self, operation, resource_type, name, decision)
        return decision.allowed

    def may_silently(self, operation: int, resource_type: int, name: str) -> bool:
        """Return the same where there is another way, or where what may not be seen is left out."""
        return self.access.may(operation, resource_type, name)

    def may_to_cluster(self, operation: int, *, is_told: bool = True) -> bool:
        """Return whether the client may do this to the cluster."""
        return (self.may if is_told else self.may_silently)(operation, CLUSTER, CLUSTER_NAME)

    def sees_topic(self, name: str) -> bool:
        """Return whether the client may know that there is this topic."""
        return self.access.may(AclOperation.DESCRIBE, TOPIC, name)

    def topic_name(self, topic_id: UUID) -> str | None:
        """Return the name of a topic, None where there is none of this id: it is the handler that says so."""
        topic = self.world.image().topic_by_id(topic_id)
        return None if topic is None else topic.name


class Entries(NamedTuple):
    """A list in the requests of an API, and the list of what became of each entry in its responses."""

    asked: str
    answered: str


def refuse_some(
    asking: Asking, request: Message, entries: Entries, refusal: Callable[[Any], ErrorCode | None]
) -> Outcome:
    """Take the entries out of a request that are refused, and put their refusals where they belong in the answer.

    Where nothing is left, the handler is not asked at all.
    """
    asked: Sequence[Any] = getattr(request, entries.asked) or ()
    codes = [refusal(one) for one in asked]
    if not any(codes):
        return None
    refused = [
        None if code is None else refused_entry(asking.api.response, entries.answered, one, code)
        for one, code in zip(asked, codes, strict=True)
    ]
    left = [one for one, code in zip(asked, codes, strict=True) if code is None]
    if not left:
        response: Message = asking.api.response()
        setattr(response, entries.answered, refused)
        return response
    reduced = copy(request)
    setattr(reduced, entries.asked, left)
    return Partly(reduced, partial(merge_entries, entries.answered, refused))


def merge_entries(answered: str, refused: Sequence[Any], response: M) -> M:
    """Put refused entries into the answer to the others, each in its place.

    A handler that answered other entries than it was asked about, such as one for a name that came twice, has its
    answer first.
    """
    found = list(getattr(response, answered) or ())
    if len(found) == sum(one is None for one in refused):
        others = iter(found)
        merged = [next(others) if one is None else one for one in refused]
    else:
        merged = found + [one for one in refused if one is not None]
    setattr(response, answered, merged)
    return response
