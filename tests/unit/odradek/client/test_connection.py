"""What a client makes of answers that no broker gives."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.client.connection import BrokerConnection
from odradek.client.errors import ClientError, ConnectionLostError, UnusableAnswerError
from odradek.protocol.codec import encode
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from odradek.protocol.registry import ApiKey
from pyspark_odradek.client.settings import cluster_options
from tests.conftest import IN_CI
from tests.support.ports import free_ports


@contextmanager
def broker(answer: Callable[[bytes], bytes], tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, int]]:
    """A server that takes one request, sends what `answer` makes of its header, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            plain, _ = listener.accept()
            try:
                connection = plain if tls is None else tls.wrap_socket(plain, server_side=True)
            except OSError:
                plain.close()
                return
            with connection:
                connection.sendall(answer(connection.recv(65536)))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            thread.join()


def ask(
    answer: Callable[[bytes], bytes], ours: ssl.SSLContext | None = None, theirs: ssl.SSLContext | None = None
) -> MetadataResponse:
    """Ask a broker that answers so for metadata."""
    with broker(answer, theirs) as address:
        connection = BrokerConnection(address, "test", 5, ours)
        try:
            return connection.call(ApiKey.METADATA, 7, MetadataRequest(topics=[]), MetadataResponse, limit=10_000)
        finally:
            connection.close()


def frame(correlation_id: int, body: bytes) -> bytes:
    """Return an answer as it goes over the wire."""
    return pack(">ii", 4 + len(body), correlation_id) + body


def test_an_answer_is_understood() -> None:
    """The answer to the request comes back as a message."""
    expected = MetadataResponse(cluster_id="c", brokers=[], topics=[])
    found = ask(lambda _: frame(1, encode(expected, 7)))
    assert found.cluster_id == "c"


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (b"", ConnectionLostError, "closed by the broker"),
        (b"\x00\x00", ConnectionLostError, "closed by the broker"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", UnusableAnswerError, "is no Kafka broker"),
        (pack(">i", -1), UnusableAnswerError, "is no Kafka broker"),
        (pack(">i", 2**31 - 1), UnusableAnswerError, "is no Kafka broker"),
        (pack(">i", 0), UnusableAnswerError, "is no Kafka broker"),
        (pack(">i", 100) + b"short", ConnectionLostError, "closed by the broker"),
        (frame(2, b""), UnusableAnswerError, "answers request 2 instead of 1"),
        (frame(1, b"\x7f" * 100), UnusableAnswerError, "cannot be read"),
        (frame(1, b""), UnusableAnswerError, "cannot be read"),
    ],
)
def test_hostile_answers_are_errors(answer: bytes, error: type[ClientError], said: str) -> None:
    """Whatever answers, the reader gets one kind of error with a sentence in it."""
    with pytest.raises(error, match=said):
        ask(lambda _: answer)


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=200))
def test_noise_is_an_error(noise: bytes) -> None:
    """Bytes that are no answer never come out as anything but a ClientError, or as an answer that they are."""
    with suppress(ClientError):
        ask(lambda _: frame(1, noise))


@pytest.mark.skipif(shutil.which("openssl") is None and not IN_CI, reason="needs openssl to make a certificate")
def test_tls(tmp_path: Path) -> None:
    """Over TLS a broker must prove who it is; who it is called may be left unproved."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key, "-out", certificate]
    subprocess.run(
        ["openssl", *made, "-subj", "/CN=other", "-addext", "subjectAltName=DNS:other"], check=True, capture_output=True
    )
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificate, key)
    settings = {"bootstrap.servers": "x:1", "security.protocol": "SSL"}

    def asked(**options: str) -> str | None:
        named = {name.replace("_", "."): value for name, value in options.items()}
        ours = cluster_options(settings | named, 1).tls
        return ask(lambda _: frame(1, encode(MetadataResponse(cluster_id="c"), 7)), ours, theirs).cluster_id

    unnamed = {"ssl_endpoint_identification_algorithm": ""}
    assert asked(ssl_ca_location=certificate, **unnamed) == "c"
    assert asked(ssl_truststore_location=certificate, ssl_truststore_type="PEM", **unnamed) == "c"
    with pytest.raises(UnusableAnswerError, match=r"does not prove who it is: IP address mismatch"):
        asked(ssl_ca_location=certificate)
    with pytest.raises(UnusableAnswerError, match="does not prove who it is: self"):
        asked(**unnamed)


def test_nobody_there() -> None:
    """The address that does not answer is named, and what to look at."""
    (port,) = free_ports(1)
    with pytest.raises(
        ConnectionLostError, match=f"no connection to the broker at 127.0.0.1:{port}: .*see that it runs"
    ):
        BrokerConnection(("127.0.0.1", port), "test", 1)


def test_memory_is_given_for_what_arrives() -> None:
    """An answer that only says it is large takes no memory; one that is large is read whole."""
    buffer = bytearray()
    with broker(lambda _: pack(">i", 90_000_000) + bytes(100_000)) as address:
        connection = BrokerConnection(address, "test", 5)
        connection.send(ApiKey.METADATA, 7, MetadataRequest(topics=[]))
        with pytest.raises(ConnectionLostError):
            connection.receive(MetadataResponse, limit=100_000_000, buffer=buffer)
        connection.close()
    assert len(buffer) < 1_000_000
    expected = MetadataResponse(cluster_id="c" * 30_000, brokers=[], topics=[], controller_id=1)
    expected.brokers = [MetadataResponseBroker(node_id=node, host="h" * 100, port=1) for node in range(5000)]
    with broker(lambda _: frame(1, encode(expected, 7))) as address:
        connection = BrokerConnection(address, "test", 5)
        connection.send(ApiKey.METADATA, 7, MetadataRequest(topics=[]))
        assert connection.receive(MetadataResponse, buffer=buffer) == expected
        connection.close()
