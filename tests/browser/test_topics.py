"""The pages of topics, used."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import NARROW, WIDE, BrowserWindow
from tests.support.waiting import eventually

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.timeout(300)]

_LABEL_HEIGHTS = """
return [...document.querySelectorAll(".charts .label")].map(label => label.getBoundingClientRect().height)
"""


def test_topic_from_beginning_to_end(window: BrowserWindow) -> None:
    """A person makes a topic, finds it, adds partitions, sets a config and takes it back, looks at its chart and
    deletes it; the pages keep nobody out."""
    window.open("/")
    window.press("New topic")
    window.check_page("topic-new")
    assert window.find("nav [aria-current=page]").text == "Topics"
    window.fill("Name", "browser-topic")
    window.fill("Partitions (the broker's default if empty)", "3")
    window.press("Create topic")
    window.wait_for("topic browser-topic is there")
    window.check_page("topic")
    window.press("Add partitions")
    window.fill("Partitions there are to be", "5")
    window.check_page("topic-more-partitions")
    window.find("form[action$='/partitions'] button").click()
    window.wait_for("topic browser-topic has 5 partitions")
    window.press("Its last hour in a chart")
    window.wait_for("Topic browser-topic")
    window.check_page("charts-topic")
    for size in (NARROW, WIDE):
        window.resize(size)
        heights = window.driver.execute_script(_LABEL_HEIGHTS)
        assert 11 < min(heights) <= max(heights) < 22, f"{size}: as large as other text, wherever it is drawn"
    window.open("/topics/browser-topic/configs")
    field = window.find("input[aria-label='Value of retention.ms']")
    field.clear()
    field.send_keys("3600000")
    window.find("button[aria-label='Set retention.ms']").click()
    window.wait_for("retention.ms of browser-topic is now 3600000")
    window.check_page("topic-configs")
    reset = "button[aria-label='Reset retention.ms']"

    def can_be_reset() -> bool:
        window.open("/topics/browser-topic/configs")
        return bool(window.driver.find_elements(By.CSS_SELECTOR, reset))

    eventually(can_be_reset, "the page tells of the config that was set")
    window.find(reset).click()
    window.wait_for("retention.ms is no longer set on browser-topic")
    window.open("/topics")
    window.fill("Name contains", "browser-top")
    window.wait_for_path("/topics?q=browser-top&state=&internal=")
    window.wait_for("1 topic")
    window.check_page("topics")
    window.press("browser-topic")
    window.press("Delete this topic")
    button = window.find("form[action$='/delete'] button")
    assert not button.is_enabled(), "the name is not typed yet"
    window.fill("Type browser-topic to delete it", "browser-topic")
    window.press("Delete topic")
    window.wait_for("topic browser-topic is deleted")
