"""PLAIN (RFC 4616): name and password in one token, as they are.

Owns: the token, and whether the password is that of the user. Users stand in the JAAS entry of the listener
(`user_NAME`), as in Kafka, and in a file of our own, which has no password in it but what SCRAM would keep of it.
Sentences are those of Kafka's `PlainSaslServer`.

Comparing takes the same time whoever is asked for: where there is a file, each attempt costs the same PBKDF2, on a
thread.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.broker.authentication.exchange import Authenticated, AuthenticationError, Step
from odradek.broker.authentication.users_file import UsersFile
from odradek.broker.runtime.context import KafkaPrincipal
from odradek.broker.runtime.deferred import Deferred
from odradek.broker.runtime.disk_threads import Threads

MOST_TOKENS: Final = 4
_WRONG: Final = "Authentication failed: Invalid username or password"
_OTHER: Final = "Authentication failed: Client requested an authorization id that is different from username"


class PlainUsers(NamedTuple):
    """Who may log in."""

    passwords: Mapping[str, str]
    file: UsersFile | None
    threads: Threads
    """Where passwords are hashed."""

    def __repr__(self) -> str:
        return f"<{len(self.passwords)} users of PLAIN>"


class PlainExchange:
    """One attempt."""

    def __init__(self, users: PlainUsers) -> None:
        self._users = users
        self.user = ""

    def evaluate(self, token: bytes) -> Step | Deferred[Step | AuthenticationError]:
        """Take the one token there is."""
        authorization_id, self.user, password = _parts(token)
        if not self.user:
            raise _refusal("Authentication failed: username not specified")
        if not password:
            raise _refusal("Authentication failed: password not specified")
        user = self.user
        file = self._users.file
        if file is None:
            return _verdict(user, authorization_id, self._is_listed(user, password))
        outcome: Deferred[Step | AuthenticationError] = Deferred()
        found: list[bool] = []

        def done(failed: BaseException | None) -> None:
            try:
                if failed is not None:
                    raise AuthenticationError(f"the file of users cannot be used: {failed}", _WRONG)
                outcome.resolve(_verdict(user, authorization_id, found[0]))
            except AuthenticationError as refused:
                outcome.resolve(refused)

        self._users.threads.submit(lambda: found.append(self._is_known(file, user, password)), done)
        return outcome.now_or_later()  # type: ignore[return-value]  # threads that are none are the tests'

    def _is_known(self, file: UsersFile, user: str, password: str) -> bool:
        hashed, is_in_file = file.password_of(user)
        is_made_of_it = hashed.is_made_of(password)
        return self._is_listed(user, password) or (is_in_file and is_made_of_it)

    def _is_listed(self, user: str, password: str) -> bool:
        known = self._users.passwords.get(user)
        is_same = hmac.compare_digest((_SECRET if known is None else known).encode(), password.encode())
        return known is not None and is_same


_SECRET: Final = secrets.token_urlsafe(16)
"""What the password of somebody unknown is compared with."""


def _parts(token: bytes) -> tuple[str, str, str]:
    parts = token.decode("utf-8", "replace").split("\0", MOST_TOKENS)[:MOST_TOKENS]
    if len(parts) != 3:
        raise _refusal(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
    return parts[0], parts[1], parts[2]


def _verdict(user: str, authorization_id: str, is_known: bool) -> Step:
    if not is_known:
        raise _refusal(_WRONG)
    if authorization_id and authorization_id != user:
        raise _refusal(_OTHER)
    return Step(b"", Authenticated(KafkaPrincipal("User", user)))


def _refusal(sentence: str) -> AuthenticationError:
    return AuthenticationError(sentence, sentence)
