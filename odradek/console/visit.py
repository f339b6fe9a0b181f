"""What a page is given of a request, and how it answers: nothing of the framework is needed beside this."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from anyio import CancelScope
from jinja2 import Environment
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from odradek.cluster.connection import ClusterClients
from odradek.console.clusters import ClusterPool
from odradek.console.history import History
from odradek.console.overviews import Overviews
from odradek.console.security import SESSION
from odradek.console.sessions import BrowserSession, Notices, SessionKeeper
from odradek.console.settings import ConsoleSettings

LONGEST_PARAMETER: Final = 10_000


@dataclass(frozen=True, slots=True)
class ConsoleState:
    """What all requests share; the application has it as `app.state.console`."""

    settings: ConsoleSettings
    clusters: ClusterPool
    overviews: Overviews
    sessions: SessionKeeper
    templates: Environment
    navigation: Sequence[tuple[str, str]]
    """Titles and paths of the pages in the bar on top."""
    notices: Notices = field(default_factory=Notices)
    history: History = field(default_factory=History)
    """What the console has measured of the cluster: rates of topics, lags of groups."""
    parts: dict[str, Any] = field(default_factory=dict)
    """What pages keep between requests, each under a name of its own."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request to a page. `form` has the fields of what was sent, empty for what only looks."""

    request: Request
    form: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def console(self) -> ConsoleState:
        """What all requests share."""
        state: ConsoleState = self.request.app.state.console
        return state

    @property
    def session(self) -> BrowserSession:
        """Whose request it is."""
        session: BrowserSession = self.request.scope[SESSION]
        return session

    @property
    def is_part(self) -> bool:
        """A script asks for a part of the page alone."""
        return self.request.headers.get("hx-request") == "true" and "hx-boosted" not in self.request.headers

    def cluster(self) -> AbstractContextManager[ClusterClients]:
        """Lend the clients of the cluster, for use in `with`; CommandError where it is away."""
        return self.console.clusters.borrow()

    def path(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.request.path_params[name])

    def query(self, name: str, default: str = "") -> str:
        """Return a parameter of the address, without spaces around it."""
        return self.request.query_params.get(name, default)[:LONGEST_PARAMETER].strip()

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a parameter of the address as a number within bounds; the default for what is none."""
        text = self.query(name)
        if not text.removeprefix("-").isdecimal() or len(text) > 20:
            return default
        return min(max(int(text), least), most)

    def field(self, name: str, default: str = "") -> str:
        """Return a field of the form, the last where there are several."""
        given = self.form.get(name)
        return given[-1] if given else default

    def page(self, template: str, /, status: int = 200, **values: object) -> Response:
        """Return a page made from a template."""
        path = self.request.url.path
        current = max((one for _, one in self.console.navigation if is_within(path, one)), key=len, default="")
        shared: dict[str, object] = {
            "settings": self.console.settings,
            "navigation": self.console.navigation,
            "current": current,
            "form_token": self.console.sessions.form_token(self.session),
            "is_form": self.request.method == "POST",
            "read_only": self.console.settings.read_only,
            "notice": None if self.is_part else self.console.notices.take(self.session),
        }
        return HTMLResponse(self.console.templates.get_template(template).render(shared | values), status)

    def part(self, template: str, **values: object) -> str:
        """Return the markup that a template makes by itself."""
        return self.console.templates.get_template(template).render(values)

    def events(self, iterator: Generator[bytes, None, None]) -> Response:
        """Return what an iterator gives, as it comes, as server-sent events; each step of it runs on a thread."""
        return StreamingResponse(_stepwise(iterator), media_type="text/event-stream")

    def go(self, path: str, notice: str = "", **query: str) -> Response:
        """Send the browser to another page of the console, where the notice is shown."""
        if notice:
            self.console.notices.leave(self.session, notice)
        return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)


def is_within(path: str, place: str) -> bool:
    """Say whether a path is a page or one below it."""
    return path == place or path.startswith(f"{place.rstrip('/')}/")


async def _stepwise(iterator: Generator[bytes, None, None]) -> AsyncIterator[bytes]:
    """Go through an iterator that blocks, and close it when the browser has gone."""
    try:
        while (piece := await run_in_threadpool(next, iterator, None)) is not None:
            yield piece
    finally:
        with CancelScope(shield=True):
            await run_in_threadpool(iterator.close)
