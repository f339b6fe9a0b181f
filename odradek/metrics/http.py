"""A small HTTP server for pages that machines look at: GET and HEAD, one request for each connection.

Owns: what a stranger may cost: so many connections at a time, so many bytes of a request, so much time for it and for
taking the answer. Must not know: what the pages say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final, NamedTuple

HEAD_BYTES: Final = 8 * 1024
"""Most that the head of a request may have."""
HEAD_S: Final = 5.0
"""How long a client may take for it."""
SEND_S: Final = 30.0
"""How long it may take for reading the answer, which has some megabytes where there are many partitions."""
PIECE_BYTES: Final = 256 * 1024
"""So much of an answer is sent in a turn of the event loop."""
MOST_CONNECTIONS: Final = 16
PLAIN: Final = "text/plain; charset=utf-8"


class PageRequest(NamedTuple):
    """What was asked, as far as a page wants to know."""

    path: str
    accept: str


class Answer(NamedTuple):
    """What is answered."""

    status: HTTPStatus
    body: bytes
    content_type: str = PLAIN


Page = Callable[[PageRequest], Awaitable[Answer]]


class HttpServer:
    """Pages by path."""

    def __init__(self, pages: Mapping[str, Page], on_error: Callable[[str, Exception], object]) -> None:
        """`on_error` is told of a path whose page has failed, and why."""
        self._pages = pages
        self._on_error = on_error
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Open the port, on every interface where the host is empty; return the port, which 0 leaves open.

        Raises:
            OSError: it cannot be opened.
        """
        self._server = await asyncio.start_server(self._serve, host or None, port, limit=HEAD_BYTES)
        opened: int = self._server.sockets[0].getsockname()[1]
        return opened

    async def stop(self) -> None:
        """Close the port, and all connections."""
        if self._server is None:
            return
        self._server.close()
        for task in list(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        is_too_many = len(self._connections) >= MOST_CONNECTIONS
        self._connections.add(task)
        try:
            if not is_too_many:
                await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # whoever asked is gone, or too slow to be answered
        except asyncio.CancelledError:
            writer.transport.abort()  # the server stops, which does not wait for clients
        finally:
            self._connections.discard(task)
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            method, answer = "GET", _refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        except TimeoutError:
            method, answer = "GET", _refusal(HTTPStatus.REQUEST_TIMEOUT)
        else:
            method, answer = await self._answer_to(head.decode("latin-1"))
        writer.transport.set_write_buffer_limits(0)  # so that all of it is sent, or the time is up
        async with asyncio.timeout(SEND_S):
            writer.write(_head_of(answer))
            await writer.drain()
            body = memoryview(answer.body if method != "HEAD" else b"")
            for start in range(0, len(body), PIECE_BYTES):
                writer.write(body[start : start + PIECE_BYTES])
                await writer.drain()

    async def _answer_to(self, head: str) -> tuple[str, Answer]:
        first, *lines = head.split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return "GET", _refusal(HTTPStatus.BAD_REQUEST)
        method, path = words[0], words[1].partition("?")[0]
        if method not in ("GET", "HEAD"):
            return method, _refusal(HTTPStatus.METHOD_NOT_ALLOWED)
        page = self._pages.get(path)
        if page is None:
            there = ", ".join(self._pages)
            return method, Answer(HTTPStatus.NOT_FOUND, f"there is nothing here; there is {there}\n".encode())
        headers = (line.partition(":") for line in lines)
        accepted = [value.strip() for name, _, value in headers if name.lower() == "accept"]
        try:
            return method, await page(PageRequest(path, ", ".join(accepted)))
        except Exception as failed:  # noqa: BLE001 - a page that fails must not end the process, nor be silent
            self._on_error(path, failed)
            return method, _refusal(HTTPStatus.INTERNAL_SERVER_ERROR)


def _refusal(status: HTTPStatus) -> Answer:
    return Answer(status, f"{status.phrase}\n".encode())


def _head_of(answer: Answer) -> bytes:
    status, body, content_type = answer
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        lines.append("Allow: GET, HEAD")
    return "\r\n".join((*lines, "", "")).encode("latin-1")
