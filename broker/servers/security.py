"""How each listener of a role is protected, from its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.network.security import PLAINTEXT, ListenerSecurity
from odradek.broker.servers.shared import SharedServer
from odradek.config.errors import ConfigError
from odradek.config.listeners import Listener
from odradek.config.settings import BrokerSettings

if TYPE_CHECKING:
    from odradek.broker.servers.sasl import ListenerSasl


class ServerSecurity:
    """The protection of the listeners of one role."""

    def __init__(self, listeners: Sequence[Listener], shared: SharedServer, image: Callable[[], MetadataImage]) -> None:
        self._listeners = listeners
        self._shared = shared
        self._image = image
        self._sasl: list[ListenerSasl] = []

    def of_listeners(self, settings: BrokerSettings) -> Mapping[str, ListenerSecurity]:
        """Return the protection of each listener, by name; raises ConfigError where one cannot be had."""
        found: dict[str, ListenerSecurity] = {}
        for listener in self._listeners:
            security = PLAINTEXT
            if listener.uses_tls:
                raise _not_served(listener)
            if listener.uses_sasl:
                security = self._with_sasl(security, listener, settings)
            found[listener.name] = security
        return found

    def follow(self, settings: BrokerSettings) -> None:
        """Protect new connections by these settings."""
        for sasl in self._sasl:
            sasl.follow(settings)

    def _with_sasl(self, security: ListenerSecurity, listener: Listener, settings: BrokerSettings) -> ListenerSecurity:
        from odradek.broker.servers.sasl import ListenerSasl, SaslServices

        shared = self._shared
        services = SaslServices(shared.loop, shared.clock, shared.authentication_threads, self._image)
        sasl = ListenerSasl(listener.name, settings, services)
        self._sasl.append(sasl)
        return security._replace(handler=sasl.handler, max_first_frame_bytes=sasl.max_first_frame_bytes)


def _not_served(listener: Listener) -> ConfigError:
    return ConfigError(f"listener {listener.name} asks for {listener.protocol}, which this version does not serve")
