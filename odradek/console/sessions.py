"""Sessions of browsers: a cookie that only this process can have made, and the form tokens that go with it.

Pure: random bytes and the key are passed in. A session has no state here but the notices that wait to be shown.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_ID_BYTES: Final = 16
_LONGEST_COOKIE: Final = 200
_SESSIONS_WITH_NOTICES: Final = 500
_LOGGED_IN, _GUEST = "u", "g"


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """Who sends a request: an id that is new for each browser, and whether it has logged in."""

    session_id: str
    is_logged_in: bool


class SessionKeeper:
    """Makes and reads cookies; all are void once the process ends."""

    def __init__(self, key: bytes | None = None, random: Callable[[int], str] = secrets.token_hex) -> None:
        self._key = secrets.token_bytes(32) if key is None else key
        self._random = random

    def new(self, *, is_logged_in: bool) -> BrowserSession:
        """Return a session that nobody has yet."""
        return BrowserSession(self._random(_ID_BYTES), is_logged_in)

    def cookie(self, session: BrowserSession) -> str:
        """Return what the browser keeps."""
        text = f"{_LOGGED_IN if session.is_logged_in else _GUEST}.{session.session_id}"
        return f"{text}.{self._mac('cookie', text)}"

    def read(self, cookie: str | None) -> BrowserSession | None:
        """Return the session of a cookie, None for one that is not ours."""
        if cookie is None or len(cookie) > _LONGEST_COOKIE or not cookie.isascii():
            return None
        text, _, mac = cookie.rpartition(".")
        if not hmac.compare_digest(mac, self._mac("cookie", text)):
            return None
        kind, _, session_id = text.partition(".")
        return BrowserSession(session_id, kind == _LOGGED_IN)

    def form_token(self, session: BrowserSession) -> str:
        """Return what each form of this session has to send along."""
        return self._mac("form", session.session_id)

    def is_form_token(self, session: BrowserSession, given: str) -> bool:
        """Say whether a form was made for this session."""
        return given.isascii() and hmac.compare_digest(given, self.form_token(session))

    def _mac(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), "sha256").hexdigest()


class Notices:
    """What is to be said on the next page of a session: one sentence each, of the last few hundred sessions."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def leave(self, session: BrowserSession, text: str) -> None:
        """Keep a sentence for the session's next page."""
        with self._lock:
            self._waiting[session.session_id] = text
            self._waiting.move_to_end(session.session_id)
            while len(self._waiting) > _SESSIONS_WITH_NOTICES:
                self._waiting.popitem(last=False)

    def take(self, session: BrowserSession) -> str | None:
        """Return the sentence that waits, once."""
        with self._lock:
            return self._waiting.pop(session.session_id, None)
