"""A schema registry, which is a small server here."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from odradek.cluster.schema_registry import SchemaRegistry
from odradek.terminal.errors import CommandError, WrongUsageError

FRAME = b"\x00\x00\x00\x00"
ANSWERS: dict[str, object] = {
    "/schemas/ids/1": {"schema": '"string"'},
    "/schemas/ids/2": {"schema": "{}", "schemaType": "JSON"},
    "/schemas/ids/3": {
        "schema": '{"type": "array", "items": "Name"}',
        "references": [{"name": "Name", "subject": "a/b", "version": 7}],
    },
    "/subjects/a%2Fb/versions/7": {"schema": '{"type": "enum", "name": "Name", "symbols": ["A", "B"]}'},
    "/schemas/ids/4": {"schema": "{}", "schemaType": "XML"},
    "/schemas/ids/5": ["no", "object"],
    "/schemas/ids/6": {"schema": "x", "references": [{"name": "x", "subject": "x", "version": 1}]},
    "/subjects/x/versions/1": {"schema": "x", "references": [{"name": "x", "subject": "x", "version": 1}]},
}


class Handler(BaseHTTPRequestHandler):
    """Answers what is in the table, and keeps what it was asked."""

    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        """Answer."""
        self.asked.append((self.path, self.headers["Authorization"]))
        known = self.path in ANSWERS
        body = json.dumps(ANSWERS.get(self.path, {"error_code": 40403})).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def asked() -> list[tuple[str, str | None]]:
    """Paths that were asked for, with the account."""
    return []


@pytest.fixture
def address(asked: list[tuple[str, str | None]]) -> Iterator[str]:
    """Where the registry is, as host and port."""
    handler = type("Asked", (Handler,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_values_by_their_schemas(address: str, asked: list[tuple[str, str | None]]) -> None:
    """A schema is asked for once, with what it refers to; what names none is left as it is."""
    registry = SchemaRegistry(f"http://{address}/")
    for _ in range(2):
        assert registry.decode(FRAME + b"\x01\x04hi", "the value") == (True, "hi")
        assert registry.decode(FRAME + b"\x02[1]", "the value") == (True, [1])
        assert registry.decode(FRAME + b"\x03\x02\x02\x00", "the value") == (True, ["B"])
        assert registry.decode(b"plain", "the key") == (False, None)
        assert registry.decode(None, "the key") == (False, None)
    assert asked == [
        ("/schemas/ids/1", None),
        ("/schemas/ids/2", None),
        ("/schemas/ids/3", None),
        ("/subjects/a%2Fb/versions/7", None),
    ]


def test_an_account_goes_with_the_question_and_into_no_error(address: str, asked: list[tuple[str, str | None]]) -> None:
    """User and password stand in the address."""
    registry = SchemaRegistry(f"http://me:s%40cret@{address}")
    with pytest.raises(CommandError) as refused:
        registry.decode(FRAME + b"\x09x", "the value of t[0]@5")
    assert str(refused.value) == f"the value of t[0]@5: schema 9 is not told by http://{address}: 404 Not Found"
    assert asked == [("/schemas/ids/9", "Basic bWU6c0BjcmV0")]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"\x01\x04h", "the value, of schema 1: it does not fit its Avro schema"),
        (b"\x04x", "schema 4 of http://.* cannot be used: XML is no kind of schema that is known here"),
        (b"\x05x", "does not answer as a schema registry; is --registry right"),
        (b"\x06x", "schema 6 of http://.* cannot be used: its references go too deep"),
    ],
)
def test_what_cannot_be_read(address: str, data: bytes, sentence: str) -> None:
    """One sentence says whose fault it is."""
    with pytest.raises(CommandError, match=sentence):
        SchemaRegistry(f"http://{address}").decode(FRAME + data, "the value")


def test_a_registry_that_is_not_there() -> None:
    """An address that is none is refused at once, one where nothing answers when it is asked."""
    for url in ("127.0.0.1:8081", "file:///etc/passwd", "http://"):
        with pytest.raises(WrongUsageError, match="--registry takes an address"):
            SchemaRegistry(url)
    with pytest.raises(CommandError, match=r"the registry at http://127.0.0.1:1 does not answer \("):
        SchemaRegistry("http://127.0.0.1:1").decode(FRAME + b"\x01x", "the value")
