"""The HTTP port: what is answered, and what a stranger may cost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from http import HTTPStatus

import pytest

from odradek.metrics import http
from odradek.metrics.http import HEAD_BYTES, MOST_CONNECTIONS, PIECE_BYTES, Answer, HttpServer, PageRequest

LARGE = bytes(range(256)) * (5 * PIECE_BYTES // 256) + b"end"


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close the connection."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


class Pages:
    """Pages of a test, and what was asked and went wrong."""

    def __init__(self) -> None:
        self.asked: list[PageRequest] = []
        self.failed: list[str] = []
        self.port = 0

    async def there(self, request: PageRequest) -> Answer:
        """Answer with two lines."""
        self.asked.append(request)
        return Answer(HTTPStatus.OK, b"one\ntwo\n")

    async def large(self, _request: PageRequest) -> Answer:
        """Answer with more than is sent at once."""
        return Answer(HTTPStatus.OK, LARGE)

    async def broken(self, _request: PageRequest) -> Answer:
        """Fail."""
        raise RuntimeError("a bug")

    async def ask(self, text: str) -> bytes:
        """Send a request, and return all that comes back until the connection ends."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text.encode())
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""  # what was not read has TCP say so
        finally:
            await closed(writer)


@pytest.fixture
async def pages() -> AsyncIterator[Pages]:
    """A server with two pages."""
    found = Pages()
    routes = {"/there": found.there, "/large": found.large, "/broken": found.broken}
    server = HttpServer(routes, lambda path, failed: found.failed.append(f"{path}: {failed}"))
    found.port = await server.start("127.0.0.1", 0)
    yield found
    await server.stop()


async def test_page_is_given_with_its_length_and_the_connection_ends(pages: Pages) -> None:
    """The query is no part of the path; what the client accepts is told to the page."""
    answer = await pages.ask("GET /there?a=b HTTP/1.1\r\nHost: x\r\naccept: text/plain\r\nAccept: a/b\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 8" in head
    assert b"Connection: close" in head
    assert body == b"one\ntwo\n"
    assert pages.asked == [PageRequest("/there", "text/plain, a/b")]


async def test_head_is_answered_without_the_body(pages: Pages) -> None:
    """With the length that the page has."""
    answer = await pages.ask("HEAD /there HTTP/1.1\r\n\r\n")
    assert answer.endswith(b"\r\n\r\n")
    assert b"Content-Length: 8" in answer


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("GET /other HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("POST /there HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        ("nonsense\r\n\r\n", "400 Bad Request"),
        ("GET /there SMTP\r\n\r\n", "400 Bad Request"),
        ("\x16\x03\x01\x02\x00\r\n\r\n", "400 Bad Request"),
        (f"GET /there HTTP/1.1\r\nA: {'x' * HEAD_BYTES}\r\n\r\n", "431 Request Header Fields Too Large"),
        (f"GET /{'x' * 4 * HEAD_BYTES}", "431 Request Header Fields Too Large"),
    ],
)
async def test_what_is_no_request_for_a_page_is_refused(pages: Pages, text: str, status: str) -> None:
    """Nothing reaches the pages."""
    assert (await pages.ask(text)).startswith(f"HTTP/1.1 {status}\r\n".encode())
    assert not pages.asked


async def test_page_that_fails_is_told_of_and_answered(pages: Pages) -> None:
    """Others go on; whoever asked does not learn what is wrong."""
    assert (await pages.ask("GET /broken HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 500 ")
    assert pages.failed == ["/broken: a bug"]
    assert (await pages.ask("GET /there HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200 ")


async def test_slow_request_is_given_up(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever dribbles holds a place for so long only."""
    monkeypatch.setattr(http, "HEAD_S", 0.02)
    assert (await pages.ask("GET /there HT")).startswith(b"HTTP/1.1 408 ")


async def test_more_connections_than_there_may_be_are_closed(pages: Pages) -> None:
    """And there is a place again once one has ended."""
    waiting = [await asyncio.open_connection("127.0.0.1", pages.port) for _ in range(MOST_CONNECTIONS)]
    for _, writer in waiting:
        writer.write(b"GET /there HT")
    assert await pages.ask("GET /there HTTP/1.1\r\n\r\n") == b""
    for reader, writer in waiting:
        writer.write(b"TP/1.1\r\n\r\n")
        assert b"200 OK" in await reader.read()
        await closed(writer)
    assert (await pages.ask("GET /there HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200 ")


async def test_large_answer_arrives_whole() -> None:
    """It is more than a socket takes at once."""

    async def large(_request: PageRequest) -> Answer:
        return Answer(HTTPStatus.OK, bytes(8_000_000))

    server = HttpServer({"/": large}, lambda *_: None)
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    answer = await reader.read()
    assert len(answer.partition(b"\r\n\r\n")[2]) == 8_000_000
    await closed(writer)
    await server.stop()


async def test_stop_waits_for_nobody() -> None:
    """Connections that are open are closed."""
    server = HttpServer({}, lambda *_: None)
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET")
    await asyncio.sleep(0)
    await server.stop()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)
    await closed(writer)
    assert reader is not None


async def test_a_large_answer_comes_whole(pages: Pages) -> None:
    """It is sent in pieces."""
    head, _, body = (await pages.ask("GET /large HTTP/1.1\r\n\r\n")).partition(b"\r\n\r\n")
    assert f"Content-Length: {len(LARGE)}".encode() in head
    assert body == LARGE
