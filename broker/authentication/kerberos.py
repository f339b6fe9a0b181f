"""GSSAPI (RFC 4752): clients show tickets of Kerberos that only this service's key can open.

Owns: the tokens of the exchange, as Kafka has them from Java's `GssKrb5Server`: the context of Kerberos, then the offer
of no security layer (TLS is for that), then the client's choice. Everything is done on threads: MIT's library opens
files. Its settings (KDCs, realms) are those of the process: `KRB5_CONFIG`, or /etc/krb5.conf. An authorization id that
the client names is not looked at, as with Kafka: the user is who the ticket is for.
"""

from __future__ import annotations

from enum import Enum, auto
from importlib import import_module
from typing import Any, Final

from odradek.broker.authentication.exchange import Authenticated, AuthenticationError, Step
from odradek.broker.authentication.kerberos_names import LocalNames, RuleError
from odradek.broker.runtime.context import KafkaPrincipal
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads
from odradek.config.errors import ConfigError
from odradek.config.sasl import KerberosSettings

try:
    gssapi: Any = import_module("gssapi")
except ImportError as missing:
    raise ConfigError(
        f"GSSAPI needs a package that is not installed: pip install 'odradek[gssapi]' ({missing})",
        key="sasl.enabled.mechanisms",
    ) from None

MAX_TOKEN_BYTES: Final = 64 * 1024
MOST_ROUNDS: Final = 4
"""Tokens of the client until there is a context; Kerberos takes one, or two."""
_NO_LAYER: Final = 1
_OFFER: Final = bytes((_NO_LAYER, 0, 0, 0))
"""No layer, so there is no largest size of what it would carry."""


class KerberosAcceptor:
    """The service as which a listener takes tickets."""

    def __init__(self, settings: KerberosSettings) -> None:
        """Raises ConfigError where there is no key for it, or the rules are none."""
        try:
            if settings.principal is not None:
                name = gssapi.Name(settings.principal, gssapi.NameType.kerberos_principal)
            else:
                name = gssapi.Name(settings.service_name, gssapi.NameType.hostbased_service)
            self._credentials = gssapi.Credentials(
                name=name, usage="accept", mechs=[gssapi.MechType.kerberos], store={"keytab": settings.keytab}
            )
        except gssapi.exceptions.GSSError as wrong:
            whose = settings.principal or settings.service_name
            raise ConfigError(
                f"clients cannot log in by GSSAPI: the keytab {settings.keytab} has no key of {whose}: {_said(wrong)}",
                key="sasl.jaas.config",
            ) from None
        try:
            self._names = LocalNames(settings.rules, _own_realm())
        except RuleError as wrong:
            raise ConfigError(str(wrong), key="sasl.kerberos.principal.to.local.rules") from None

    def begin(self) -> Any:
        """Return the context of one exchange."""
        return gssapi.SecurityContext(creds=self._credentials, usage="accept")

    def user_of(self, principal: str) -> str:
        """Return the user behind a principal; AuthenticationError where no rule makes it one."""
        user = self._names.user_of(principal)
        if user is None:
            raise AuthenticationError("sasl.kerberos.principal.to.local.rules make no user of the principal")
        return user


class _Stage(Enum):
    CONTEXT = auto()
    OFFER = auto()
    CHOICE = auto()


class GssapiExchange:
    """One attempt."""

    def __init__(self, acceptor: KerberosAcceptor, threads: Threads) -> None:
        self._acceptor = acceptor
        self._threads = threads
        self._context: Any = None
        self._stage = _Stage.CONTEXT
        self._rounds = 0
        self.user = ""

    def evaluate(self, token: bytes) -> Step | Deferred[Step | AuthenticationError]:
        """Take a token of the client, on a thread."""
        if len(token) > MAX_TOKEN_BYTES:
            raise AuthenticationError(f"a token of more than {MAX_TOKEN_BYTES} bytes")
        outcome: Deferred[Step | AuthenticationError] = Deferred()
        said: list[Step] = []

        def done(failed: BaseException | None) -> None:
            if isinstance(failed, AuthenticationError):
                outcome.resolve(failed)
            elif failed is not None:
                outcome.resolve(AuthenticationError(_said(failed)))
            else:
                outcome.resolve(said[0])

        self._threads.submit(lambda: said.append(self._take(token)), done)
        return outcome.now_or_later()  # type: ignore[return-value]  # threads that are none are the tests'

    def _take(self, token: bytes) -> Step:
        if self._stage is _Stage.CONTEXT:
            return self._accept(token)
        if self._stage is _Stage.OFFER:
            if token:
                raise AuthenticationError("a token where nothing is due")
            return self._offer()
        return self._choose(token)

    def _accept(self, token: bytes) -> Step:
        self._rounds += 1
        if self._rounds > MOST_ROUNDS or not token:
            raise AuthenticationError("no context of Kerberos came about")
        if self._context is None:
            self._context = self._acceptor.begin()
        answer = self._context.step(token) or b""
        if not self._context.complete:
            return Step(answer)
        self.user = str(self._context.initiator_name)
        self._stage = _Stage.OFFER
        return Step(answer) if answer else self._offer()

    def _offer(self) -> Step:
        self._stage = _Stage.CHOICE
        return Step(self._context.wrap(_OFFER, False).message)

    def _choose(self, token: bytes) -> Step:
        chosen = self._context.unwrap(token).message
        if len(chosen) < len(_OFFER) or chosen[0] != _NO_LAYER:
            raise AuthenticationError("the client wants a security layer, and none was offered")
        return Step(b"", Authenticated(KafkaPrincipal("User", self._acceptor.user_of(self.user))))


def _own_realm() -> str:
    """Return the realm of this host, empty where its settings name none."""
    try:
        name = gssapi.Name("nobody", gssapi.NameType.user).canonicalize(gssapi.MechType.kerberos)
    except gssapi.exceptions.GSSError:
        return ""
    return str(name).rpartition("@")[2]


def _said(problem: BaseException) -> str:
    return " ".join(str(problem).split()) or type(problem).__name__
