"""InitProducerId (0-5): an id and an epoch for an idempotent producer, or for one with transactions.

A producer without transactional id always gets a new id with epoch 0, whatever it had before, from any broker. One with
a transactional id asks the coordinator of that. Version notes: v3 carries the id and epoch that a producer had
(KIP-360), and one without the other is refused; v4 knows the error PRODUCER_FENCED.
"""

from collections.abc import Callable
from typing import Protocol

from odradek.broker.metadata.producer_ids import ProducerIds
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.transactions.shard import ProducerResult
from odradek.broker.transactions.state import Producer
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_NONE = -1
_FIRST_CHECKED_VERSION = 3
_FIRST_WITH_FENCED = 4


class TransactionalProducers(Protocol):
    """The part of the transaction coordinator that the handler needs."""

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: Producer | None
    ) -> ProducerResult | Deferred[ProducerResult]:
        """Let a producer begin under a transactional id."""


class ProducerIdHandler:
    """Answers InitProducerId."""

    def __init__(self, producer_ids: ProducerIds, coordinator: Callable[[], TransactionalProducers]) -> None:
        """`coordinator` is asked for with the first transactional id."""
        self._producer_ids = producer_ids
        self._coordinator = coordinator

    def init_producer_id(
        self, context: RequestContext, request: InitProducerIdRequest
    ) -> InitProducerIdResponse | Deferred[InitProducerIdResponse]:
        """Answer a request, later where a record has to be safe first."""
        half_given = (request.producer_id == _NONE) != (request.producer_epoch == _NONE)
        if request.transactional_id == "" or (half_given and context.api_version >= _FIRST_CHECKED_VERSION):
            return _refusal(ErrorCode.INVALID_REQUEST)
        if request.transactional_id is None:
            allocated = self._producer_ids.allocate()
            return allocated.then(_answer) if isinstance(allocated, Deferred) else _answer(allocated)
        expected = Producer(request.producer_id, request.producer_epoch) if request.producer_id != _NONE else None
        outcome = self._coordinator().init_producer_id(
            request.transactional_id, request.transaction_timeout_ms, expected
        )

        def answer(result: ProducerResult) -> InitProducerIdResponse:
            if result.error is ErrorCode.PRODUCER_FENCED and context.api_version < _FIRST_WITH_FENCED:
                return _refusal(ErrorCode.INVALID_PRODUCER_EPOCH)
            if result.error is not ErrorCode.NONE:
                return _refusal(result.error)
            return InitProducerIdResponse(producer_id=result.producer_id, producer_epoch=result.producer_epoch)

        return then(outcome, answer)


def _answer(allocated: int | KafkaError) -> InitProducerIdResponse:
    if isinstance(allocated, KafkaError):
        return _refusal(allocated.code)
    return InitProducerIdResponse(producer_id=allocated, producer_epoch=0)


def _refusal(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=_NONE, producer_epoch=_NONE)
