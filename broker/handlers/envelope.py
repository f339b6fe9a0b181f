"""Envelope (api key 58), version 0: a request of a client that a broker hands on to the controller (KIP-590).

Owns: who asks and from where, as the broker says it, and the errors of the envelope itself. The request inside goes
through the same dispatcher as any other, and is authorised here by the principal in the envelope. The principal is in
the form of Kafka's DefaultKafkaPrincipalBuilder: int16 version 0, compact type, compact name, a boolean, tagged fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from ipaddress import ip_address

from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.responses import CloseConnectionError, Response, Throttled
from odradek.protocol.codec import DecodeError, decode
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import decode_request_header
from odradek.protocol.messages.default_principal_data import DefaultPrincipalData
from odradek.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse

Handle = Callable[[RequestContext, memoryview], "Response | Deferred[Response]"]
"""What answers a frame: the dispatcher of the listener."""

log = get_logger("dispatch")


class EnvelopeHandler:
    """Answers what brokers hand on."""

    def __init__(self, handle: Handle, forwardable: Collection[int]) -> None:
        """`forwardable` are the keys of the APIs that may be in an envelope."""
        self._handle = handle
        self._forwardable = forwardable

    def envelope(
        self, context: RequestContext, request: EnvelopeRequest
    ) -> EnvelopeResponse | Deferred[EnvelopeResponse]:
        """Answer the request inside, and put the answer into an envelope."""
        try:
            host = str(ip_address(bytes(request.client_host_address)))
        except ValueError:
            return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
        principal = read_principal(request.request_principal)
        if principal is None:
            return EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
        frame = memoryview(request.request_data)
        try:
            header, _ = decode_request_header(frame)
        except DecodeError as bad:
            return _unsupported(context, str(bad))
        if header.api_key not in self._forwardable:
            return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
        client = RequestContext(
            peer=f"{host} by {context.peer}",
            client_host=host,
            listener=context.listener,
            local_host=context.local_host,
            local_port=context.local_port,
            principal=principal[0],
            by_token=principal[1],
        )
        try:
            outcome = self._handle(client, frame)
        except CloseConnectionError as refused:
            return _unsupported(context, str(refused))
        if isinstance(outcome, Deferred):
            return outcome.then(lambda response: _enclosed(context, response))
        return _enclosed(context, outcome)


def read_principal(data: bytes | memoryview | None) -> tuple[KafkaPrincipal, bool] | None:
    """Return the principal that these bytes are, and whether it came with a delegation token; None if they are none."""
    if data is None or len(data) < 2 or bytes(data[:2]) != b"\0\0":
        return None
    try:
        found, end = decode(DefaultPrincipalData, data, 0, 2)
    except DecodeError:
        return None
    return (KafkaPrincipal(found.type, found.name), found.token_authenticated) if end == len(data) else None


def _enclosed(context: RequestContext, response: Response) -> EnvelopeResponse:
    if isinstance(response, Throttled):
        response = response.answer  # the broker tells its client, and mutes it; what others ask over it goes on
    if isinstance(response, list):
        assert all(isinstance(piece, bytes | memoryview) for piece in response), "no file is sent in an envelope"
        return EnvelopeResponse(response_data=b"".join(response))  # type: ignore[arg-type]  # as was just seen
    if isinstance(response, bytes):
        return EnvelopeResponse(response_data=response)
    return _unsupported(context, str(response))


def _unsupported(context: RequestContext, reason: str) -> EnvelopeResponse:
    log.info("a request that a broker handed on cannot be answered", peer=context.peer, reason=reason)
    return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
