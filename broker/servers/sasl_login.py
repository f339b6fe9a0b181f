"""How connections of this node to others log in, from the settings of the listener that they lead to."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from typing import Final

from odradek.broker.network.node_login import LoginParts
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.runtime.disk_threads import Threads
from odradek.broker.runtime.logging import get_logger
from odradek.config.listener_keys import ListenerConfigReader
from odradek.config.sasl import read_login
from odradek.protocol.sasl import ClientExchange, exchange_of

log = get_logger("authentication")

SAY_AGAIN_S: Final = 60.0
"""How often a refusal is told that goes on: it is tried again several times a second."""


def login_parts(read: ListenerConfigReader, key: str, loop: AbstractEventLoop, threads: Threads) -> LoginParts:
    """Return how to log in by the mechanism that `key` has; raises ConfigError where that cannot be."""
    login = read_login(read, key)
    said: dict[NodeAddress, float] = {}

    def begin() -> ClientExchange:
        exchange = exchange_of(login.mechanism, login.username, login.password)
        assert exchange is not None, "it is one of those that go by a name and a password"
        return exchange

    def refused(address: NodeAddress, reason: str) -> None:
        now = loop.time()
        if now - said.get(address, -SAY_AGAIN_S) >= SAY_AGAIN_S:
            said[address] = now
            log.error(
                "another node does not let this one in; trying on",
                node=str(address),
                user=login.username,
                mechanism=login.mechanism,
                reason=reason,
            )

    return LoginParts(begin, threads, refused)
