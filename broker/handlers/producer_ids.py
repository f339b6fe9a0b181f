"""InitProducerId (0-5): an id for an idempotent producer.

A producer without transactional id always gets a new id with epoch 0, whatever it had before. Transactions are not
served by this version: a transactional id is answered COORDINATOR_NOT_AVAILABLE. Version notes: v3 carries the id and
epoch that a producer had, and one without the other is refused.
"""

from odradek.broker.metadata.producer_ids import ProducerIds
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_NONE = -1
_FIRST_CHECKED_VERSION = 3


class ProducerIdHandler:
    """Answers InitProducerId."""

    def __init__(self, producer_ids: ProducerIds) -> None:
        self._producer_ids = producer_ids

    def init_producer_id(
        self, context: RequestContext, request: InitProducerIdRequest
    ) -> InitProducerIdResponse | Deferred[InitProducerIdResponse]:
        """Answer a request, later where a new block of ids has to be recorded first."""
        half_given = (request.producer_id == _NONE) != (request.producer_epoch == _NONE)
        if request.transactional_id == "" or (half_given and context.api_version >= _FIRST_CHECKED_VERSION):
            return _refusal(ErrorCode.INVALID_REQUEST)
        if request.transactional_id is not None:
            return _refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        allocated = self._producer_ids.allocate()
        return allocated.then(_answer) if isinstance(allocated, Deferred) else _answer(allocated)


def _answer(allocated: int | KafkaError) -> InitProducerIdResponse:
    if isinstance(allocated, KafkaError):
        return _refusal(allocated.code)
    return InitProducerIdResponse(producer_id=allocated, producer_epoch=0)


def _refusal(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=_NONE, producer_epoch=_NONE)
