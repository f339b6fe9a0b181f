"""FindCoordinator (0-6): who coordinates a consumer group or a transaction: the broker that leads the group's partition
of `__consumer_offsets`, and that of the transactional id of `__transaction_state`.

The first of these requests makes the topic. Kafka answers COORDINATOR_NOT_AVAILABLE to that request, and the client
asks again; here the answer waits until the topic is there. Nobody coordinates share groups in this version:
COORDINATOR_NOT_AVAILABLE, with a sentence that says why, so that a client's log tells what is missing. Version notes:
v1 has the kind of key and a message, v4 asks for many keys at once, v6 knows share groups.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from odradek.broker.handlers.known_brokers import KnownBrokers
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

_GROUP, _TRANSACTION, _SHARE = range(3)
_WHOSE: Final = {_GROUP: "the group's partition", _TRANSACTION: "the partition of the transactional id"}
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
    """The part of a coordinator that the handler needs."""

    def prepare(self) -> KafkaError | Deferred[KafkaError | None] | None:
        """See that its topic is there; return why it cannot be made."""

    def leader_for(self, name: str, /) -> int:
        """Return the broker that leads the partition which a group or id lives in, -1 for nobody."""


class CoordinatorHandler:
    """Answers FindCoordinator."""

    def __init__(
        self,
        brokers: KnownBrokers,
        groups: CoordinatorLookup,
        transactions: Callable[[], CoordinatorLookup],
    ) -> None:
        """`transactions` is asked for with the first transactional id."""
        self._brokers = brokers
        self._groups = groups
        self._transactions = transactions

    def find_coordinator(
        self, context: RequestContext, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse | Deferred[FindCoordinatorResponse]:
        """Answer a request."""
        coordinator: CoordinatorLookup | None = None
        if request.key_type == _GROUP:
            coordinator = self._groups
        elif request.key_type == _TRANSACTION:
            coordinator = self._transactions()
        unavailable = None if coordinator is None else coordinator.prepare()
        return then(unavailable, lambda why: self._answer(context, request, coordinator, why))

    def _answer(
        self,
        context: RequestContext,
        request: FindCoordinatorRequest,
        coordinator: CoordinatorLookup | None,
        unavailable: KafkaError | None,
    ) -> FindCoordinatorResponse:
        """Answer, knowing why the coordinator is not available if it is not."""

        def find(key: str) -> _Found:
            if coordinator is None:
                return _nobody(key, request.key_type, context.api_version)
            if unavailable is not None:
                return _Found(unavailable.code, unavailable.message)
            found = self._brokers.alive(context).get(coordinator.leader_for(key))
            if found is None:
                whose = _WHOSE[request.key_type]
                return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"No broker leads {whose} at present.")
            return _Found(ErrorCode.NONE, "", found.node_id, found.host, found.port)

        if context.api_version < _FIRST_BATCHED_VERSION:
            found = find(request.key)
            return FindCoordinatorResponse(
                error_code=found.code,
                error_message=found.message or found.code.name,
                node_id=found.node_id,
                host=found.host,
                port=found.port,
            )
        response = FindCoordinatorResponse()
        for key in request.coordinator_keys:
            found = find(key)
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


def _nobody(key: str, key_type: int, version: int) -> _Found:
    """Return why a key has no coordinator that is neither a group's nor a transactional id."""
    if key_type != _SHARE or version < _FIRST_SHARE_VERSION:
        return _Found(ErrorCode.INVALID_REQUEST, f"Key type {key_type} is not one that version {version} knows.")
    if not _SHARE_KEY.fullmatch(key):
        return _Found(ErrorCode.INVALID_REQUEST, "The key of a share coordinator is <group>:<topic id>:<partition>.")
    return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, "This version of odradek does not serve share groups yet.")
