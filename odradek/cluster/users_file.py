"""The file of users of PLAIN (`odradek.sasl.users.file`), changed from outside of the broker, which reads it again.

A new file takes the place of the old one in one step, readable by its owner alone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from odradek.protocol.scram import ScramMechanism, credential_of, salted_password
from odradek.protocol.scram_users import (
    MAX_FILE_BYTES,
    FileUser,
    UsersFileError,
    is_file_name_of_user,
    parse_users,
    users_text,
)
from odradek.terminal.errors import CommandError, WrongUsageError

ITERATIONS: Final = 8192
SALT_BYTES: Final = 24


def read_users(path: Path) -> dict[str, FileUser]:
    """Return the users in a file, none where there is no file; CommandError where it is none of users."""
    try:
        with path.open("rb") as file:
            return parse_users(file.read(MAX_FILE_BYTES + 1), str(path))
    except FileNotFoundError:
        return {}
    except (OSError, UsersFileError) as failed:
        raise CommandError(f"the file of users cannot be read: {failed}") from failed


def hashed(name: str, password: str, mechanism: ScramMechanism, iterations: int) -> FileUser:
    """Return what the file keeps of a password; WrongUsageError for a name that no line can have."""
    if not is_file_name_of_user(name):
        raise WrongUsageError(f"{name!r} cannot be the name of a user in a file: no colon, no #, nothing unprintable")
    salt = secrets.token_bytes(SALT_BYTES)
    salted = salted_password(mechanism, password, salt, iterations)
    return FileUser(mechanism, credential_of(mechanism, salted, salt, iterations))


def write_users(path: Path, users: Mapping[str, FileUser]) -> None:
    """Have the file hold these users; CommandError where it cannot be written."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(users_text(users))
                file.flush()
                os.fsync(file.fileno())
            _keep_owner(path, part)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise
    except OSError as failed:
        raise CommandError(f"{path} cannot be written: {failed.strerror or failed}") from failed


def _keep_owner(path: Path, part: Path) -> None:
    """Give the new file the owner and the rights of the old one, as far as that may be."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    if (found.st_uid, found.st_gid) != (os.getuid(), os.getgid()):
        os.chown(part, found.st_uid, found.st_gid)
    part.chmod(found.st_mode & 0o777)
