"""What is said of clients that are not let in: one line for each, and of many only how many they were.

Somebody who tries passwords must not fill the disk with lines. Must not know: mechanisms.
"""

from __future__ import annotations

from typing import Final

from odradek.broker.runtime.audit import failed_authentication
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import RequestContext
from odradek.broker.runtime.logging import get_logger

log = get_logger("authentication")

LINES: Final = 10
WINDOW_S: Final = 10.0
"""Within this time so many are told one by one, the others by their number once it is over."""


class FailureLog:
    """Tells of failed authentications."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begin = -WINDOW_S
        self._count = 0

    def failed(self, context: RequestContext, mechanism: str, user: str, reason: str) -> None:
        """Take note of one; `user` is who the client says it is."""
        failed_authentication(context.client_host, context.listener, mechanism, reason, user or None)
        now = self._clock.monotonic()
        if now - self._begin >= WINDOW_S:
            if self._count > LINES:
                log.warning("more clients failed to authenticate", count=self._count - LINES)
            self._begin, self._count = now, 0
        self._count += 1
        if self._count <= LINES:
            log.info(
                "failed authentication",
                peer=context.peer,
                listener=context.listener,
                mechanism=mechanism,
                user=user[:100],
                reason=reason[:200],
            )
