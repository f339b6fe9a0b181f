"""How the listeners of a role are protected, from the settings in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.metadata.image import MetadataImage
from odradek.broker.network.security import PLAINTEXT, ListenerSecurity
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.scheduler import Scheduler
from odradek.broker.servers.shared import SharedServer
from odradek.config.listeners import Listener
from odradek.config.settings import BrokerSettings

if TYPE_CHECKING:
    from odradek.broker.servers.sasl import ListenerSasl
    from odradek.broker.servers.tls import ListenerTls, LiveContext

log = get_logger("network")


class ServerSecurity:
    """The protection of the listeners of one role."""

    def __init__(self, listeners: Sequence[Listener], shared: SharedServer, image: Callable[[], MetadataImage]) -> None:
        self._listeners = listeners
        self._shared = shared
        self._image = image
        self._sasl: list[ListenerSasl] = []
        self._tls: list[ListenerTls] = []

    def of_listeners(self, settings: BrokerSettings) -> Mapping[str, ListenerSecurity]:
        """Return the protection of each listener, by name; raises ConfigError where one cannot be had."""
        found: dict[str, ListenerSecurity] = {}
        for listener in self._listeners:
            security = PLAINTEXT
            if listener.uses_tls:
                security = self._with_tls(security, listener, settings)
            if listener.uses_sasl:
                security = self._with_sasl(security, listener, settings)
            found[listener.name] = security
        return found

    def follow(self, settings: BrokerSettings) -> None:
        """Protect new connections by these settings."""
        for sasl in self._sasl:
            sasl.follow(settings)
        for context in self._contexts:
            self._shared.tls_threads.submit(partial(context.follow, settings), _say_failure)

    def _with_sasl(self, security: ListenerSecurity, listener: Listener, settings: BrokerSettings) -> ListenerSecurity:
        from odradek.broker.servers.sasl import ListenerSasl, SaslServices

        shared = self._shared
        services = SaslServices(shared.loop, shared.clock, shared.authentication_threads, self._image)
        sasl = ListenerSasl(listener.name, settings, services)
        self._sasl.append(sasl)
        return security._replace(handler=sasl.handler, max_first_frame_bytes=sasl.max_first_frame_bytes)

    def check(self, static: BrokerSettings, dynamic: Mapping[str, str]) -> None:
        """Raise ConfigRequestError for dynamic values with which a listener could not go on."""
        for sasl in self._sasl:
            sasl.check(static, dynamic)
        if self._contexts and any(key.startswith("listener.name.") for key in dynamic):
            settings = static.with_dynamic(dynamic)
            for context in self._contexts:
                context.check(settings)

    def schedule(self, scheduler: Scheduler) -> None:
        """Look at the files of keys and certificates from time to time."""
        contexts = self._contexts
        if contexts:
            from odradek.broker.servers.tls import LOOK_INTERVAL_S, look_at

            scheduler.every(LOOK_INTERVAL_S, "changes of certificates", lambda: partial(look_at, contexts))

    @property
    def _contexts(self) -> list[LiveContext]:
        return [tls.live for tls in self._tls] + self._shared.nodes.contexts

    def _with_tls(self, security: ListenerSecurity, listener: Listener, settings: BrokerSettings) -> ListenerSecurity:
        from odradek.broker.network.tls_handshake import HandshakeServices
        from odradek.broker.servers.tls import ListenerTls

        services = HandshakeServices(self._shared.loop, self._shared.tls_threads)
        tls = ListenerTls(listener.name, listener.protocol, settings, services)
        self._tls.append(tls)
        return security._replace(open=tls.open)


def _say_failure(failed: BaseException | None) -> None:
    if failed is not None:
        log.error("changed settings of TLS are not followed", exc_info=failed)
