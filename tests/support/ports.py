"""Free ports for processes that cannot pick one themselves."""

import random
import socket

# Below the range that Linux gives to outgoing connections, so that none of those takes the port before it is bound.
LOWEST, HIGHEST = 20_001, 32_000


def free_ports(count: int) -> list[int]:
    """Return `count` ports on 127.0.0.1 that were free a moment ago."""
    source = random.SystemRandom()  # not seeded by the test run: two workers must not pick the same ports
    ports: list[int] = []
    while len(ports) < count:
        port = source.randint(LOWEST, HIGHEST)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports
