"""The gate in front of all handlers: who may, by the authorizer's rules, and the audit log of changes.

Owns: the order of the decisions on a request, and the short way for what is decided most often: a producer that writes
to topics that it has written to before is let through by looking them up in a set. Must not know: any API's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from odradek.broker.authorization.access import Access, Authorizer
from odradek.broker.authorization.asking import Asking, Audit, World
from odradek.broker.authorization.changes import CHANGES, changes_of
from odradek.broker.authorization.partly import Outcome, Partly
from odradek.broker.authorization.rules import Rule
from odradek.broker.authorization.rules_of_topics import PRODUCE_BY_ID
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.runtime import audit
from odradek.broker.runtime.context import RequestContext
from odradek.protocol.acls import AclOperation
from odradek.protocol.codec import Message
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.registry import API, Api, ApiKey

_PRODUCE = API[ApiKey.PRODUCE]


class Gate:
    """Authorises requests."""

    def __init__(self, authorizer: Authorizer, rules: Mapping[ApiKey, Rule], world: World, refusals: Audit) -> None:
        self._authorizer = authorizer
        self._rules = rules
        self._world = world
        self._refusals = refusals

    def admit(self, context: RequestContext, api: Api, request: Any) -> Outcome:
        """Decide on a request (`RequestGate`)."""
        access: Access | None = context.access  # type: ignore[assignment]  # nobody else makes one
        if access is None or access.rules is not self._authorizer.rules or access.who is not context.principal:
            access = self._authorizer.access_of(context)
        if api is _PRODUCE:
            transactional_id = request.transactional_id
            if transactional_id is None or transactional_id in access.transactions:
                writes = access.writes
                by_id = context.api_version >= PRODUCE_BY_ID
                for topic in request.topic_data:
                    if (topic.topic_id if by_id else topic.name) not in writes:
                        break
                else:
                    return None
        return self._rules[api.key](Asking(access, context, api, self._world, self._refusals), request)

    def may_write(self, context: RequestContext, topic: TopicRef) -> bool:
        """Return whether the client was seen to be allowed to write to the topic (`RequestGate`)."""
        access: Access | None = context.access  # type: ignore[assignment]  # nobody else makes one
        if access is None or access.rules is not self._authorizer.rules or access.who is not context.principal:
            return False
        return topic in access.writes

    def may_change_loggers(self, context: RequestContext) -> bool:
        """Return whether a client may set the loggers of this broker, which no rule sees: such a request is divided
        between the broker and its controller before it is decoded as a whole."""
        api = API[ApiKey.INCREMENTAL_ALTER_CONFIGS]
        asking = Asking(self._authorizer.access_of(context), context, api, self._world, self._refusals)
        return asking.may_to_cluster(AclOperation.ALTER_CONFIGS)


class ChangesGate:
    """Tells the audit log of changes, whoever is let through by the gate behind it."""

    def __init__(
        self,
        behind: Callable[[RequestContext, Api, Any], Outcome],
        image: Callable[[], MetadataImage],
        may_write: Callable[[RequestContext, TopicRef], bool] | None = None,
    ) -> None:
        """`behind` decides who may, and `may_write` of writing alone: None where everybody may."""
        self._behind = behind
        self._may_write = may_write
        self._image = image

    def admit(self, context: RequestContext, api: Api, request: Any) -> Outcome:
        """Decide on a request (`RequestGate`)."""
        outcome = self._behind(context, api, request)
        if api.key not in CHANGES or getattr(request, "validate_only", False) or isinstance(outcome, Message):
            return outcome
        tell = partial(self._tell, context, api.key, self._image(), request)
        if outcome is None:
            return Partly(request, tell)
        return Partly(outcome.request, lambda response: tell(outcome.merge(response)))

    def may_write(self, context: RequestContext, topic: TopicRef) -> bool:
        """Return what the gate behind knows (`RequestGate`); a Produce changes nothing that the audit log tells of."""
        return self._may_write is None or self._may_write(context, topic)

    def _tell(
        self, context: RequestContext, key: ApiKey, before: MetadataImage, request: Any, response: Message
    ) -> Message:
        changes = changes_of(key, before, request, response)
        audit.changed(context.principal, context.client_host, context.listener, API[key].name, changes)
        return response


def everybody(_context: RequestContext, _api: Api, _request: Any) -> None:
    """Let everybody through: where there is no authorizer, but an audit log."""
