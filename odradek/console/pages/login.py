"""Where a visitor begins, and logs in where the console has a token."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from odradek.console.routes import action, view
from odradek.console.security import is_right_token, session_cookie
from odradek.console.visit import Visit

WRONG_TOKEN_PAUSE_S: Final = 0.5


def routes(start: str) -> Sequence[Route]:
    """Return the routes; `start` is the first page."""

    def begin(visit: Visit) -> Response:
        return visit.go(start)

    def show(visit: Visit) -> Response:
        given = visit.query("token")
        if given:
            return _log_in(visit, given, start)
        if visit.console.settings.token is None or visit.session.is_logged_in:
            return visit.go(start)
        return visit.page("login.html", problem="")

    def log_in(visit: Visit) -> Response:
        return _log_in(visit, visit.field("token"), start)

    def log_out(visit: Visit) -> Response:
        sessions = visit.console.sessions
        return _with_cookie(visit, RedirectResponse("/login", 303), sessions.cookie(sessions.new(is_logged_in=False)))

    return [
        view("/", begin),
        view("/login", show),
        action("/login", log_in, reads_only=True),
        action("/logout", log_out, reads_only=True),
    ]


def _log_in(visit: Visit, token: str, start: str) -> Response:
    if not is_right_token(visit.console.settings, token):
        time.sleep(WRONG_TOKEN_PAUSE_S)  # on a thread; who guesses has to wait
        return visit.page("login.html", 403, problem="this is not the token that the console was started with")
    sessions = visit.console.sessions
    return _with_cookie(visit, visit.go(start), sessions.cookie(sessions.new(is_logged_in=True)))


def _with_cookie(visit: Visit, response: Response, cookie: str) -> Response:
    response.headers["set-cookie"] = session_cookie(visit.console.settings, cookie, visit.request)
    return response
