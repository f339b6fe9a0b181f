"""Delegation tokens as users of SCRAM (KIP-48): the id is the name, the HMAC in base64 the password.

Owns: the credentials of tokens, which are made of their passwords on a thread when they are first used, and kept.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

from odradek.broker.authentication.scram import ScramUser
from odradek.broker.runtime.clock import Clock
from odradek.broker.runtime.context import KafkaPrincipal
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads
from odradek.protocol.scram import (
    MIN_ITERATIONS,
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted_password,
)

MOST_KEPT: Final = 10_000
SALT_BYTES: Final = 24


class TokenUser:
    """What is known of a token: whose it is, until when, and its password."""

    __slots__ = ("expires_ms", "owner", "password")

    def __init__(self, owner: str, expires_ms: int, password: str) -> None:
        self.owner = owner
        self.expires_ms = expires_ms
        self.password = password


class TokenUsers:
    """Finds tokens for those who log in."""

    def __init__(self, find: Callable[[str], TokenUser | None], threads: Threads, clock: Clock) -> None:
        """`find` returns a token by its id."""
        self._find = find
        self._threads = threads
        self._clock = clock
        self._credentials: dict[tuple[str, ScramMechanism], ScramCredential] = {}

    def find(self, token_id: str, mechanism: ScramMechanism) -> ScramUser | Deferred[ScramUser | None] | None:
        """Return the owner of a token as a user, None where there is none that is valid."""
        token = self._find(token_id)
        if token is None or token.expires_ms < self._clock.now_ms():
            return None
        kept = self._credentials.get((token_id, mechanism))
        if kept is not None:
            return _user(token, kept)
        later: Deferred[ScramUser | None] = Deferred()
        made: list[ScramCredential] = []

        def make() -> None:
            salt = secrets.token_bytes(SALT_BYTES)
            salted = salted_password(mechanism, token.password, salt, MIN_ITERATIONS)
            made.append(credential_of(mechanism, salted, salt, MIN_ITERATIONS))

        def done(failed: BaseException | None) -> None:
            if failed is not None:
                later.resolve(None)
                return
            if len(self._credentials) >= MOST_KEPT:
                self._credentials.clear()
            self._credentials[token_id, mechanism] = made[0]
            later.resolve(_user(token, made[0]))

        self._threads.submit(make, done)
        return later.now_or_later()


def _user(token: TokenUser, credential: ScramCredential) -> ScramUser:
    kind, _, name = token.owner.partition(":")
    return ScramUser(KafkaPrincipal(kind, name), credential, token.expires_ms, True)
