"""Cookies and form tokens."""

from __future__ import annotations

import pytest

from odradek.console.sessions import BrowserSession, Notices, SessionKeeper

KEY = b"k" * 32


@pytest.mark.parametrize("is_logged_in", [False, True])
def test_cookie_is_read_back(is_logged_in: bool) -> None:
    """A cookie says whose it is to the process that made it."""
    keeper = SessionKeeper(KEY)
    session = keeper.new(is_logged_in=is_logged_in)
    assert keeper.read(keeper.cookie(session)) == session


@pytest.mark.parametrize("change", [("g.", "u."), ("u.", "g."), (".", ""), ("a", "b"), ("", "ä")], ids=str)
def test_changed_cookie_is_no_cookie(change: tuple[str, str]) -> None:
    """Nobody logs in by changing a letter."""
    keeper = SessionKeeper(KEY)
    cookie = keeper.cookie(BrowserSession("a" * 32, is_logged_in=False))
    changed = cookie.replace(*change)
    assert changed == cookie or keeper.read(changed) is None


@pytest.mark.parametrize("cookie", [None, "", ".", "u..", "x" * 10_000])
def test_what_is_no_cookie(cookie: str | None) -> None:
    """Anything else is no session."""
    assert SessionKeeper(KEY).read(cookie) is None


def test_other_process_other_cookies() -> None:
    """Cookies and tokens are void in another process."""
    session = SessionKeeper(KEY).new(is_logged_in=True)
    other = SessionKeeper()
    assert other.read(SessionKeeper(KEY).cookie(session)) is None
    assert not other.is_form_token(session, SessionKeeper(KEY).form_token(session))
    assert not SessionKeeper(KEY).is_form_token(session, "é")


def test_notice_is_shown_once() -> None:
    """A notice waits for its session's next page, and there is room for a few hundred of them."""
    notices = Notices()
    first, second = BrowserSession("1", True), BrowserSession("2", True)
    notices.leave(first, "done")
    assert notices.take(second) is None
    assert [notices.take(first), notices.take(first)] == ["done", None]
    notices.leave(first, "old")
    for number in range(1000):
        notices.leave(BrowserSession(f"n{number}", True), "new")
    assert notices.take(first) is None
