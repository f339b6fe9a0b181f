"""What stands in front of all pages of the console."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from odradek.console.routes import LARGEST_FORM, action, check_routes, view
from odradek.console.security import HEADERS
from odradek.console.settings import ConsoleSettings, is_loopback
from odradek.console.visit import Visit
from tests.support.console import ORIGIN, ConsoleVisitor, no_cluster

TOKEN = "a-token-of-more-than-16-characters"


def _visitor(settings: ConsoleSettings | None = None) -> ConsoleVisitor:
    """Return a visitor of a console that has one action, `/act`, which says what it was sent."""
    visitor = ConsoleVisitor(make=no_cluster, settings=settings)

    def act(visit: Visit) -> PlainTextResponse:
        return PlainTextResponse(f"done with {visit.field('what')}")

    visitor.app.router.routes.insert(0, action("/act", act))
    return visitor


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8090", "127.0.0.1.evil.example", "a@localhost", "", "["]
)
def test_other_host_names_are_refused(host: str) -> None:
    """A name that somebody else lets lead to this machine opens no page (DNS rebinding)."""
    response = _visitor().client.get("/topics", headers={"host": host})
    assert response.status_code == 421


@pytest.mark.parametrize("host", ["localhost:9", "127.0.0.1:8090", "[::1]:8090", "192.0.2.7:8090", "CONSOLE.example"])
def test_own_host_names_are_served(host: str) -> None:
    """Addresses, names of this machine and allowed names open the pages, at any port, for tunnels."""
    visitor = _visitor(ConsoleSettings("", allowed_hosts=["console.example"]))
    assert visitor.client.get("/nowhere", headers={"host": host}).status_code == 404


def test_action_needs_the_token_of_its_form() -> None:
    """A form without the session's token does nothing, and one with it does."""
    visitor = _visitor()
    assert visitor.client.post("/act", data={"what": "x"}).status_code == 403
    assert visitor.client.post("/act", data={"what": "x", "form_token": "0" * 64}).status_code == 403
    assert visitor.post("/act", what="x") == (200, "done with x")


def test_token_of_another_session_is_refused() -> None:
    """What one browser's forms carry is of no use in another one."""
    visitor = _visitor()
    token = visitor.token()
    visitor.client.cookies.clear()
    assert visitor.client.post("/act", data={"what": "x", "form_token": token}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
def test_forms_of_other_pages_are_refused(headers: dict[str, str]) -> None:
    """Even with the right token, a form that another page sends does nothing."""
    visitor = _visitor()
    response = visitor.client.post("/act", data={"form_token": visitor.token()}, headers=headers)
    assert response.status_code == 403


def test_read_only_console_does_nothing() -> None:
    """A read-only console refuses every action, with a sentence."""
    visitor = _visitor(ConsoleSettings("", read_only=True))
    status, page = visitor.post("/act", what="x")
    assert status == 403
    assert "read-only" in page


def test_form_is_bounded() -> None:
    """A form with more bytes than are taken, too many fields or another type is refused before anything is done."""
    visitor = _visitor()
    token = visitor.token()
    large = visitor.client.post("/act", data={"form_token": token, "what": "x" * LARGEST_FORM})
    many = visitor.client.post("/act", data={"form_token": token, **{f"f{number}": "" for number in range(600)}})
    other = visitor.client.post("/act", json={"form_token": token})
    torn = visitor.client.post(
        "/act",
        content=b"form_token=%ff%fe",
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert [each.status_code for each in (large, many, other, torn)] == [413, 400, 415, 400]


def test_every_answer_has_the_headers() -> None:
    """Pages, files, refusals and errors forbid the browser the same things, and pages are not kept."""
    visitor = _visitor()
    for path, status in (("/topics", 502), ("/nowhere", 404), ("/static/console.css", 200), ("/login", 303)):
        response = visitor.client.get(path)
        assert response.status_code == status
        assert {name: response.headers.get(name) for name in HEADERS} == dict(HEADERS)
    assert visitor.client.get("/nowhere").headers["cache-control"] == "no-store"


def test_session_cookie_is_for_the_browser_alone() -> None:
    """No script reads the session's cookie and no other site sends it."""
    cookie = _visitor().client.get("/nowhere").headers["set-cookie"]
    assert cookie.startswith("odradek-console-8090=")
    assert "; HttpOnly; SameSite=Strict" in cookie


def test_pages_need_the_token_where_one_is_set() -> None:
    """Without logging in there is the form for it and nothing else; with it all pages, until one logs out."""
    visitor = _visitor(ConsoleSettings("", token=TOKEN))
    client = visitor.client
    assert client.get("/topics").headers["location"] == "/login"
    assert client.get("/topics", headers={"hx-request": "true"}).status_code == 401
    assert client.post("/act").status_code == 401
    assert "Log in" in client.get("/login").text
    wrong = client.get("/login?token=wrong")
    assert wrong.status_code == 403
    assert client.get("/topics").headers["location"] == "/login"
    assert client.get(f"/login?token={TOKEN}").headers["location"] == "/topics"
    assert client.get("/topics").status_code == 502
    assert visitor.post("/act", what="x") == (200, "done with x")
    client.post("/logout", data={"form_token": visitor.token()})
    assert client.get("/topics").headers["location"] == "/login"


def test_login_by_form() -> None:
    """The token opens the pages from the form, too."""
    visitor = _visitor(ConsoleSettings("", token=TOKEN))
    page = visitor.client.get("/login").text
    token = page.partition('name="form_token" value="')[2].partition('"')[0]
    done = visitor.client.post("/login", data={"form_token": token, "token": f" {TOKEN}\n"})
    assert (done.status_code, done.headers["location"]) == (303, "/topics")
    assert visitor.client.get("/topics").status_code == 502


def test_away_cluster_is_a_sentence() -> None:
    """A cluster that does not answer is a page that says so, and no crash."""
    response = _visitor().client.get("/topics")
    assert response.status_code == 502
    assert "Nothing listens on 127.0.0.1:1; start one with `odradek serve`." in response.text


def test_sentences_are_escaped() -> None:
    """What an error says is text, whatever it is about."""
    visitor = _visitor()

    def fail(visit: Visit) -> PlainTextResponse:
        raise ValueError("<script>alert(1)</script>")

    def refuse(visit: Visit) -> PlainTextResponse:
        return visit.page("error.html", sentence="<script>alert(1)</script>")  # type: ignore[return-value]

    visitor.app.router.routes[:0] = [view("/fail", fail), view("/refuse", refuse)]
    assert visitor.client.get("/fail").status_code == 500
    assert "<script>alert" not in visitor.client.get("/fail").text
    assert "&lt;script&gt;alert(1)" in visitor.client.get("/refuse").text


def test_only_actions_change_anything() -> None:
    """A route that takes POST and checks no token stops the console from starting."""
    with pytest.raises(AssertionError, match="/x is no action"):
        check_routes([Route("/x", lambda request: PlainTextResponse(""), methods=["POST"])])


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("", False), ("0.0.0.0", False), ("box", False)],
)
def test_loopback(host: str, expected: bool) -> None:
    """Only what others cannot reach goes without logging in."""
    assert is_loopback(host) is expected


def test_origin_is_the_consoles() -> None:
    """The support's own requests look like a browser's."""
    assert _visitor().client.post("/act", headers={"origin": ORIGIN}).status_code == 415
