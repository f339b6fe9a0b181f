"""The command through a listener that speaks TLS: a proxy that puts it before a plain broker."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import BrokerFactory
from tests.integration.cli import Cli

TIMEOUT_S = 60


def _certificate(directory: Path, name: str) -> tuple[str, str]:
    """Make a certificate that vouches for itself, for 127.0.0.1; return the paths of it and of its key."""
    certificate, key = str(directory / f"{name}.pem"), str(directory / f"{name}.key")
    made_for = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
    subprocess.run([*command, *made_for], check=True, capture_output=True, timeout=TIMEOUT_S)
    return certificate, key


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, context: ssl.SSLContext, port: int) -> None:
    def one(plain: socket.socket) -> None:
        with (
            plain,
            suppress(OSError),
            context.wrap_socket(plain, server_side=True) as client,
            socket.create_connection(("127.0.0.1", port)) as broker,
        ):
            back = threading.Thread(target=_pump, args=(broker, client), daemon=True)
            back.start()
            _pump(client, broker)
            back.join(TIMEOUT_S)

    with suppress(OSError):
        while True:
            threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()


@pytest.fixture
def tls(new_broker: BrokerFactory, tmp_path: Path) -> Iterator[str]:
    """The address of a TLS listener before a broker; its certificate is `mine.pem` in `tmp_path`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*_certificate(tmp_path, "mine"))
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    broker = new_broker({"advertised.listeners": f"PLAINTEXT://{address}"})
    broker.start()
    threading.Thread(target=_serve, args=(listener, context, broker.port), daemon=True).start()
    yield address
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def _settings(directory: Path, **settings: str) -> str:
    path = directory / "client.properties"
    path.write_text("".join(f"{name.replace('_', '.')}={value}\n" for name, value in settings.items()))
    return str(path)


def test_settings_of_tls_reach_the_client(cli: Cli, tls: str, tmp_path: Path, topic: str) -> None:
    """With the right authority everything goes, also what goes over connections of our own."""
    there = (
        "-b",
        tls,
        "--command-config",
        _settings(tmp_path, security_protocol="SSL", ssl_ca_location=str(tmp_path / "mine.pem")),
    )
    assert cli("topics", "create", topic, *there).code == 0
    assert cli("produce", topic, *there, stdin=b"over TLS\n").code == 0
    assert cli("consume", topic, *there).lines == ["over TLS"]
    [described] = cli("topics", "describe", topic, "--json", *there).json["topics"]
    assert [each["size_bytes"] > 0 for each in described["partitions"]] == [True]


def test_what_does_not_fit(cli: Cli, tls: str, tmp_path: Path) -> None:
    """A foreign authority, a login that nobody asks for, and a plain client: one sentence each, with what to do."""
    other, _ = _certificate(tmp_path, "other")
    here = ("topics", "list", "-b", tls, "--command-config")
    foreign = cli(*here, _settings(tmp_path, security_protocol="SSL", ssl_ca_location=other))
    assert (foreign.code, foreign.error) == (
        1,
        f"odradek: the certificate of {tls} cannot be verified; set ssl.ca.location in --command-config to its "
        "authority's, and use the host name that it was made for\n",
    )
    login = {"sasl_mechanism": "PLAIN", "sasl_username": "me", "sasl_password": "secret"}
    mine = str(tmp_path / "mine.pem")
    refused = cli(*here, _settings(tmp_path, security_protocol="SASL_SSL", ssl_ca_location=mine, **login))
    assert (refused.code, refused.error.count("\n")) == (1, 1)
    assert refused.error.startswith(f"odradek: {tls} does not let us in (")
    assert refused.error.endswith("); check sasl.* in --command-config\n")
    plain = cli("topics", "list", "-b", tls)
    assert (plain.code, plain.error.count("\n")) == (1, 1)
    assert "does --command-config fit its listener?" in plain.error
