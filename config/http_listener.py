"""The HTTP port for metrics and probes (`odradek.http.listener`)."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.config.errors import ConfigError
from odradek.config.own_keys import HTTP_LISTENER


class HttpListener(NamedTuple):
    """Where it is opened: a host, empty for every interface, and a port, 0 for any that is free."""

    host: str
    port: int


def parse_http_listener(text: str) -> HttpListener:
    """Return what `127.0.0.1:9404`, `[::1]:9404` or `:9404` says.

    Raises:
        ValueError: it is no address; the message says what was expected.
    """
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    right = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 0xFFFF
    if not colon or not right or (":" in host) is not bracketed or any(one.isspace() or one in "/@[]" for one in host):
        raise ValueError("expected host:port, such as 127.0.0.1:9404, [::1]:9404, or :9404 for every interface")
    return HttpListener(host, int(port))


def read_http_listener(values: Mapping[str, str], origins: Mapping[str, str]) -> HttpListener | None:
    """Return where the port is to be; None: there is none.

    Raises:
        ConfigError: it is no address.
    """
    text = values.get(HTTP_LISTENER, "").strip()
    if not text:
        return None
    try:
        return parse_http_listener(text)
    except ValueError as wrong:
        raise ConfigError(str(wrong), key=HTTP_LISTENER, value=text, origin=origins.get(HTTP_LISTENER)) from None
