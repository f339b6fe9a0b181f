"""InitProducerId."""

import pytest

from odradek.broker.handlers.producer_ids import ProducerIdHandler
from odradek.broker.metadata.producer_ids import ProducerIds, RecordedBlocks
from odradek.broker.transactions.shard import ProducerResult
from odradek.broker.transactions.state import Producer
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.support.deferred import now
from tests.unit.broker.handlers.metadata_support import at
from tests.unit.broker.metadata.support import MemorySource


class Coordinator:
    """A coordinator that answers what it is made with, and remembers what it was asked."""

    def __init__(self, result: ProducerResult) -> None:
        self.result = result
        self.asked: list[tuple[str, int, Producer | None]] = []

    def init_producer_id(self, transactional_id: str, timeout_ms: int, expected: Producer | None) -> ProducerResult:
        """Answer."""
        self.asked.append((transactional_id, timeout_ms, expected))
        return self.result


def nobody() -> Coordinator:
    raise AssertionError("the coordinator is not needed")


def ask(version: int, **fields: str | int | None) -> InitProducerIdResponse:
    """Ask a new broker."""
    return ask_of(None, version, **fields)


def ask_of(coordinator: Coordinator | None, version: int, **fields: str | int | None) -> InitProducerIdResponse:
    """Ask a new broker with this coordinator of transactions."""
    producer_ids = ProducerIds(RecordedBlocks(MemorySource(), 1).next_block)
    handler = ProducerIdHandler(producer_ids, nobody if coordinator is None else lambda: coordinator)
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
    ],
)
def test_refusals(version: int, fields: dict[str, str | int], code: ErrorCode) -> None:
    """An empty transactional id, and an id without its epoch."""
    response = ask(version, **fields)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (code, -1, -1)


def test_a_transactional_id_is_its_coordinator_s() -> None:
    """Who may go on with the producer id that it has, if it says so."""
    coordinator = Coordinator(ProducerResult(ErrorCode.NONE, 7, 3))
    response = ask_of(coordinator, 3, transactional_id="t", transaction_timeout_ms=5)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 7, 3)
    ask_of(coordinator, 3, transactional_id="t", transaction_timeout_ms=5, producer_id=7, producer_epoch=2)
    assert coordinator.asked == [("t", 5, None), ("t", 5, Producer(7, 2))]


@pytest.mark.parametrize(("version", "code"), [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)])
def test_who_is_fenced_is_told_in_the_words_of_the_version(version: int, code: ErrorCode) -> None:
    """PRODUCER_FENCED came with version 4."""
    response = ask_of(Coordinator(ProducerResult(ErrorCode.PRODUCER_FENCED)), version, transactional_id="t")
    assert (response.error_code, response.producer_id, response.producer_epoch) == (code, -1, -1)
