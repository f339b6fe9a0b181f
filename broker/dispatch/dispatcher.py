"""From a frame to its answer: read the header, find the API, decode, ask the gate, call the handler, encode - and every
error in one place.

Two kinds of handler, both with a decoded request:

- *direct* handlers (Produce, Fetch) write their own response, since it is the commonest there is or made of file
  regions. One plain call, no task.
- *message* handlers return a response message, or a `Deferred` one where the request waits for others (a member of a
  group for the other members).

Errors: a frame that is not a request of an API and version served here ends its connection, as Kafka does; a
`KafkaError` out of a message handler becomes the error code of its response; anything else is our bug: it is logged
with its traceback and answered UNKNOWN_SERVER_ERROR, or by closing where the response has no place for an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from struct import Struct, error
from time import perf_counter
from typing import Any, Final, Protocol

from odradek.broker.authorization.partly import Outcome, Partly
from odradek.broker.dispatch.direct_merge import merged
from odradek.broker.dispatch.division import Division
from odradek.broker.dispatch.large_requests import DIVIDED_FRAME, LARGE_FRAME, LargeRequests
from odradek.broker.dispatch.route import DirectHandler, Find, Forward, MayWrite, MessageHandler, Route
from odradek.broker.dispatch.throttling import Throttling
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred, then
from odradek.broker.runtime.frame_limits import largest_frame
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.responses import CloseConnectionError, Response
from odradek.protocol.codec import DecodeError, EncodeError, Message
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.headers import decode_request_header
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.registry import API, Api, ApiKey, decode, encode

log = get_logger("dispatch")

_HEADER: Final = Struct(">hhih")
_CORRELATION: Final = Struct(">i")
_ONE_API: Final = Struct(">hihhh")

PRODUCE: Final = int(ApiKey.PRODUCE)
FETCH: Final = int(ApiKey.FETCH)
API_VERSIONS: Final = int(ApiKey.API_VERSIONS)


class RequestGate(Protocol):
    """The one step between decoding a request and its handler: who may, and how fast."""

    def admit(self, context: RequestContext, api: Api, request: Message) -> Outcome:
        """Authorise the request.

        Returns the response of who may not, what is left for the handler of a request that is refused in part, and None
        where the handler is to go on. Raises CloseConnectionError for who may not and wants no answer.
        """

    def may_write(self, context: RequestContext, topic: TopicRef) -> bool:
        """Return whether `admit` would let the client write to the topic outside of transactions, as far as it is known
        without a look at the rules."""


Merge = Callable[[Any], Message]
"""Makes the whole answer of one to what was left of a request."""

Look = Callable[[Message], None]
"""Is shown each response before it is written; must be quick, and not fail."""


class Dispatcher:
    """Calls the handler of each request; see the module."""

    def __init__(
        self,
        direct: Mapping[ApiKey, Find[DirectHandler]],
        handlers: Mapping[ApiKey, Find[MessageHandler]],
        gate: RequestGate | None = None,
        large: LargeRequests | None = None,
        forwarded: Mapping[ApiKey, Forward] | None = None,
        look: Look | None = None,
    ) -> None:
        """Handlers are found at the first request for each; requests of APIs that are `forwarded` are not even decoded.
        Without a gate everybody may, at any rate; without `large`
        requests of any size are worked on in one go. `look` is shown responses, but for those of direct handlers."""
        self._gate = gate
        self._may_write: MayWrite | None = gate.may_write if gate is not None else None
        self._large = large
        self._look = look
        self._throttling: Throttling | None = None
        self._routes: dict[int, Route] = {}
        for key, find_direct in direct.items():
            self._routes[key] = Route(key, find_direct)
        for key, find_handler in handlers.items():
            self._routes[key] = Route(key, find_handler=find_handler)
        for key, forward in (forwarded or {}).items():
            self._routes[key] = Route(key, forward=forward)

    def throttle(self, throttling: Throttling | None) -> None:
        """Hold clients to their quotas from now on; None where there are none."""
        self._throttling = throttling

    def handle(
        self, context: RequestContext, frame: memoryview, is_counted: bool = False
    ) -> Response | Deferred[Response]:
        """Work on one frame; `is_counted` says that quotas have been looked at.

        Raises:
            CloseConnectionError: the frame is not a request that is served here.
        """
        try:
            key, version, correlation_id, client_id_size = _HEADER.unpack_from(frame)
        except error:
            raise CloseConnectionError(f"a request of {len(frame)} bytes is too short for a header") from None
        route = self._routes.get(key)
        if route is None:
            raise CloseConnectionError(f"unknown api key {key}")
        if version < route.first or version > route.last:
            return self._of_another_version(route, version, correlation_id, frame)
        throttling, began = self._throttling, 0.0
        if throttling is not None:
            if is_counted:
                throttling = None
            elif key > FETCH:
                return throttling.handle(self.handle, context, frame)
            elif throttling.is_timed:
                began = perf_counter()
        flexible = version >= route.first_flexible
        pos = 10 + client_id_size
        if flexible and client_id_size >= 0 and pos < len(frame) and frame[pos] == 0:
            pos += 1  # no tagged fields, as good as always
        elif flexible or client_id_size < 0 or pos > len(frame):
            pos = self._careful_header(frame)
        raw_client_id = frame[10 : 10 + client_id_size].tobytes() if client_id_size > 0 else b""
        if raw_client_id != context.raw_client_id:
            context.set_client_id(raw_client_id)
        context.api_version = version
        head = _CORRELATION.pack(correlation_id)
        if flexible and key != API_VERSIONS:
            head += b"\0"
        kind = route.request
        if kind is None:
            if route.forward is not None:
                return route.forward(context, frame)
            kind = route.load()
        if flexible and route.usual is not None:
            usual = route.usual(context, frame, pos, head, self._may_write)
            if usual is not None:
                return usual if throttling is None else throttling.produced(context, len(frame), usual, began)
        answer = self._answer(route, kind, context, frame, pos, head)
        if throttling is None or key != PRODUCE:
            return answer
        return throttling.produced(context, len(frame), answer, began)

    def _answer(
        self, route: Route, kind: type[Message], context: RequestContext, frame: memoryview, pos: int, head: bytes
    ) -> Response | Deferred[Response]:
        """Decode a request, see what its client may ask of it, and answer that."""
        key, version = route.api.key, context.api_version
        if (
            len(frame) > DIVIDED_FRAME
            and key != PRODUCE
            and self._large is not None
            # who may do ten thousand things is not asked in one turn of the loop either
            and (len(frame) > LARGE_FRAME or (self._gate is not None and route.direct is None))
        ):
            return self._begin_large(self._large, route, context, frame, pos, head)
        try:
            request, _ = decode(kind, frame, version, pos)
        except DecodeError as bad:
            raise CloseConnectionError(f"{route.api.name} version {version} does not parse: {bad}") from None
        if len(frame) > DIVIDED_FRAME and self._large is not None and route.direct is None:
            division = Division(ApiKey(key), request)
            if len(division.portions) > 1:
                api, call = route.api, partial(self._call_portion, route, context)
                return self._large.divided(division, call, partial(self._finish, api, head, version, context))
        merge: Merge | None = None
        if self._gate is not None:
            admitted = self._gate.admit(context, route.api, request)
            if isinstance(admitted, Partly):
                request, merge = admitted
            elif admitted is not None:
                return head + self._encoded(admitted, context)
        if route.direct is None:
            return self._call(route, context, request, head, merge)
        answer = route.direct(context, request, head)
        return answer if merge is None else merged(answer, route.api, version, head, merge)

    def _begin_large(
        self,
        large: LargeRequests,
        route: Route,
        context: RequestContext,
        frame: memoryview,
        pos: int,
        head: bytes,
    ) -> Deferred[Response]:
        """Work on a large frame step by step.

        Raises:
            CloseConnectionError: it is too large for its API, or there is no memory for it.
        """
        api, version, kind = route.api, context.api_version, route.request
        assert kind is not None
        largest = largest_frame(api.key)
        if len(frame) > largest:
            raise CloseConnectionError(
                f"{api.name} version {version} with {len(frame)} bytes: {largest} are taken at most"
            )

        outcomes: list[Partly | bytes | None] = []
        """What the gate made of a request that cannot be divided: it is asked on the thread, where its answer is
        written, too."""

        def decode_it(copied: memoryview) -> Division:
            try:
                division = Division(ApiKey(api.key), decode(kind, copied, version, pos)[0])
            except DecodeError as bad:
                raise CloseConnectionError(f"{api.name} version {version} does not parse: {bad}") from None
            if self._gate is not None and len(division.portions) == 1:
                admitted = self._gate.admit(context, api, division.request)
                outcomes.append(head + self._encoded(admitted, context) if isinstance(admitted, Message) else admitted)
            return division

        def begin(
            division: Division,
        ) -> Response | Deferred[Response] | Callable[[Message], Message | Deferred[Any]]:
            admitted = outcomes[0] if outcomes else None
            if isinstance(admitted, bytes):
                return admitted
            if route.direct is not None:
                return route.direct(context, division.request, head)
            if outcomes:
                return lambda request: self._call_admitted(route, context, admitted or Partly(request, _as_it_is))
            return partial(self._call_portion, route, context)

        return large.large(frame, decode_it, begin, partial(self._finish, api, head, version, context))

    def _call_portion(self, route: Route, context: RequestContext, portion: Message) -> Message | Deferred[Any]:
        """Return the response to a portion, if the client may ask it."""
        admitted = None if self._gate is None else self._gate.admit(context, route.api, portion)
        if isinstance(admitted, Message):
            return admitted
        return self._call_admitted(route, context, admitted or Partly(portion, _as_it_is))

    def _call_admitted(self, route: Route, context: RequestContext, portion: Partly) -> Message | Deferred[Any]:
        """Return the response to a portion, with an error if its handler fails: `_finish` would have no such place."""
        assert route.handler is not None
        try:
            return then(route.handler(context, portion.request), portion.merge)
        except CloseConnectionError:
            raise
        except Exception as failed:  # noqa: BLE001 - as for a whole request
            return self._error_response(route.api, context.api_version, context, failed)

    def _careful_header(self, frame: memoryview) -> int:
        """Where the request begins behind a header with anything unusual in it."""
        try:
            _, pos = decode_request_header(frame)
        except DecodeError as bad:
            raise CloseConnectionError(f"the request header does not parse: {bad}") from None
        return pos

    def _of_another_version(self, route: Route, version: int, correlation_id: int, frame: memoryview) -> bytes:
        """To ApiVersions the one answer that every client understands: version 0, with the versions of ApiVersions
        itself; to all else none.

        Raises:
            CloseConnectionError: it is not ApiVersions, or its header does not parse.
        """
        if route.api.key != ApiKey.API_VERSIONS:
            raise CloseConnectionError(
                f"{route.api.name} version {version} is not served (served: {route.first} to {route.last})"
            )
        self._careful_header(frame)
        api = API[ApiKey.API_VERSIONS]
        versions = api.served
        body = _ONE_API.pack(ErrorCode.UNSUPPORTED_VERSION, 1, ApiKey.API_VERSIONS, versions.first, versions.last)
        return _CORRELATION.pack(correlation_id) + body

    def _call(
        self, route: Route, context: RequestContext, request: Message, head: bytes, merge: Merge | None = None
    ) -> Response | Deferred[Response]:
        version = context.api_version
        assert route.handler is not None
        try:
            result = route.handler(context, request)
            if merge is not None and not isinstance(result, Deferred):
                result = merge(result)
        except CloseConnectionError:
            raise
        except Exception as failed:  # noqa: BLE001 - the one place where an error becomes an answer
            return head + self._error_body(route.api, version, context, failed)
        if isinstance(result, Deferred):
            return result.then(lambda response: self._finish(route.api, head, version, context, response, merge))
        return head + self._encoded(result, context)

    def _finish(
        self,
        api: Api,
        head: bytes,
        version: int,
        context: RequestContext,
        response: Message,
        merge: Merge | None = None,
    ) -> Response:
        """Return the answer that a deferred response makes; whoever resolved it must not suffer if it cannot be one."""
        try:
            if merge is not None:
                response = merge(response)
            return head + self._encoded(response, context)
        except CloseConnectionError as close:
            return close
        except Exception as failed:  # noqa: BLE001 - as for every other handler
            try:
                return head + self._error_body(api, version, context, failed)
            except CloseConnectionError as close:
                return close

    def _error_body(self, api: Api, version: int, context: RequestContext, failed: Exception) -> bytes:
        return self._encoded(self._error_response(api, version, context, failed), context)

    def _error_response(self, api: Api, version: int, context: RequestContext, failed: Exception) -> Message:
        if isinstance(failed, KafkaError):
            code, message = failed.code, failed.message
        else:
            code, message = ErrorCode.UNKNOWN_SERVER_ERROR, "the broker failed to answer; its log says why"
            log.error(
                "request failed",
                api=api.name,
                version=version,
                peer=context.peer,
                client=context.client_id,
                exc_info=failed,
            )
        response = api.response()
        if not hasattr(response, "error_code"):
            raise CloseConnectionError(f"{api.name} version {version} failed: {failed}") from failed
        response.error_code = int(code)
        if hasattr(response, "error_message"):
            response.error_message = message
        return response

    def _encoded(self, response: Message | bytes, context: RequestContext) -> bytes:
        """The bytes of a response, which may have been made on a thread if it is large.

        Raises:
            CloseConnectionError: it has no form in this version, such as a message that quotes a name of 32,767 bytes.
        """
        if isinstance(response, bytes):
            return response
        if self._look is not None:
            self._look(response)
        try:
            return encode(response, context.api_version)
        except EncodeError as bad:
            raise CloseConnectionError(f"the answer cannot be written: {bad}") from None


def _as_it_is(response: Message) -> Message:
    return response
