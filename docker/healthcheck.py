"""Succeeds if the broker answers the first request that every Kafka client sends: ApiVersions, version 0.

Where it listens, it has written itself (`odradek serve --container`): a protocol, a host and a port in each line. The
first listener without TLS is asked, else the first one, where a finished handshake is as good as an answer. A port may
be given instead.
"""

import os
import socket
import ssl
import sys

LISTENERS = "/tmp/odradek-listeners"  # noqa: S108  a container of its own
# Size, api key 18, version 0, correlation id 1, no client id.
REQUEST = bytes.fromhex("0000000a 0012 0000 00000001 ffff")
TIMEOUT_S = 2
HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  asked, not listened on


def find_listener(path: str) -> tuple[str, str, int]:
    """Return protocol, host and port of the listener to ask."""
    try:
        with open(path) as file:
            lines = [line.split() for line in file.read(65536).splitlines()]
    except OSError:
        return "PLAINTEXT", "127.0.0.1", 9092
    found = sorted((line for line in lines if len(line) == 3), key=lambda line: line[0].endswith("SSL"))
    protocol, host, port = found[0]
    return protocol, HERE.get(host, host), int(port)


def is_healthy(protocol: str, host: str, port: int) -> bool:
    """Ask for the API versions. Raises OSError where nobody answers."""
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection:
        if not protocol.endswith("SSL"):
            return answers(connection)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(connection) as encrypted:
            try:
                return answers(encrypted)
            except ssl.SSLError:
                return True  # it asks for a certificate, and is there


def answers(connection: socket.socket) -> bool:
    """Whether a whole answer comes."""
    with connection.makefile("rb") as answer:
        connection.sendall(REQUEST)
        size = int.from_bytes(answer.read(4), "big")
        return size > 0 and len(answer.read(size)) == size


if __name__ == "__main__":
    given = sys.argv[1:]
    wanted = ("PLAINTEXT", "127.0.0.1", int(given[0])) if given else None
    file = os.environ.get("ODRADEK_LISTENERS_FILE", LISTENERS)
    sys.exit(0 if is_healthy(*(wanted or find_listener(file))) else 1)
