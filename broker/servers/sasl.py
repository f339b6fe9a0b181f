"""How clients log in at the SASL listeners of a role, as the settings in force have it.

Owns: building what each connection is asked by, and building it anew where users or mechanisms change at run time; who
is connected stays. Must not know: frames, how a mechanism works.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from odradek.broker.authentication.authenticator import SaslParts, SaslServerAuthenticator
from odradek.broker.authentication.failures import FailureLog
from odradek.broker.authentication.mechanisms import MechanismParts, begin_exchanges
from odradek.broker.authentication.scram import ScramUser
from odradek.broker.authentication.token_users import TokenUser, TokenUsers
from odradek.broker.metadata.image import MetadataImage
from odradek.broker.metadata.scram import ScramKey
from odradek.broker.metadata.token_secrets import secrets_of
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import KafkaPrincipal, RequestContext
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads
from odradek.broker.runtime.logging import get_logger
from odradek.broker.runtime.responses import Handle
from odradek.config.errors import ConfigError, ConfigRequestError
from odradek.config.listener_keys import ListenerConfigReader
from odradek.config.reading import BrokerConfigReader
from odradek.config.sasl import GSSAPI, OAUTHBEARER, SaslSettings, read_sasl
from odradek.config.settings import BrokerSettings
from odradek.protocol.scram import ScramMechanism
from odradek.protocol.scram_users import UsersFileError

log = get_logger("authentication")
MAX_FRAME_BYTES: Final = 16 * 1024
"""Twice the largest message of SCRAM, and more than any name and password."""
MAX_TOKEN_FRAME_BYTES: Final = 68 * 1024
"""The largest token of OAUTHBEARER, and what is around it; a ticket with the groups of its owner may be as large."""


class SaslServices(NamedTuple):
    """What logging in is built from."""

    loop: AbstractEventLoop
    clock: Clock
    threads: Threads
    image: Callable[[], MetadataImage]
    """The metadata, which has the users of SCRAM."""


class ListenerSasl:
    """How clients of one listener log in."""

    def __init__(self, listener: str, settings: BrokerSettings, services: SaslServices) -> None:
        """Raises ConfigError where that cannot be."""
        self._listener = listener
        self._services = services
        self._failures = FailureLog(services.clock)
        self._tokens = _token_users(settings, services)
        self._current = read_sasl(settings.of_listener(listener))
        self._parts = self._built(self._current)

    @property
    def max_first_frame_bytes(self) -> int:
        """The largest frame before it is known who the client is: no mechanism here has larger tokens, and strangers
        are not to hold memory that others wait for."""
        has_tokens = not {OAUTHBEARER, GSSAPI}.isdisjoint(self._current.mechanisms)
        largest = MAX_TOKEN_FRAME_BYTES if has_tokens else MAX_FRAME_BYTES
        return min(self._current.max_receive_bytes, largest)

    def handler(self, context: RequestContext, handle: Handle) -> Handle:
        """Return what works on the frames of a new connection, before `handle` does."""
        return SaslServerAuthenticator(context, handle, self._parts).handle

    def check(self, static: BrokerSettings, dynamic: Mapping[str, str]) -> None:
        """Raise ConfigRequestError for dynamic values with which clients could not log in any more."""
        if not any("sasl." in key for key in dynamic):
            return
        values = {**static.values, **dynamic}
        try:
            read_sasl(ListenerConfigReader(BrokerConfigReader(values, {}), self._listener))
        except ConfigError as wrong:
            raise ConfigRequestError(str(wrong)) from None

    def follow(self, settings: BrokerSettings) -> None:
        """Let clients in by these settings from now on; those that cannot be used change nothing."""
        try:
            changed = read_sasl(settings.of_listener(self._listener))
            if changed != self._current:
                self._parts = self._built(changed)
                self._current = changed
                log.info("clients log in by other settings from now on", listener=self._listener)
        except ConfigError as wrong:
            log.warning("clients go on to log in by the settings of before", listener=self._listener, reason=str(wrong))

    def _built(self, settings: SaslSettings) -> SaslParts:
        services = self._services
        parts = MechanismParts(services.threads, self._find_scram_user, services.clock)
        try:
            mechanisms = begin_exchanges(settings, parts)
        except (OSError, UsersFileError) as wrong:
            raise ConfigError(f"clients of listener {self._listener} cannot log in: {wrong}") from wrong
        return SaslParts(
            services.loop,
            services.clock,
            mechanisms,
            settings.max_reauth_ms,
            settings.failed_delay_ms,
            self._failures.failed,
        )

    def _find_scram_user(
        self, name: str, mechanism: ScramMechanism, by_token: bool
    ) -> ScramUser | Deferred[ScramUser | None] | None:
        if by_token:
            return None if self._tokens is None else self._tokens.find(name, mechanism)
        credential = self._services.image().scram_credentials.get(ScramKey(name, mechanism))
        return None if credential is None else ScramUser(KafkaPrincipal("User", name), credential)


def _token_users(settings: BrokerSettings, services: SaslServices) -> TokenUsers | None:
    """Return the delegation tokens as users, None where there are none."""
    secrets = secrets_of(settings)
    if secrets is None:
        return None

    def find(token_id: str) -> TokenUser | None:
        token = services.image().delegation_tokens.get(token_id)
        return None if token is None else TokenUser(token.owner, token.expires_ms, secrets.password_of(token_id))

    return TokenUsers(find, services.threads, services.clock)
