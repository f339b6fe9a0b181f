"""The file of users of PLAIN while a broker runs: read at the start, and again when it has changed.

For threads only: it reads the disk and hashes. Must not know: exchanges.
"""

from __future__ import annotations

import hmac
import os
import secrets
import threading
from collections.abc import Iterable
from typing import Final, NamedTuple

from odradek.broker.runtime.logging import get_logger
from odradek.protocol.scram import ScramCredential, ScramMechanism, credential_of, salted_password
from odradek.protocol.scram_users import MAX_FILE_BYTES, FileUser, UsersFileError, parse_users

log = get_logger("authentication")

ITERATIONS: Final = 8192
"""Of what stands for users that there are not, where the file has none; the default of `odradek users --file`."""


class HashedPassword(NamedTuple):
    """What is known of a password."""

    mechanism: ScramMechanism
    credential: ScramCredential

    @classmethod
    def of_nobody(cls, users: Iterable[FileUser]) -> HashedPassword:
        """Return what no password is made into, and costs as much as the dearest of some users."""
        works = [(one.credential.iterations, one.mechanism) for one in users]
        iterations, mechanism = max(works, default=(ITERATIONS, ScramMechanism.SCRAM_SHA_512))
        return cls(mechanism, ScramCredential(secrets.token_bytes(24), secrets.token_bytes(64), b"", iterations))

    def is_made_of(self, password: str) -> bool:
        """Tell whether it is that of `password`; milliseconds of work."""
        salt, stored_key, _, iterations = self.credential
        salted = salted_password(self.mechanism, password, salt, iterations)
        made = credential_of(self.mechanism, salted, salt, iterations)
        return hmac.compare_digest(made.stored_key, stored_key)


class UsersFile:
    """The users in a file."""

    def __init__(self, path: str) -> None:
        """Read it; raises UsersFileError or OSError where that cannot be."""
        self._path = path
        self._lock = threading.Lock()
        self._users, self._state = self._read()
        self._nobody = HashedPassword.of_nobody(self._users.values())

    def password_of(self, user: str) -> tuple[HashedPassword, bool]:
        """Return what is known of a user's password, and whether there is such a user: if not, it is nobody's."""
        with self._lock:
            self._look()
            found = self._users.get(user)
            return (self._nobody, False) if found is None else (HashedPassword(*found), True)

    def _look(self) -> None:
        """Read the file again if it has changed; one that cannot be read leaves the users as they were."""
        try:
            if _state_of(os.stat(self._path)) != self._state:
                self._users, self._state = self._read()
                self._nobody = HashedPassword.of_nobody(self._users.values())
        except (OSError, UsersFileError) as failed:
            state = self._state
            self._state = (0, 0, 0)
            if state != self._state:
                log.warning("the file of users cannot be read; those known so far count", reason=str(failed))

    def _read(self) -> tuple[dict[str, FileUser], tuple[int, int, int]]:
        with open(self._path, "rb") as file:
            state = _state_of(os.fstat(file.fileno()))
            return parse_users(file.read(MAX_FILE_BYTES + 1), self._path), state


def _state_of(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_mtime_ns, found.st_size, found.st_ino
