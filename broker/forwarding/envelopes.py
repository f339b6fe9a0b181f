"""Requests that a broker hands on to the controller, and the controller's answers back, byte for byte.

Owns: the envelope around a client's request, what the client gets where no controller answers, and which versions of
these APIs can be promised: those that both know. Must not know: what is asked; the controller authorises and decides.
Source: KIP-590, `ForwardingManager`, `EnvelopeUtils`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from ipaddress import ip_address
from typing import Final

from odradek import __version__
from odradek.broker.forwarding.refusals import refused
from odradek.broker.nodes.controller_channel import Answer, ControllerRequests
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.runtime.context import ANONYMOUS, KafkaPrincipal, RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.frame_limits import LARGEST_FRAME
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.codec import encode
from odradek.protocol.errors import ErrorCode, KafkaError, error_name
from odradek.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.default_principal_data import DefaultPrincipalData
from odradek.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from odradek.protocol.registry import Api, ApiKey

TIMEOUT_S: Final = 60.0

log = get_logger("forwarding")


class Forwarding:
    """Hands requests on."""

    def __init__(
        self, channel: ControllerRequests, leader: Callable[[], NodeAddress | None], forwarded: Collection[ApiKey]
    ) -> None:
        """`leader` tells where the controller is; `forwarded` are the APIs that are handed on."""
        self._channel = channel
        self._leader = leader
        self._forwarded = frozenset(forwarded)
        self._asked: NodeAddress | None = None
        self._versions: Mapping[int, tuple[int, int]] | None = None

    def versions(self, api: Api) -> tuple[int, int] | None:
        """Return the versions of an API that clients may use, None for no version."""
        first, last = api.served.first, api.served.last
        if api.key not in self._forwarded:
            return first, last
        self.learn_versions()
        if self._versions is None:
            return first, last
        known = self._versions.get(api.key)
        if known is None or max(first, known[0]) > min(last, known[1]):
            return None
        return max(first, known[0]), min(last, known[1])

    def learn_versions(self) -> None:
        """Ask the controller for its versions, if it is another one than was asked before."""
        leader = self._leader()
        if leader is not None and leader != self._asked:
            self._asked = leader
            request = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
            self._channel.send(request, TIMEOUT_S).on_done(self._learned)

    def _learned(self, answer: Answer) -> None:
        if isinstance(answer, ApiVersionsResponse) and not answer.error_code:
            self._versions = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
        else:
            self._asked = None

    def forward(self, context: RequestContext, frame: memoryview) -> Deferred[Response]:
        """Hand a client's request on; the answer is that of the controller, or says that there was none.

        Raises CloseConnectionError for one that is larger than a controller takes: it would end the connection that
        the requests of all clients go over.
        """
        if len(frame) > LARGEST_FRAME:
            raise CloseConnectionError(f"a request of {len(frame)} bytes for the controller: {LARGEST_FRAME} at most")
        data = bytes(frame)
        request = EnvelopeRequest(
            request_data=data,
            request_principal=principal_data(context.principal, context.by_token),
            client_host_address=ip_address(context.client_host.partition("%")[0]).packed,
        )
        answer = self._channel.send(request, TIMEOUT_S)
        return answer.then(partial(self._answered, context.peer, data))

    def forward_about_tokens(self, context: RequestContext, frame: memoryview) -> Response | Deferred[Response]:
        """Hand a request about delegation tokens on, of a client that has said who it is, and not with a token: a
        controller of Apache Kafka leaves it to the broker to see to that."""
        if context.principal == ANONYMOUS or context.by_token:
            return refused(bytes(frame), ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
        return self.forward(context, frame)

    def _answered(self, peer: str, data: bytes, answer: Answer) -> Response:
        if isinstance(answer, KafkaError):
            return refused(data, answer.code)
        assert isinstance(answer, EnvelopeResponse)
        code = answer.error_code
        if code == ErrorCode.NONE and answer.response_data is not None:
            return bytes(answer.response_data)
        log.warning("the controller cannot read a request that was handed on", peer=peer, reason=error_name(code))
        if code == ErrorCode.UNSUPPORTED_VERSION:
            return CloseConnectionError("the controller does not know the version of the request")
        return refused(data, ErrorCode.UNKNOWN_SERVER_ERROR)


def principal_data(principal: KafkaPrincipal, by_token: bool = False) -> bytes:
    """Return a principal as it stands in an envelope: int16 version, and Kafka's DefaultPrincipalData."""
    return b"\0\0" + encode(
        DefaultPrincipalData(type=principal.principal_type, name=principal.name, token_authenticated=by_token), 0
    )
