"""Says which connections came to nothing before their first request: each with peer and reason, but no flood of lines.

Whoever can connect can fail as often as he likes; the log is for people.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from odradek.broker.runtime.audit import failed_authentication
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.logging import get_logger

log = get_logger("network")

WINDOW_S: Final = 10.0
LINES_PER_WINDOW: Final = 10


class OpeningFailures:
    """The lines of the last seconds."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._window_start = -WINDOW_S
        self._said = 0
        self._unsaid = 0

    def log(self, context: RequestContext, reason: str) -> None:
        """Say why a connection is over; what is too much for the moment is counted, and the count said later."""
        now = self._now_s()
        if now - self._window_start >= WINDOW_S:
            self._window_start, self._said = now, 0
            unsaid, self._unsaid = self._unsaid, 0
            if unsaid:
                log.info("more connections were not established", count=unsaid)
        if self._said == LINES_PER_WINDOW:
            self._unsaid += 1
            return
        self._said += 1
        failed_authentication(context.client_host, context.listener, "TLS", reason)
        log.info("connection not established", peer=context.peer, listener=context.listener, reason=reason)
