"""A browser as a person uses it: finds things by what stands on them. Chromium, driven by its driver, without a window.

`check_page` has axe-core look for what keeps people out: contrast, labels, names, order. Each page that is looked at
leaves a picture in build/screenshots.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.support.broker import REPOSITORY
from tests.support.waiting import eventually

SCREENSHOTS = REPOSITORY / "build" / "screenshots"
AXE = REPOSITORY / "tests" / "data" / "axe" / "axe.min.js"
WAIT_S = 60
WIDE, NARROW = (1200, 900), (360, 740)
_AXE_CALL = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"], ...arguments[0]}).then(
  found => done(found.violations.map(one => [one.id, one.help, one.nodes.map(node => node.html.slice(0, 300))])),
  failed => done([["axe itself", String(failed), []]]));
"""
_LEFT = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


class BrowserWindow:
    """One window. Methods that look for something wait until it is there."""

    def __init__(self, driver: Chrome, address: str) -> None:
        self.driver = driver
        self.address = address

    def open(self, path: str) -> None:
        """Go to a page of the console."""
        self.driver.get(self.address + path)

    @property
    def path(self) -> str:
        """Where the window is, without the console's address."""
        return str(self.driver.current_url).removeprefix(self.address)

    @property
    def text(self) -> str:
        """What stands on the page."""
        return self.find("body").text

    def find(self, selector: str) -> WebElement:
        """Return what a CSS selector finds."""
        found: list[WebElement] = []

        def look() -> bool:
            found[:] = self.driver.find_elements(By.CSS_SELECTOR, selector)
            return bool(found)

        eventually(look, f"{selector} on {self.path}", WAIT_S)
        return found[0]

    def wait_for(self, text: str) -> None:
        """Return when this stands on the page."""

        def is_there() -> bool:
            try:
                return text in self.driver.find_element(By.TAG_NAME, "body").text
            except WebDriverException:
                return False  # between two pages

        try:
            eventually(is_there, f"{text!r} on {self.path}", WAIT_S)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.text}") from None

    def wait_for_path(self, path: str) -> None:
        """Return when the window is there."""
        eventually(lambda: self.path == path, f"{path}, from {self.path}", WAIT_S)

    def fill(self, label: str, text: str) -> None:
        """Type into the field with this label, in place of what is there."""
        field = self.field(label)
        field.clear()
        field.send_keys(text)

    def field(self, label: str) -> WebElement:
        """Return the field with this label."""
        [element] = self.driver.find_elements(By.XPATH, f"//label[normalize-space()={_quoted(label)}]")
        return self.driver.find_element(By.ID, str(element.get_attribute("for")))

    def press(self, name: str) -> None:
        """Press the button, or follow the link, with this on it."""
        quoted = _quoted(name)
        path = " | ".join(f"//{kind}[normalize-space()={quoted}]" for kind in ("button", "a", "summary"))
        found: list[WebElement] = []

        def look() -> bool:
            found[:] = [each for each in self.driver.find_elements(By.XPATH, path) if each.is_displayed()]
            return bool(found)

        eventually(look, f"{name!r} on {self.path}", WAIT_S)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found[0])
        found[0].click()

    def resize(self, size: tuple[int, int]) -> None:
        """Make the page so many pixels wide and high, as on a telephone where it is narrow."""
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer_dark(self, wanted: bool) -> None:
        """Let pages be dark, or light."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def check_page(self, name: str) -> None:
        """Hold the page against axe-core, wide and light, then its contrast narrow and dark; take pictures.

        AssertionError for what axe-core finds, and where the narrow page has to be pushed sideways.
        """
        problems: list[Any] = []
        self.driver.execute_script(AXE.read_text())
        for size, is_dark, kind in ((WIDE, False, "wide"), (NARROW, True, "narrow")):
            self.resize(size)
            self.prefer_dark(is_dark)
            only = {"runOnly": ["color-contrast", "target-size"]} if is_dark else {}
            problems += self.driver.execute_async_script(_AXE_CALL, only)
            self.picture(f"{name}-{kind}")
            over = self.driver.execute_script(_LEFT)
            if over > 0:
                problems.append(f"{kind}: the page is {over} pixels wider than the window")
        self.resize(WIDE)
        self.prefer_dark(False)
        assert problems == [], f"{self.path}: {problems}"

    def picture(self, name: str) -> Path:
        """Leave a picture of the page in build/screenshots."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.driver.save_screenshot(str(path))
        return path

    def download(self, name: str, directory: Path) -> bytes:
        """Press what has this on it, and return the one file that the browser then leaves in an empty directory."""
        behavior = {"behavior": "allow", "downloadPath": str(directory)}
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
        self.press(name)

        def is_whole() -> bool:
            found = [each.name for each in directory.iterdir()]
            return bool(found) and not any(each.startswith(".") or each.endswith(".crdownload") for each in found)

        eventually(is_whole, f"a file after {name!r} on {self.path}", WAIT_S)
        [file] = directory.iterdir()
        return file.read_bytes()

    def complaints(self) -> list[str]:
        """Return what the browser logged since the last time: blocked by the policy, failed scripts."""
        return [str(each["message"]) for each in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]


@contextmanager
def chromium(directory: Path) -> Iterator[Chrome]:
    """Run a Chromium that keeps its things in this directory."""
    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in (
        "--headless=new",
        "--no-sandbox",  # tests may run as root
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--no-proxy-server",
        f"--user-data-dir={directory}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options, ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


@functools.cache
def _quoted(text: str) -> str:
    """Return a text as XPath writes it."""
    assert '"' not in text
    return f'"{text}"'
