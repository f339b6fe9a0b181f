"""The application: settings in, pages out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from odradek.cluster.connection import ClusterClients, connect
from odradek.console.clusters import ClusterPool
from odradek.console.measuring import ClusterProbe, make_sampler
from odradek.console.overviews import Overviews
from odradek.console.page import ConsolePage
from odradek.console.pages import charts, cluster, groups, login, logs, security, topics, transactions
from odradek.console.rendering import templates
from odradek.console.routes import check_routes
from odradek.console.security import Guard
from odradek.console.sessions import SessionKeeper
from odradek.console.settings import ConsoleSettings
from odradek.console.visit import ConsoleState, Visit

PAGES: Final[Sequence[ConsolePage]] = (
    topics.PAGE,
    groups.PAGE,
    cluster.PAGE,
    transactions.PAGE,
    security.PAGE,
    charts.PAGE,
    logs.PAGE,
)
"""In the order of the bar on top; the first one is where a visitor begins."""
STATIC: Final = Path(__file__).parent / "static"


def console_app(settings: ConsoleSettings, make: Callable[[], ClusterClients] | None = None) -> Starlette:
    """Return the application; `make` connects to the cluster, by default as the settings say."""
    pages = [each for each in PAGES if each.is_offered(settings)]
    connects = make or (lambda: connect(settings.bootstrap, settings.client_settings))
    clusters = ClusterPool(connects)
    state = ConsoleState(
        settings=settings,
        clusters=clusters,
        overviews=Overviews(clusters),
        sessions=SessionKeeper(),
        templates=templates(),
        navigation=[(each.title, each.path) for each in pages],
    )
    routes: list[BaseRoute] = [
        *login.routes(start=pages[0].path),
        *(route for each in pages for route in each.routes),
        Mount("/static", StaticFiles(directory=STATIC), name="static"),
    ]
    check_routes(routes)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        probe = ClusterProbe(connects)
        sampler = make_sampler(settings, state.history, probe)
        sampler.start()
        yield
        if sampler.stop():
            probe.close()
        state.clusters.close()

    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, settings=settings, sessions=state.sessions)],
        exception_handlers={HTTPException: _http_error},
        lifespan=lifespan,
    )
    app.state.console = state
    return app


def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentence = "there is no such page" if status == 404 else "this cannot be asked in this way"
    return Visit(request).page("error.html", status, sentence=sentence)
