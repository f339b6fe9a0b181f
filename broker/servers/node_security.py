"""How connections to other nodes are protected: as their listeners are that they lead to."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from typing import TYPE_CHECKING

from odradek.broker.network.security import UNPROTECTED, NodeSecurity
from odradek.broker.runtime.disk_threads import Threads
from odradek.config.listeners import uses_sasl, uses_tls
from odradek.config.settings import BrokerSettings

if TYPE_CHECKING:
    from odradek.broker.servers.tls import LiveContext, NodeTls


class NodeSecurities:
    """The protection of connections to brokers and to controllers."""

    def __init__(
        self, loop: AbstractEventLoop, settings: BrokerSettings, threads: Threads, login_threads: Threads
    ) -> None:
        """Handshakes are done on `threads`, tokens made on `login_threads`."""
        self._login_threads = login_threads
        self._loop = loop
        self._settings = settings
        self._threads = threads
        self._tls: dict[str, NodeTls] = {}
        """By the name of the listener."""

    @property
    def contexts(self) -> list[LiveContext]:
        """What follows settings and files."""
        return [tls.live for tls in self._tls.values()]

    def to_brokers(self) -> NodeSecurity:
        """Return that of connections to the listener of inter.broker.listener.name; raises ConfigError where it cannot
        be had."""
        name = self._settings.inter_broker_listener_name
        protocol = next((one.protocol for one in self._settings.listeners if one.name == name), "PLAINTEXT")
        return self._to(name, protocol, "sasl.mechanism.inter.broker.protocol")

    def to_controllers(self) -> NodeSecurity:
        """Return that of connections to the first of controller.listener.names; likewise."""
        names = self._settings.quorum.controller_listener_names
        if not names:
            return UNPROTECTED
        return self._to(names[0], self._settings.controller_protocol, "sasl.mechanism.controller.protocol")

    def _to(self, name: str, protocol: str, mechanism_key: str) -> NodeSecurity:
        security = UNPROTECTED
        if uses_tls(protocol):
            security = security._replace(open=self._tls_to(name, protocol).open)
        if uses_sasl(protocol):
            from odradek.broker.servers.sasl_login import login_parts

            parts = login_parts(self._settings.of_listener(name), mechanism_key, self._loop, self._login_threads)
            security = security._replace(login=parts)
        return security

    def _tls_to(self, name: str, protocol: str) -> NodeTls:
        from odradek.broker.network.tls_handshake import HandshakeServices
        from odradek.broker.servers.tls import NodeTls

        if name not in self._tls:
            self._tls[name] = NodeTls(name, protocol, self._settings, HandshakeServices(self._loop, self._threads))
        return self._tls[name]
