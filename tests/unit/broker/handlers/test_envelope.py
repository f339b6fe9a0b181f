"""Envelope: requests of clients that brokers hand on."""

import pytest

from odradek.broker.handlers.envelope import EnvelopeHandler, read_principal
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import RequestHeader, encode_request_header
from odradek.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.registry import ApiKey
from tests.support.deferred import now

ANONYMOUS = bytes.fromhex("0000 05 55736572 0a 414e4f4e594d4f5553 00 00")
"""As Kafka 4.3 sends it."""
INNER = encode_request_header(RequestHeader(ApiKey.CREATE_TOPICS, 7, 41, "c")) + b"body"
BROKER = RequestContext("10.0.0.1:5", "10.0.0.1", "CONTROLLER", "10.0.0.9", 9093)


class Inner:
    """Stands for the dispatcher: answers what the test says, and keeps who asked what."""

    def __init__(self, answer: Response | Deferred[Response] = b"answer") -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, bytes]] = []

    def __call__(self, context: RequestContext, frame: memoryview) -> Response | Deferred[Response]:
        self.asked.append((str(context.principal), context.client_host, bytes(frame)))
        if isinstance(self.answer, CloseConnectionError):
            raise self.answer
        return self.answer


def ask(
    inner: Inner, data: bytes = INNER, principal: bytes | None = ANONYMOUS, host: bytes = b"\x7f\0\0\1"
) -> EnvelopeResponse | Deferred[EnvelopeResponse]:
    """Hand a request on."""
    request = EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=host)
    return EnvelopeHandler(inner, {ApiKey.CREATE_TOPICS}).envelope(BROKER, request)


def test_the_request_inside_is_answered_to_its_principal() -> None:
    """Header and body as they are; the client's address, of either family."""
    inner = Inner()
    assert now(ask(inner)) == EnvelopeResponse(response_data=b"answer")
    ask(inner, host=bytes(15) + b"\1")
    assert inner.asked == [("User:ANONYMOUS", "127.0.0.1", INNER), ("User:ANONYMOUS", "::1", INNER)]


def test_an_answer_that_comes_later_is_put_into_the_envelope_then() -> None:
    """In pieces or in one."""
    later: Deferred[Response] = Deferred()
    answer = ask(Inner(later))
    assert isinstance(answer, Deferred)
    found: list[EnvelopeResponse] = []
    answer.on_done(found.append)
    later.resolve([b"an", memoryview(b"swer")])
    assert found == [EnvelopeResponse(response_data=b"answer")]


@pytest.mark.parametrize(
    ("data", "principal", "host", "code"),
    [
        (INNER, None, b"\x7f\0\0\1", ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (INNER, b"", b"\x7f\0\0\1", ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (INNER, b"\0\1" + ANONYMOUS[2:], b"\x7f\0\0\1", ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (INNER, ANONYMOUS + b"x", b"\x7f\0\0\1", ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (INNER, ANONYMOUS[:-3], b"\x7f\0\0\1", ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (INNER, ANONYMOUS, b"\x7f\0\0", ErrorCode.INVALID_REQUEST),
        (b"\0", ANONYMOUS, b"\x7f\0\0\1", ErrorCode.UNSUPPORTED_VERSION),
        (b"\0\3" + INNER[2:], ANONYMOUS, b"\x7f\0\0\1", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_handed_on_has_kafkas_errors(
    data: bytes, principal: bytes | None, host: bytes, code: ErrorCode
) -> None:
    """Principal, address, header, and the API; nothing is asked."""
    inner = Inner()
    assert now(ask(inner, data, principal, host)) == EnvelopeResponse(error_code=code)
    assert not inner.asked


def test_a_request_that_is_not_served_has_no_answer_but_the_error() -> None:
    """Its version is not known, or it does not parse: the broker closes the client's connection."""
    refused = ask(Inner(CloseConnectionError("no")))
    assert now(refused) == EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)


def test_a_principal_is_read_as_kafka_writes_it() -> None:
    """Type and name; that a token was used is not looked at."""
    assert read_principal(ANONYMOUS) == (KafkaPrincipal("User", "ANONYMOUS"), False)
