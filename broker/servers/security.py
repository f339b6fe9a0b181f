"""How each listener of a role is protected, from its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from odradek.broker.network.security import PLAINTEXT, ListenerSecurity
from odradek.config.errors import ConfigError
from odradek.config.listeners import Listener


def listener_security(listeners: Sequence[Listener]) -> Mapping[str, ListenerSecurity]:
    """Return the protection of each listener, by name.

    Raises:
        ConfigError: one cannot be had.
    """
    found: dict[str, ListenerSecurity] = {}
    for listener in listeners:
        security = PLAINTEXT
        if listener.uses_tls:
            raise _not_served(listener)
        if listener.uses_sasl:
            raise _not_served(listener)
        found[listener.name] = security
    return found


def _not_served(listener: Listener) -> ConfigError:
    return ConfigError(f"listener {listener.name} asks for {listener.protocol}, which this version does not serve")
