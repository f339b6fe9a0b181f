"""Succeeds if the broker answers the first request that every Kafka client sends: ApiVersions, version 0."""

import socket
import sys

# Size, api key 18, version 0, correlation id 1, no client id.
REQUEST = bytes.fromhex("0000000a 0012 0000 00000001 ffff")

port = int(sys.argv[1]) if len(sys.argv) > 1 else 9092
with socket.create_connection(("127.0.0.1", port), timeout=2) as connection, connection.makefile("rb") as answer:
    connection.sendall(REQUEST)
    size = int.from_bytes(answer.read(4), "big")
    sys.exit(0 if size and len(answer.read(size)) == size else 1)
