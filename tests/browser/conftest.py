"""The browser and the console that these tests share, and what happens where there is no browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome

from tests.conftest import IN_CI
from tests.support.broker import BrokerProcess
from tests.support.browser import BrowserWindow, chromium
from tests.support.chromium import LEFT_OUT, are_there
from tests.support.console_process import console_process


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """The one browser of a worker."""
    if not are_there():
        if IN_CI:
            pytest.fail(LEFT_OUT)
        pytest.skip(LEFT_OUT)
    with chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture(scope="session")
def console_address(broker: BrokerProcess) -> Iterator[str]:
    """A running console of the shared broker, which may look into its logs."""
    with console_process(broker.bootstrap, ["--log-dir", str(broker.data)]) as address:
        yield address


@pytest.fixture
def window(driver: Chrome, console_address: str) -> Iterator[BrowserWindow]:
    """A browser window on the console; at the end, nothing may have been blocked and no script have failed."""
    driver.delete_all_cookies()
    opened = BrowserWindow(driver, console_address)
    opened.complaints()
    yield opened
    assert opened.complaints() == []
