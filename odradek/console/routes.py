"""The two kinds of routes: a view looks, an action changes something.

Both take a function of a `Visit` that may block: it runs on a thread. What it raises becomes a page with a sentence.
Whatever an action is, it is refused in a console that is read-only, and without the token that its form was given.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from odradek.console.visit import Visit
from odradek.terminal.errors import CommandError, WrongUsageError

LARGEST_FORM: Final = 8 << 20
"""Bytes of what is sent with a form, as it goes over the network."""
MOST_FIELDS: Final = 500
FORM_TOKEN: Final = "form_token"
FORM_TOKEN_HEADER: Final = "x-form-token"
_FORM_TYPE: Final = "application/x-www-form-urlencoded"

_log = logging.getLogger("odradek.console")


class PageRefusedError(Exception):
    """A request that is not served; the text says why, `status` is of HTTP."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def view(path: str, function: Callable[[Visit], Response], name: str | None = None) -> Route:
    """Return the route of a page that only looks."""

    async def endpoint(request: Request) -> Response:
        return await _answer(function, Visit(request))

    return Route(path, endpoint, methods=["GET"], name=name)


def action(
    path: str, function: Callable[[Visit], Response], name: str | None = None, *, reads_only: bool = False
) -> Route:
    """Return the route of a form; one that `reads_only` is served by a read-only console, too."""

    async def endpoint(request: Request) -> Response:
        visit = Visit(request)
        try:
            if visit.console.settings.read_only and not reads_only:
                raise PageRefusedError("this console is read-only (--read-only); nothing was done", 403)
            form = await _form(request)
            token = request.headers.get(FORM_TOKEN_HEADER) or next(iter(form.get(FORM_TOKEN, ())), "")
            if not visit.console.sessions.is_form_token(visit.session, token):
                raise PageRefusedError("this form is out of date; nothing was done. Go back, load the page again", 403)
        except PageRefusedError as refused:
            return visit.page("error.html", refused.status, sentence=str(refused))
        return await _answer(function, Visit(request, form))

    endpoint.is_action = True  # type: ignore[attr-defined]
    return Route(path, endpoint, methods=["POST"], name=name)


def check_routes(routes: Iterable[BaseRoute]) -> None:
    """See that nothing can be changed but by an action; AssertionError otherwise."""
    for each in routes:
        if isinstance(each, Mount):
            continue
        assert isinstance(each, Route), f"{each} is neither a view nor an action"
        changes = (each.methods or set()) - {"GET", "HEAD"}
        assert not changes or getattr(each.endpoint, "is_action", False), f"{each.path} is no action"


async def _answer(function: Callable[[Visit], Response], visit: Visit) -> Response:
    try:
        return await run_in_threadpool(function, visit)
    except PageRefusedError as refused:
        return visit.page("error.html", refused.status, sentence=str(refused))
    except WrongUsageError as wrong:
        return visit.page("error.html", 400, sentence=str(wrong))
    except CommandError as failed:
        return visit.page("error.html", 502, sentence=str(failed))
    except Exception:  # noqa: BLE001  a visitor sees a sentence, whatever it was
        _log.exception("%s %s failed", visit.request.method, visit.request.url.path)
        return visit.page("error.html", 500, sentence="the console itself has failed at this; its log says where")


async def _form(request: Request) -> dict[str, Sequence[str]]:
    """Read the fields of a form, bounded in bytes and in number."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        raise PageRefusedError(f"a form is sent as {_FORM_TYPE}", 415)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            raise PageRefusedError(f"the form is larger than {LARGEST_FORM >> 20} MiB; nothing was done", 413)
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict", encoding="utf-8"
        )
    except ValueError as wrong:
        raise PageRefusedError(f"the form cannot be read: {wrong}", 400) from None
    form: dict[str, list[str]] = {}
    for name, value in pairs:
        form.setdefault(name, []).append(value)
    return dict(form)
