"""InitProducerId."""

import pytest

from odradek.broker.handlers.producer_ids import ProducerIdHandler
from odradek.broker.metadata.producer_ids import ProducerIds, RecordedBlocks
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.support.deferred import now
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.metadata.support import MemorySource


def ask(version: int, **fields: str | int | None) -> InitProducerIdResponse:
    """Ask a new broker."""
    handler = ProducerIdHandler(ProducerIds(RecordedBlocks(MemorySource(), 1).next_block))
    request = InitProducerIdRequest(transactional_id=None)
    for name, value in fields.items():
        setattr(request, name, value)
    return now(handler.init_producer_id(at(version), request))


def test_idempotent_producer_gets_an_id_with_epoch_0() -> None:
    """Whatever it had before, as Kafka does without a transactional id."""
    for fields in ({}, {"producer_id": 5, "producer_epoch": 3}):
        response = ask(4, **fields)
        assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 0, 0)


@pytest.mark.parametrize(
    ("version", "fields", "code"),
    [
        (0, {"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        (4, {"producer_id": 5}, ErrorCode.INVALID_REQUEST),
        (5, {"producer_epoch": 5}, ErrorCode.INVALID_REQUEST),
        (4, {"transactional_id": "t"}, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_refusals(version: int, fields: dict[str, str | int], code: ErrorCode) -> None:
    """An empty transactional id, an id without its epoch, and transactions, which are not served."""
    response = ask(version, **fields)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (code, -1, -1)
