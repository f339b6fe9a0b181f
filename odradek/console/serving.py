"""The process of the console: a port, uvicorn on it, and an orderly end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from odradek.config.bind_errors import why_not_opened
from odradek.terminal.errors import CommandError

CONNECTIONS = 200
STDIN = 0
END_S = 2
"""How long pages that are being made, and live tails, may go on after Ctrl-C."""


def serve(
    app: Starlette, host: str, port: int, ready: Callable[[int], None], *, stops_with_stdin: bool = False
) -> None:
    """Serve until SIGINT, SIGTERM or, if asked to, the end of standard input; `ready` is told the port.

    CommandError where the port cannot be had.
    """
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
    server = uvicorn.Server(config)

    async def run() -> None:
        if stops_with_stdin:
            _on_end_of_stdin(lambda: setattr(server, "should_exit", True))
        await server.serve(sockets=[listener])

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        pass  # raised again by uvicorn once it has ended in order
    finally:
        listener.close()


def _on_end_of_stdin(end: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(STDIN, 4096):  # what comes otherwise is for nobody
            loop.remove_reader(STDIN)
            end()

    loop.add_reader(STDIN, read)


def _listen(host: str, port: int) -> socket.socket:
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(address, family=family, backlog=100)
    except OSError as failed:
        raise CommandError(f"--listen {host}:{port}: {why_not_opened(failed)}") from failed
