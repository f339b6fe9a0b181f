"""A node without the package for metrics starts, unless it is to have them."""

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.servers.monitoring import start_monitor
from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings


def shared_of(*settings: str) -> Any:
    """Return of what a node shares what is looked at first."""
    return SimpleNamespace(loop=asyncio.get_running_loop(), settings=load_settings(None, settings))


async def test_nothing_is_measured_unless_it_is_asked_for() -> None:
    """Nor imported."""
    assert await start_monitor(shared_of()) is None


async def test_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And with the setting that needs it."""
    for name in [one for one in sys.modules if one.startswith("prometheus_client")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("odradek.broker.monitoring.monitor", "odradek.metrics.exposition"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigError, match=r"odradek\.http\.listener.*pip install 'odradek\[metrics\]'"):
        await start_monitor(shared_of("odradek.http.listener=127.0.0.1:0"))
