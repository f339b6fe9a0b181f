"""Who may fetch what.

Owns: which topics of a fetch are refused. The handler asks it once for each fetch, when it knows the partitions, most
of which are in its session and not in the request: they stay there, and are answered with the error each time. What
waits is not looked at again, as in Kafka. Consumers take TOPIC READ, followers CLUSTER_ACTION.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from odradek.broker.authorization.access import Authorizer
from odradek.broker.authorization.asking import CLUSTER, TOPIC, Asking, Audit, World
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.acls import CLUSTER_NAME, AclOperation
from odradek.protocol.registry import API, ApiKey

TopicRef = str | UUID


class Readers:
    """Decides on fetches."""

    def __init__(self, authorizer: Authorizer, world: World, audit: Audit) -> None:
        self._authorizer = authorizer
        self._world = world
        self._audit = audit

    def refused(
        self, context: RequestContext, refs: Iterable[TopicRef], *, is_follower: bool
    ) -> frozenset[TopicRef] | None:
        """Return the topics that the client of a request may not read, None where it may read all of them."""
        access = self._authorizer.access_of(context)
        asking = Asking(access, context, API[ApiKey.FETCH], self._world, self._audit)
        if is_follower:
            if access.may(AclOperation.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME):
                return None
            asking.may(AclOperation.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
            return frozenset(refs)
        denied = []
        for ref in refs:
            name = ref if isinstance(ref, str) else asking.topic_name(ref)
            if name is None or access.may(AclOperation.READ, TOPIC, name):
                continue  # of an id that nobody knows, the handler says so
            asking.may(AclOperation.READ, TOPIC, name)
            denied.append(ref)
        return frozenset(denied) if denied else None
