"""The file of users of PLAIN (`odradek.sasl.users.file`): a line for each, with what SCRAM keeps of the password.

    # comment
    alice:SCRAM-SHA-512$8192:<salt>$<stored key>:<server key>

The form behind the name is that of PostgreSQL's pg_authid; salt and keys are in base64. Whoever reads the file cannot
log in with it. Owns: the form. Must not know: files, who reads one when.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.protocol.scram import MECHANISM_BY_NAME, ScramCredential, ScramMechanism

MAX_FILE_BYTES: Final = 16 << 20
MAX_LINE_ITERATIONS: Final = 1_000_000
"""A line that asks for more would hold up everybody who logs in."""


class UsersFileError(Exception):
    """The content is no file of users; the message says where and why."""


class FileUser(NamedTuple):
    """What a line says of one user."""

    mechanism: ScramMechanism
    credential: ScramCredential


def parse_users(data: bytes, name: str) -> dict[str, FileUser]:
    """Return the users in the content of a file called `name`; UsersFileError names the line that is none."""
    if len(data) > MAX_FILE_BYTES:
        raise UsersFileError(f"{name} is larger than {MAX_FILE_BYTES} bytes, so it is no file of users")
    users: dict[str, FileUser] = {}
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError:
        raise UsersFileError(f"{name} is not UTF-8, so it is no file of users") from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, _, text = line.partition(":")
        try:
            users[user] = _parsed(text.strip())
        except (ValueError, KeyError):
            expected = "expected name:SCRAM-SHA-512$iterations:salt$key:key, as `odradek users --file` writes it"
            raise UsersFileError(f"{name}:{number} is no line of a user: {expected}") from None
    return users


def users_text(users: Mapping[str, FileUser]) -> str:
    """Return the content of a file with these users."""
    lines = [f"{user}:{_text(one)}\n" for user, one in sorted(users.items())]
    return "# Users of SASL/PLAIN, written by `odradek users --file`\n" + "".join(lines)


def is_file_name_of_user(user: str) -> bool:
    """Tell whether a file can have a user of this name."""
    return bool(user.strip()) and user.isprintable() and ":" not in user and not user.startswith("#")


def _parsed(text: str) -> FileUser:
    mechanism, work, keys = text.split("$")
    iterations, _, salt = work.partition(":")
    stored_key, _, server_key = keys.partition(":")
    count = int(iterations)
    if not 0 < count <= MAX_LINE_ITERATIONS:
        raise ValueError(count)
    return FileUser(
        MECHANISM_BY_NAME[mechanism], ScramCredential(_bytes(salt), _bytes(stored_key), _bytes(server_key), count)
    )


def _bytes(text: str) -> bytes:
    return b64decode(text, validate=True)


def _text(user: FileUser) -> str:
    salt, stored_key, server_key, iterations = user.credential
    encoded = [b64encode(part).decode() for part in (salt, stored_key, server_key)]
    return f"{user.mechanism.sasl_name}${iterations}:{encoded[0]}${encoded[1]}:{encoded[2]}"
