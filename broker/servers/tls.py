"""TLS of the listeners and of connections to other nodes, as the settings in force and the files have it.

Owns: contexts that are made anew when settings or files change; connections that are open stay what they are, new
handshakes have the new key. A change that cannot be used is said and leaves the old one in force. Source: Kafka's
SslFactory (KIP-226), which looks at files only when it is told to.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from socket import socket
from typing import Final

from odradek.broker.network.security import Established, OpeningConnection
from odradek.broker.network.tls_handshake import HandshakeServices, RefusedError, TlsHandshake, check_speaks_tls
from odradek.broker.network.tls_transport import TlsSession
from odradek.broker.nodes.requests import NodeAddress
from odradek.broker.runtime.context import ANONYMOUS, KafkaPrincipal, RequestContext
from odradek.broker.runtime.logging import get_logger
from odradek.config.errors import ConfigError, ConfigRequestError
from odradek.config.settings import BrokerSettings
from odradek.config.tls import SwapRules, TlsSettings, read_tls
from odradek.tls.certificates import Certificate
from odradek.tls.contexts import Loaded, client_context, server_context
from odradek.tls.distinguished_names import subject_of
from odradek.tls.errors import TlsError
from odradek.tls.principal_mapping import PrincipalMapper

log = get_logger("network")

LOOK_INTERVAL_S: Final = 3.0
"""How often files of keys and certificates are looked at."""
SOON: Final = timedelta(days=14)
"""A certificate that ends within this time is spoken of."""

_Signature = tuple[tuple[int, int, int], ...]


class LiveContext:
    """A context that follows its settings and its files."""

    def __init__(
        self,
        listener: str,
        load: Callable[[TlsSettings], Loaded],
        read: Callable[[BrokerSettings], tuple[TlsSettings, SwapRules]],
        settings: BrokerSettings,
    ) -> None:
        """Raises ConfigError where the settings, or what they name, cannot be used."""
        self._listener = listener
        self._load = load
        self._read = read
        self._settings, self._rules = read(settings)
        self._signature = _signature(self._settings)
        try:
            self._loaded = load(self._settings)
        except (TlsError, OSError) as wrong:
            raise ConfigError(f"listener {listener} cannot speak TLS: {wrong}") from None
        _speak_of_end(listener, self._loaded.certificate)

    @property
    def context(self) -> ssl.SSLContext:
        """What the next handshake is made with."""
        return self._loaded.context

    def follow(self, settings: BrokerSettings) -> None:
        """Take over settings that were changed at run time; may run on a thread."""
        try:
            wanted, self._rules = self._read(settings)
        except ConfigError as wrong:
            log.warning("TLS settings ignored", listener=self._listener, reason=str(wrong))
            return
        signature = _signature(wanted)
        if wanted != self._settings or signature != self._signature:
            self._reload(wanted, signature)

    def check(self, settings: BrokerSettings) -> None:
        """Raise ConfigRequestError where these settings cannot be used; nothing changes."""
        try:
            wanted = self._read(settings)[0]
            if wanted != self._settings:
                self._load(wanted)
        except (ConfigError, TlsError, OSError) as wrong:
            raise ConfigRequestError(f"listener {self._listener} cannot speak TLS: {wrong}") from None

    def look(self) -> None:
        """See whether a file has changed; may run on a thread."""
        signature = _signature(self._settings)
        if signature != self._signature:
            self._reload(self._settings, signature)

    def _reload(self, wanted: TlsSettings, signature: _Signature) -> None:
        self._signature = signature  # also of what is refused: it is said once
        try:
            loaded = self._load(wanted)
        except (TlsError, OSError) as wrong:
            log.warning("key or certificate not taken over", listener=self._listener, reason=str(wrong))
            return
        refused = _refusal(self._loaded.certificate, loaded.certificate, self._rules)
        if refused is not None:
            log.warning("certificate not taken over", listener=self._listener, reason=refused)
            return
        self._settings, self._loaded = wanted, loaded
        until = "" if loaded.certificate is None else loaded.certificate.not_after.isoformat()
        log.info("keys and certificates read again", listener=self._listener, valid_until=until or None)
        _speak_of_end(self._listener, loaded.certificate)


def look_at(contexts: Sequence[LiveContext]) -> None:
    """See of each whether its files have changed; for a thread."""
    for context in contexts:
        context.look()


class ListenerTls:
    """TLS of one listener."""

    def __init__(self, name: str, protocol: str, settings: BrokerSettings, services: HandshakeServices) -> None:
        """Raises ConfigError where it cannot be had."""

        def read(settings: BrokerSettings) -> tuple[TlsSettings, SwapRules]:
            return read_tls(settings.of_listener(name), protocol), _swap_rules(settings, name)

        self._services = services
        self._names_users = protocol == "SSL"
        """Whether a certificate says who the client is; where he logs in, that does."""
        rules = read(settings)[0].principal_mapping_rules
        try:
            self._mapper = PrincipalMapper(rules)
        except TlsError as wrong:
            raise settings.of_listener(name).error("ssl.principal.mapping.rules", str(wrong)) from None
        self.live = LiveContext(name, server_context, read, settings)

    def open(self, sock: socket, context: RequestContext, established: Established) -> OpeningConnection:
        """Begin the handshake on a connection that was accepted."""

        def begin(plain: socket) -> TlsSession:
            check_speaks_tls(plain)
            return TlsSession(self.live.context)

        def finish(tls: ssl.SSLObject) -> None:
            if self._names_users:
                context.principal = self._principal(tls)

        handshake = TlsHandshake(self._services, sock, begin, finish, established)
        handshake.accept()
        return handshake

    def _principal(self, tls: ssl.SSLObject) -> KafkaPrincipal:
        certificate = tls.getpeercert(True)
        if certificate is None:
            return ANONYMOUS
        try:
            subject = subject_of(certificate)
        except TlsError as wrong:
            raise RefusedError(f"the client's certificate cannot be read: {wrong}") from None
        user = self._mapper.user_of(subject)
        if user is None:
            raise RefusedError(f"no rule of ssl.principal.mapping.rules makes a user of {subject[:200]!r}")
        return KafkaPrincipal("User", user)


class NodeTls:
    """TLS of the connections to nodes, at their listener of one name."""

    def __init__(self, name: str, protocol: str, settings: BrokerSettings, services: HandshakeServices) -> None:
        """Raises ConfigError where it cannot be had."""

        def read(settings: BrokerSettings) -> tuple[TlsSettings, SwapRules]:
            return read_tls(settings.of_listener(name), protocol), _swap_rules(settings, name)

        self._services = services
        self.live = LiveContext(name, client_context, read, settings)

    def open(self, sock: socket, address: NodeAddress, established: Established) -> OpeningConnection:
        """Begin the handshake on a socket that is connected."""

        def begin(_plain: socket) -> TlsSession:
            return TlsSession(self.live.context, address.host)

        handshake = TlsHandshake(self._services, sock, begin, lambda _tls: None, established)
        handshake.connect()
        return handshake


def _swap_rules(settings: BrokerSettings, listener: str) -> SwapRules:
    read = settings.of_listener(listener)
    return SwapRules(read.boolean("ssl.allow.dn.changes"), read.boolean("ssl.allow.san.changes"))


def _signature(settings: TlsSettings) -> _Signature:
    """Return what a file is known by; a file that is not there has no signature, so that it counts once it is."""
    found = []
    for store in (settings.key_store, settings.trust_store):
        if store is not None and store.location is not None:
            try:
                state = os.stat(store.location)
                found.append((state.st_mtime_ns, state.st_size, state.st_ino))
            except OSError:
                found.append((0, 0, 0))
    return tuple(found)


def _refusal(old: Certificate | None, new: Certificate | None, rules: SwapRules) -> str | None:
    """Return why a certificate may not take the other's place (Kafka's SslFactory.CertificateEntries)."""
    if old is None or new is None:
        return None
    if old.subject != new.subject and not rules.allow_dn_changes:
        return f"it is for {new.subject}, the one before for {old.subject} (ssl.allow.dn.changes)"
    if not old.alternative_names <= new.alternative_names and not rules.allow_san_changes:
        return "it lacks alternative names that the one before has (ssl.allow.san.changes)"
    return None


def _speak_of_end(listener: str, certificate: Certificate | None) -> None:
    if certificate is None:
        return
    left = certificate.not_after - datetime.now(UTC)
    if left < timedelta(0):
        log.warning("the certificate has ended", listener=listener, on=certificate.not_after.isoformat())
    elif left < SOON:
        log.warning("the certificate ends soon", listener=listener, on=certificate.not_after.isoformat())
