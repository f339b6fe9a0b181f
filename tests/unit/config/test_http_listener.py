"""Where the port for metrics is."""

import pytest

from odradek.config.errors import ConfigError
from odradek.config.http_listener import HttpListener, parse_http_listener
from odradek.config.loading import load_settings


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9404", "127.0.0.1", 9404),
        (":9404", "", 9404),
        ("[::1]:0", "::1", 0),
        (" metrics.local:65535 ", "metrics.local", 65535),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    """A host, or none for every interface, and a port."""
    assert parse_http_listener(text) == HttpListener(host, port)


@pytest.mark.parametrize(
    "text", ["9404", "", "::1:9404", "a:b", "a:65536", "a:-1", "http://a:1", "a b:1", "a:９", "[a:1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match="expected host:port"):
        parse_http_listener(text)


def test_setting_is_read_and_known() -> None:
    """Not set, there is none."""
    assert load_settings(None, []).http_listener is None
    settings = load_settings(None, ["odradek.http.listener=127.0.0.1:0"])
    assert settings.http_listener == ("127.0.0.1", 0)
    assert settings.warnings == ()
    with pytest.raises(ConfigError, match=r"odradek\.http\.listener"):
        load_settings(None, ["odradek.http.listener=nowhere"])
