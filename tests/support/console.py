"""A console in the process of the test, as a browser sees it: no port, no browser, the same requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from starlette.testclient import TestClient

from odradek.cluster.connection import ClusterClients
from odradek.console.app import console_app
from odradek.console.settings import ConsoleSettings
from odradek.terminal.errors import CommandError

ORIGIN = "http://127.0.0.1:8090"
_TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"|"x-form-token": "([0-9a-f]+)"')


def no_cluster() -> ClusterClients:
    """Stand in for a cluster that is away."""
    raise CommandError("nothing listens on 127.0.0.1:1; start one with `odradek serve`")


class ConsoleVisitor:
    """A browser's session with a console. Redirects are not followed by themselves."""

    def __init__(
        self,
        bootstrap: str = "127.0.0.1:1",
        make: Callable[[], ClusterClients] | None = None,
        settings: ConsoleSettings | None = None,
    ) -> None:
        self.settings = replace(settings or ConsoleSettings(bootstrap), bootstrap=bootstrap)
        self.app = console_app(self.settings, make)
        self.client = TestClient(self.app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)

    def get(self, path: str, **headers: str) -> str:
        """Return a page, which has to be there."""
        response = self.client.get(path, headers=headers)
        assert response.status_code == 200, f"{path}: {response.status_code} {response.text}"
        return str(response.text)

    def token(self) -> str:
        """Return the token that forms of this session have."""
        found = _TOKEN.search(self.client.get("/login-page-that-is-not-there").text)
        assert found is not None, "each page has the token"
        return found[1] or found[2]

    def post(self, path: str, **fields: str) -> tuple[int, str]:
        """Send a form with its token; returns the status and the page, of a redirect the page it leads to."""
        response = self.client.post(path, data={"form_token": self.token(), **fields}, headers={"origin": ORIGIN})
        if response.status_code == 303:
            return 303, self.get(response.headers["location"])
        return response.status_code, response.text

    def close(self) -> None:
        """Close the connections to the cluster."""
        self.app.state.console.clusters.close()
