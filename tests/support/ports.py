"""Free ports for processes that cannot pick one themselves."""

import os
import random
import socket

# Below the range that Linux gives to outgoing connections, so that none of those takes the port before it is bound.
LOWEST, HIGHEST = 20_001, 32_000
WORKERS = 8
"""As many workers of a test run have ports of their own: seconds go by before a process binds what it was given, and
one that was killed comes back to its own."""

_given: set[int] = set()


def ports_of(worker: str) -> range:
    """Return what a worker of pytest-xdist may give out ("gw0"); who is no worker, all."""
    number = worker.removeprefix("gw")
    if not number.isdecimal():
        return range(LOWEST, HIGHEST + 1)
    share = (HIGHEST + 1 - LOWEST) // WORKERS
    first = LOWEST + int(number) % WORKERS * share
    return range(first, first + share)


def free_ports(count: int) -> list[int]:
    """Return `count` ports on 127.0.0.1 that were free a moment ago, and that nobody was given before."""
    source = random.SystemRandom()  # not seeded by the test run: two runs must not pick the same ports
    mine = ports_of(os.environ.get("PYTEST_XDIST_WORKER", ""))
    if len(_given) > len(mine) // 2:
        _given.clear()  # in the order of hours; what was given first is not in use any more
    ports: list[int] = []
    while len(ports) < count:
        port = source.choice(mine)
        if port in _given:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        ports.append(port)
    return ports
