"""The mechanisms of one listener, from its settings: what begins an exchange of each.

Part of what a listener is built from: a mechanism is imported where it is enabled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from odradek.broker.authentication.exchange import Exchange
from odradek.broker.authentication.scram import FindScramUser
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.disk_threads import Threads
from odradek.config.sasl import GSSAPI, OAUTHBEARER, PLAIN, SCRAM, SaslSettings
from odradek.protocol.scram import MECHANISM_BY_NAME


class MechanismParts(NamedTuple):
    """What mechanisms are built from."""

    threads: Threads
    """Where passwords are hashed, and keys fetched."""
    find_scram_user: FindScramUser
    clock: Clock


def begin_exchanges(settings: SaslSettings, parts: MechanismParts) -> dict[str, Callable[[], Exchange]]:
    """Return what begins an exchange, by mechanism.

    Raises:
        ConfigError, OSError, UsersFileError: a mechanism cannot be had.
    """
    found: dict[str, Callable[[], Exchange]] = {}
    for mechanism in settings.mechanisms:
        if mechanism == PLAIN:
            found[mechanism] = _plain(settings, parts)
        elif mechanism in SCRAM:
            found[mechanism] = _scram(mechanism, parts)
        elif mechanism == OAUTHBEARER:
            found[mechanism] = _oauthbearer(settings, parts)
        elif mechanism == GSSAPI:
            found[mechanism] = _gssapi(settings, parts)
    return found


def _plain(settings: SaslSettings, parts: MechanismParts) -> Callable[[], Exchange]:
    from odradek.broker.authentication.plain import PlainExchange, PlainUsers
    from odradek.broker.authentication.users_file import UsersFile

    path = settings.plain_users_file
    users = PlainUsers(settings.plain_users, None if path is None else UsersFile(path), parts.threads)
    return lambda: PlainExchange(users)


def _scram(mechanism: str, parts: MechanismParts) -> Callable[[], Exchange]:
    from odradek.broker.authentication.scram import ScramExchange

    kind = MECHANISM_BY_NAME[mechanism]
    return lambda: ScramExchange(kind, parts.find_scram_user)


def _oauthbearer(settings: SaslSettings, parts: MechanismParts) -> Callable[[], Exchange]:
    from odradek.broker.authentication.oauthbearer import OAuthBearerExchange
    from odradek.broker.authentication.token_judge import TokenJudge

    assert settings.oauthbearer is not None
    judge = TokenJudge(settings.oauthbearer, parts.clock)
    return lambda: OAuthBearerExchange(judge, parts.threads)


def _gssapi(settings: SaslSettings, parts: MechanismParts) -> Callable[[], Exchange]:
    from odradek.broker.authentication.kerberos import GssapiExchange, KerberosAcceptor

    assert settings.kerberos is not None
    acceptor = KerberosAcceptor(settings.kerberos)
    return lambda: GssapiExchange(acceptor, parts.threads)
