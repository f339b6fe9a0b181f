"""The pages of topics, used."""

from __future__ import annotations

import pytest

from tests.support.browser import BrowserWindow

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]


def test_list_of_topics(window: BrowserWindow) -> None:
    """The list of topics is there, and keeps nobody out."""
    window.open("/")
    window.wait_for("Topics")
    assert window.path == "/topics"
    window.check_page("topics")
