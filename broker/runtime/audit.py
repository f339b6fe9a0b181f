"""The audit log: who was refused what, who changed what, and who could not say who he is.

Owns: the lines and how many of them there may be. Must not know: rules, requests. One JSON object per line in a file of
its own (odradek.audit.log). Where none is set, refusals are lines of the logger `odradek.audit`; failed authentications
are told by those who let nobody in, in lines of their own, and changes by nobody. A flood of refusals costs a client
nothing, so lines are counted where there would be more than some hundreds a second, and the number is told. Values of
records, passwords and keys of any kind are never in them: callers do not pass any.

The audit log of a process is process-wide, as its log is (`logging`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from odradek.broker.runtime.logging import get_logger

BURST: Final = 1_000
"""Lines that may come at once."""
PER_SECOND: Final = 200
"""Lines a second that may come for ever."""
LOOK_AGAIN_S: Final = 5.0
"""How often it is looked whether the file was moved away, as logrotate does."""
LONGEST: Final = 1_000
"""Characters of a name that a client chose."""

log = get_logger("odradek.audit")


class AuditLog:
    """Writes lines, to a file or to the logger."""

    def __init__(self, path: str | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Open the file, which is readable by its owner alone.

        Raises:
            OSError: it cannot be opened.
        """
        self.path = path
        self._monotonic = monotonic
        self._allowance = float(BURST)
        self._refilled_at = self._looked_at = monotonic()
        self._left_out = 0
        self._fd = -1 if path is None else _open(path)

    @property
    def has_file(self) -> bool:
        """Whether there is a file for what is not told in the broker's own log."""
        return self.path is not None

    def write(self, event: str, fields: dict[str, object]) -> None:
        """Write a line, unless there are too many."""
        now = self._monotonic()
        self._allowance = min(BURST, self._allowance + (now - self._refilled_at) * PER_SECOND)
        self._refilled_at = now
        if self._allowance < 1:
            self._left_out += 1
            return
        self._allowance -= 1
        if self._left_out:
            left_out, self._left_out = self._left_out, 0
            self._write("lines left out", {"count": left_out}, now)
        self._write(event, fields, now)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, event: str, fields: dict[str, object], now: float) -> None:
        if self.path is None:
            log.info(event, **fields)
            return
        import json  # a broker starts without both
        from datetime import UTC, datetime

        stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"timestamp": stamp, "event": event, **fields}, ensure_ascii=False)
        try:
            self._follow_rotation(self.path, now)
            os.write(self._fd, line.encode("utf-8", "replace") + b"\n")
        except OSError as failed:
            log.error("the audit log cannot be written", path=self.path, reason=str(failed), lost=event, **fields)

    def _follow_rotation(self, path: str, now: float) -> None:
        if now - self._looked_at < LOOK_AGAIN_S and self._fd >= 0:
            return
        self._looked_at = now
        try:
            here = os.stat(path)
        except FileNotFoundError:
            here = None
        if self._fd < 0 or here is None or here.st_ino != os.fstat(self._fd).st_ino:
            opened = _open(path)
            self.close()
            self._fd = opened


_current = AuditLog()


def configure_audit(path: str | None) -> AuditLog:
    """Write the audit log of the process to this file from now on, or to the logger; returns what was made.

    Raises:
        OSError: the file cannot be opened.
    """
    global _current  # noqa: PLW0603 -- the audit log of a process is process-wide, as its log is
    if path != _current.path:
        try:
            opened = AuditLog(path)
        except OSError as failed:
            reason = failed.strerror or failed
            raise OSError(f"the audit log {path} (odradek.audit.log) cannot be opened: {reason}") from failed
        _current.close()
        _current = opened
    return _current


def audit_log() -> AuditLog:
    """Return the audit log in force."""
    return _current


def refused(principal: object, host: str, api: str, operation: str, resource: str, rule: str) -> None:
    """Tell that a client may not do what it asked for; `resource` is in Kafka's form, `Topic:LITERAL:orders`."""
    _current.write(
        "refused",
        {
            "principal": str(principal),
            "host": host,
            "api": api,
            "operation": operation,
            "resource": resource[:LONGEST],
            "rule": rule[:LONGEST],
        },
    )


def changed(principal: object, host: str, listener: str, api: str, changes: list[dict[str, object]]) -> None:
    """Tell what an administrator changed, with what became of each change."""
    if _current.has_file:
        _current.write(
            "changed",
            {"principal": str(principal), "host": host, "listener": listener, "api": api, "changes": changes},
        )


def failed_authentication(
    host: str, listener: str, mechanism: str, reason: str, principal: object | None = None
) -> None:
    """Tell that a client could not say who it is. `mechanism` is that of SASL, or "TLS"; `principal` is whom it claimed
    to be, if that is known. Never pass what it gave as a proof."""
    if not _current.has_file:
        return
    fields: dict[str, object] = {"host": host, "listener": listener, "mechanism": mechanism, "reason": reason[:LONGEST]}
    if principal is not None:
        fields["principal"] = str(principal)[:LONGEST]
    _current.write("authentication failed", fields)


def _open(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
