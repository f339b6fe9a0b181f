"""What stands in front of all pages: which Host a browser names, who it is, and what its answers forbid it.

    Host      an address, a name of this machine or an allowed one: a name that somebody else lets lead here is refused
              (DNS rebinding)
    Origin    of what changes something it must be the console's own, and Sec-Fetch-Site must not say otherwise
    session   a cookie, SameSite=Strict; where a token is set, only one that was given for it opens a page

The token of each form is checked where forms are read (`routes.action`).
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from odradek.console.sessions import SessionKeeper
from odradek.console.settings import ConsoleSettings

OPEN_PATHS: Final = ("/login", "/static/")
"""What is given to those who have not logged in."""
SESSION: Final = "odradek.session"
"""Where in a request's scope its session is."""
_OWN_NAMES: Final = frozenset({"localhost"})
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_SAME_SITE: Final = frozenset({"same-origin", "none"})

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers would keep the Origin of forms to themselves, too
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_NOT_KEPT: Final = "no-store"


class Guard:
    """The ASGI middleware that holds all of this."""

    def __init__(self, app: ASGIApp, settings: ConsoleSettings, sessions: SessionKeeper) -> None:
        self._app = app
        self._settings = settings
        self._sessions = sessions
        self._names = _OWN_NAMES | {each.lower() for each in settings.allowed_hosts} | {settings.host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or let the application answer."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks WebSocket
            return
        request = Request(scope)
        cookie = cookie_name(self._settings)
        session = self._sessions.read(request.cookies.get(cookie))
        new_session = session is None
        if session is None:
            session = self._sessions.new(is_logged_in=False)
        scope[SESSION] = session
        refusal = refused(request.method, request.headers, self._names)
        if refusal is None and self._settings.token is not None and not session.is_logged_in:
            refusal = _to_login(request)
        is_static = request.url.path.startswith("/static/")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache" if is_static else _NOT_KEPT)
                if new_session and not is_static and "set-cookie" not in headers:
                    headers.append(
                        "set-cookie", session_cookie(self._settings, self._sessions.cookie(session), request)
                    )
            await send(message)

        await (refusal or self._app)(scope, receive, guarded)


def cookie_name(settings: ConsoleSettings) -> str:
    """Return the name of the session's cookie; browsers share cookies between all ports of a host."""
    return f"odradek-console-{settings.port}"


def session_cookie(settings: ConsoleSettings, value: str, request: Request) -> str:
    """Return the header that leaves the session with the browser, until it is closed."""
    secure = "; Secure" if request.url.scheme == "https" else ""
    return f"{cookie_name(settings)}={value}; Path=/; HttpOnly; SameSite=Strict{secure}"


def is_right_token(settings: ConsoleSettings, given: str) -> bool:
    """Say whether this is the token that the console was started with."""
    return settings.token is not None and hmac.compare_digest(given.strip().encode(), settings.token.encode())


def refused(method: str, headers: Headers, names: Iterable[str]) -> Response | None:
    """Return the answer to a request that comes by a way that is not ours, None for the others."""
    given = headers.getlist("host")
    host = _host_name(given[0]) if len(given) == 1 else None
    if host is None or (host not in names and not _is_address(host)):
        return PlainTextResponse(
            f"The console does not answer under this host name. Start it with --allowed-host {host or 'NAME'} if it is "
            "its own.\n",
            421,
        )
    if method in _SAFE_METHODS:
        return None
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    is_foreign = origin is not None and urlsplit(origin).netloc.lower() != given[0].lower()
    if is_foreign or (site is not None and site not in _SAME_SITE):
        return PlainTextResponse("This form comes from another page than the console's own; nothing was done.\n", 403)
    return None


def _to_login(request: Request) -> Response | None:
    path = request.url.path
    if path == "/login" or path.startswith("/static/"):
        return None
    if request.method not in _SAFE_METHODS or "hx-request" in request.headers:
        return PlainTextResponse("The session has ended; open the page again and log in.\n", 401)
    return RedirectResponse("/login", 303)


def _host_name(header: str) -> str | None:
    """Return the host of a Host header, without its port; None where it is none."""
    try:
        split = urlsplit(f"//{header}")
        _ = split.port
    except ValueError:
        return None
    if split.username is not None or split.path or split.query:
        return None
    return split.hostname


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
