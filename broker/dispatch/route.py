"""One API in dispatch: its versions, its handler, which is found at its first request, and the forms a handler has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.responses import Response
from odradek.protocol.codec import Message
from odradek.protocol.hot.wire import TopicRef
from odradek.protocol.registry import API, ApiKey

T = TypeVar("T")

NEVER: Final = 0x7FFF
"""First flexible version of an API that has none."""


class DirectHandler(Protocol):
    """Answers a request itself; `head` is the response header that its answer begins with."""

    def __call__(self, context: RequestContext, request: Any, head: bytes) -> Response | Deferred[Response]: ...


MayWrite = Callable[[RequestContext, TopicRef], bool]
"""Whether a client is known to be allowed to write to a topic, named as in its request."""
UsualHandler = Callable[[RequestContext, memoryview, int, bytes, MayWrite | None], "Response | Deferred[Response]"]
"""Answers a request that has its usual form, without its being decoded: the frame, where the request begins in it, the
response header, whom to ask who may. None, with nothing done, where it has another form, or that is not known."""


MessageHandler = Callable[[RequestContext, Any], "Message | Deferred[Any]"]
"""Takes a decoded request, returns the response, or what will be the response: a message, or the bytes of one."""


Forward = Callable[[RequestContext, memoryview], "Response | Deferred[Response]"]
"""Hands a whole frame on to the controller; raises CloseConnectionError."""


Find = Callable[[], T]
"""Imports and makes what is only now needed."""


class Route:
    """An API, and what answers its requests; see the module."""

    __slots__ = (
        "_find_direct",
        "_find_handler",
        "api",
        "direct",
        "first",
        "first_flexible",
        "forward",
        "handler",
        "last",
        "request",
        "usual",
    )

    def __init__(
        self,
        key: ApiKey,
        find_direct: Find[DirectHandler] | None = None,
        find_handler: Find[MessageHandler] | None = None,
        forward: Forward | None = None,
    ) -> None:
        self.api = api = API[key]
        self.first, self.last = api.served.first, api.served.last
        self.first_flexible = NEVER if api.first_flexible is None else api.first_flexible
        self._find_direct = find_direct
        self._find_handler = find_handler
        self.forward = forward
        self.request: type[Message] | None = None
        """The class of its requests, once one came; its handler, of one kind or the other, is there then, too."""
        self.direct: DirectHandler | None = None
        self.handler: MessageHandler | None = None
        self.usual: UsualHandler | None = None
        """Of a direct handler that has one; it knows flexible versions alone."""

    def load(self) -> type[Message]:
        """Find the handler, and the class of the requests, which is returned."""
        if self._find_direct is not None:
            self.direct = self._find_direct()
            self.usual = getattr(self.direct, "usual", None)
        if self._find_handler is not None:
            self.handler = self._find_handler()
        self.request = self.api.request
        return self.request
