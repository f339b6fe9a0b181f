"""FindCoordinator (0-6): who coordinates a consumer group or a transaction. Groups: the broker that
leads the group's partition of `__consumer_offsets`.

The first of these requests for a group makes the topic `__consumer_offsets`, and nothing else does but the oldest
commits. Kafka answers COORDINATOR_NOT_AVAILABLE to that request, and the client asks again; here the answer waits
until the topic is there. Nobody coordinates transactions and share groups in this version: COORDINATOR_NOT_AVAILABLE,
with a sentence that says why, so that a client's log tells what is missing. Version notes: v1 has the kind of key and
a message, v4 asks for many keys at once, v6 knows share groups.
"""

import re
from typing import Final, NamedTuple, Protocol

from odradek.broker.handlers.known_brokers import KnownBrokers
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

_GROUP, _TRANSACTION, _SHARE = range(3)
_WHAT: Final = {_TRANSACTION: "transactions", _SHARE: "share groups"}
_SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:[0-9]+", re.DOTALL)
_FIRST_BATCHED_VERSION = 4
_FIRST_SHARE_VERSION = 6
_NO_NODE = -1


class _Found(NamedTuple):
    code: ErrorCode
    message: str
    node_id: int = _NO_NODE
    host: str = ""
    port: int = _NO_NODE


class CoordinatorLookup(Protocol):
    """The part of the group coordinator that the handler needs."""

    def prepare(self) -> KafkaError | Deferred[KafkaError | None] | None:
        """See that `__consumer_offsets` is there; return why it cannot be made."""

    def leader_for(self, group_id: str) -> int:
        """Return the broker that leads the partition which a group lives in, -1 for nobody."""


class CoordinatorHandler:
    """Answers FindCoordinator."""

    def __init__(self, brokers: KnownBrokers, coordinator: CoordinatorLookup) -> None:
        self._brokers = brokers
        self._coordinator = coordinator

    def find_coordinator(
        self, context: RequestContext, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse | Deferred[FindCoordinatorResponse]:
        """Answer a request."""
        if request.key_type != _GROUP:
            return self._answer(context, request, None)
        return then(self._coordinator.prepare(), lambda unavailable: self._answer(context, request, unavailable))

    def _answer(
        self, context: RequestContext, request: FindCoordinatorRequest, unavailable: KafkaError | None
    ) -> FindCoordinatorResponse:
        """Answer, knowing why the coordinator of groups is not available if it is not."""
        version = context.api_version
        if version < _FIRST_BATCHED_VERSION:
            found = self._find(context, request.key, request.key_type, unavailable)
            return FindCoordinatorResponse(
                error_code=found.code,
                error_message=found.message or found.code.name,
                node_id=found.node_id,
                host=found.host,
                port=found.port,
            )
        response = FindCoordinatorResponse()
        for key in request.coordinator_keys:
            found = self._find(context, key, request.key_type, unavailable)
            response.coordinators.append(
                Coordinator(
                    key=key,
                    node_id=found.node_id,
                    host=found.host,
                    port=found.port,
                    error_code=found.code,
                    error_message=found.message,
                )
            )
        return response

    def _find(self, context: RequestContext, key: str, key_type: int, unavailable: KafkaError | None) -> _Found:
        version = context.api_version
        if key_type == _GROUP:
            if unavailable is not None:
                return _Found(unavailable.code, unavailable.message)
            found = self._brokers.alive(context).get(self._coordinator.leader_for(key))
            if found is None:
                return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, "No broker leads the group's partition at present.")
            return _Found(ErrorCode.NONE, "", found.node_id, found.host, found.port)
        what = _WHAT.get(key_type)
        if what is None or (key_type == _SHARE and version < _FIRST_SHARE_VERSION):
            return _Found(ErrorCode.INVALID_REQUEST, f"Key type {key_type} is not one that version {version} knows.")
        if key_type == _SHARE and not _SHARE_KEY.fullmatch(key):
            return _Found(
                ErrorCode.INVALID_REQUEST, "The key of a share coordinator is <group>:<topic id>:<partition>."
            )
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"This version of odradek does not serve {what} yet.")
