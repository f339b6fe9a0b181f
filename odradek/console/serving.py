"""The process of the console: a port, uvicorn on it, and an orderly end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from odradek.terminal.errors import CommandError

CONNECTIONS = 200
END_S = 2
"""How long pages that are being made, and live tails, may go on after Ctrl-C."""


def serve(app: Starlette, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is told the port. CommandError where the port cannot be had."""
    listener = _listen(host, port)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=END_S,
    )
    ready(listener.getsockname()[1])
    try:
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
    except KeyboardInterrupt:
        pass  # raised again by uvicorn once it has ended in order
    finally:
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(address, family=family, backlog=100)
    except OSError as failed:
        raise CommandError(f"--listen {host}:{port}: {failed.strerror or failed}") from failed
