"""The browser and the console that these tests share, and what happens where there is no browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium.webdriver import Chrome

from tests.conftest import IN_CI
from tests.support.broker import BrokerProcess, OdradekProcess
from tests.support.browser import BrowserWindow, chromium
from tests.support.chromium import LEFT_OUT, are_there
from tests.support.console_process import console_process

TOKEN = "a token of these tests"
"""What visitors of the guarded console log in with."""


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


@pytest.fixture(scope="session")
def guarded_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running console that asks for a token, of a broker that has an authorizer."""
    directory = tmp_path_factory.mktemp("guarded")
    (directory / "token").write_text(TOKEN)
    overrides = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    broker = OdradekProcess(directory / "broker", overrides)
    try:
        broker.start()
        with console_process(broker.bootstrap, ["--token-file", str(directory / "token")]) as address:
            yield address
    finally:
        broker.discard()


@contextmanager
def opened_window(driver: Chrome, address: str) -> Iterator[BrowserWindow]:
    """Look at a console; at the end, nothing may have been blocked and no script have failed."""
    driver.delete_all_cookies()
    opened = BrowserWindow(driver, address)
    opened.complaints()
    yield opened
    assert opened.complaints() == []


@pytest.fixture
def window(driver: Chrome, console_address: str) -> Iterator[BrowserWindow]:
    """A browser window on the console of the shared broker."""
    with opened_window(driver, console_address) as opened:
        yield opened


@pytest.fixture
def guarded_window(driver: Chrome, guarded_address: str) -> Iterator[BrowserWindow]:
    """A browser window on the console that asks for a token; nobody is logged in."""
    with opened_window(driver, guarded_address) as opened:
        yield opened
