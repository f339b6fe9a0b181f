"""From settings to a login."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from odradek.client.login import login_of, uses_tls
from odradek.protocol.sasl import LoginRefusedError

ACCOUNT = {"sasl.username": "u", "sasl.password": "p"}


@contextmanager
def token_endpoint(answer: bytes, status: int = 200) -> Iterator[tuple[str, list[tuple[str | None, bytes]]]]:
    """An HTTP server that answers one request; yields its address and what was asked: who, and with which fields."""
    asked: list[tuple[str | None, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            asked.append((self.headers["Authorization"], self.rfile.read(length)))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/token", asked
        finally:
            thread.join()


def oidc(endpoint: str) -> dict[str, str]:
    """Return settings for a token of an endpoint."""
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "s3cret",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.token.endpoint.url": endpoint,
    }


def test_protocols() -> None:
    """Two of the four encrypt, two of the four ask who it is."""
    assert [uses_tls({"security.protocol": one}) for one in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")] == [
        False,
        True,
        False,
        True,
    ]
    assert login_of({}) is None
    assert login_of({"security.protocol": "ssl"}) is None


@pytest.mark.parametrize("name", ["sasl.mechanism", "sasl.mechanisms"])
def test_a_login_by_name_and_password(name: str) -> None:
    """librdkafka has two names for the mechanism."""
    begin = login_of({"security.protocol": "SASL_PLAINTEXT", name: "plain", **ACCOUNT})
    assert begin is not None
    assert begin().first() == b"\0u\0p"


def test_a_token_is_fetched_for_each_connection() -> None:
    """By client credentials, as RFC 6749 has them."""
    with token_endpoint(json.dumps({"access_token": "abc"}).encode()) as (endpoint, asked):
        begin = login_of(oidc(endpoint))
        assert begin is not None
        assert begin().first() == b"n,,\x01auth=Bearer abc\x01\x01"
    assert asked == [("Basic " + b64encode(b"me:s3cret").decode(), b"grant_type=client_credentials&scope=kafka")]


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [(b"", 401, "gives no token"), (b"[]", 200, "has no access_token"), (b'{"access_token": 1}', 200, "no access_tok")],
)
def test_an_endpoint_that_gives_no_token(answer: bytes, status: int, said: str) -> None:
    """The sentence has the endpoint in it, and no secret."""
    with token_endpoint(answer, status) as (endpoint, _):
        begin = login_of(oidc(endpoint))
        assert begin is not None
        with pytest.raises(LoginRefusedError, match=said) as refused:
            begin()
    assert endpoint in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"security.protocol": "TLS"}, "is one of plaintext, ssl"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "needs sasl.oauthbearer.method=oidc"),
        (oidc("file:///etc/passwd"), "is no http or https address"),
    ],
)
def test_settings_that_do_not_say_it(settings: dict[str, str], said: str) -> None:
    """What is missing is named."""
    with pytest.raises(ValueError, match=said):
        login_of(settings)
