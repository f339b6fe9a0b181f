"""How a broker tells a console of itself."""

from __future__ import annotations

import pytest

from odradek.broker.console_process import check_console, console_arguments
from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings


def test_console_is_told_how_to_reach_the_broker() -> None:
    """It gets the plain listener with its real port, the log directories, and where the metrics are."""
    settings = load_settings(
        None,
        [
            "listeners=SSL://:0,PLAINTEXT://0.0.0.0:0",
            "inter.broker.listener.name=PLAINTEXT",
            "log.dirs=/tmp/a,/tmp/b",
            "odradek.http.listener=[::1]:9404",
        ],
    )
    assert console_arguments(settings, [1111, 2222], "127.0.0.1:8090") == [
        *("--bootstrap-server", "127.0.0.1:2222", "--listen", "127.0.0.1:8090", "--stop-with-stdin"),
        *("--log-dir", "/tmp/a", "--log-dir", "/tmp/b", "--metrics", "http://[::1]:9404/metrics"),
    ]


def test_console_needs_a_plain_listener() -> None:
    """A node that only lets in who logs in or encrypts says what to do instead."""
    settings = load_settings(None, ["listeners=SSL://127.0.0.1:0", "security.inter.broker.protocol=SSL"])
    with pytest.raises(ConfigError, match="run `odradek console --command-config FILE` beside it"):
        check_console(settings)
