"""A server that speaks S3, in the process of a test."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

BUCKET = "archives"
KEYS = {"access-key-id": "test", "secret-access-key": "test", "region": "us-east-1"}


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """Run a server with one empty bucket on a free port; gives the options of --storage for it."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        _request(host, port, "POST", "/moto-api/reset")
        _request(host, port, "PUT", f"/{BUCKET}")
        yield {"endpoint": f"http://{host}:{port}", **KEYS}
    finally:
        server.stop()


def _request(host: str, port: int, method: str, path: str) -> None:
    connection = HTTPConnection(host, port, timeout=30)
    try:
        connection.request(method, path, headers={"Content-Length": "0"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
    finally:
        connection.close()
