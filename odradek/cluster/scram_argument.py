"""Users of SCRAM as `--add-scram` has them: `SCRAM-SHA-256=[name=alice,password=secret]`.

Kafka's own form (`kafka-storage format`), with one key more: `passwordfile=PATH`, so that no password stands in the
list of processes. Owns: the form, and making the credential. Sentences name no password.
"""

from __future__ import annotations

import re
import secrets
from base64 import b64decode
from binascii import Error as NoBase64Error
from pathlib import Path
from typing import Final, NamedTuple

from odradek.protocol.scram import (
    MAX_ITERATIONS,
    MECHANISM_BY_NAME,
    MIN_ITERATIONS,
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted_password,
)
from odradek.terminal.errors import WrongUsageError

_KEYS: Final = ("name", "password", "passwordfile", "saltedpassword", "salt", "iterations")
_OPTION: Final = re.compile(r'\s*(?P<key>[a-z]+)=(?P<value>"(?:[^"\\]|\\.)*"|[^,"]*)\s*(?:,|$)')
SALT_BYTES: Final = 24
DEFAULT_ITERATIONS: Final = {ScramMechanism.SCRAM_SHA_256: 4096, ScramMechanism.SCRAM_SHA_512: 4096}


class ScramUserArgument(NamedTuple):
    """A user who can log in from the first start on."""

    name: str
    mechanism: ScramMechanism
    credential: ScramCredential


def parse_scram_argument(text: str) -> ScramUserArgument:
    """Return the user that an argument describes; WrongUsageError says what is wrong with it."""
    mechanism_name, equals, rest = text.partition("=")
    if not equals:
        raise _wrong("has no equals sign")
    mechanism = MECHANISM_BY_NAME.get(mechanism_name.strip())
    if mechanism is None:
        raise _wrong(f"{mechanism_name[:40]} is none of {', '.join(MECHANISM_BY_NAME)}")
    rest = rest.strip()
    if not (rest.startswith("[") and rest.endswith("]")):
        raise _wrong("has no [brackets] around its values")
    options = _options(rest[1:-1])
    name = options.get("name", "")
    if not name:
        raise _wrong("has no name")
    iterations = _iterations(options.get("iterations"), mechanism)
    salt = _decoded("salt", options["salt"]) if "salt" in options else secrets.token_bytes(SALT_BYTES)
    salted = _salted(options, mechanism, salt, iterations)
    return ScramUserArgument(name, mechanism, credential_of(mechanism, salted, salt, iterations))


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        option = _OPTION.match(text, at)
        if option is None:
            raise _wrong('has a value that cannot be read; expected key=value or key="value", with commas between')
        key, value = option["key"], option["value"].strip()
        if key not in _KEYS:
            raise _wrong(f"{key} is none of {', '.join(_KEYS)}")
        if key in found:
            raise _wrong(f"has {key} twice")
        found[key] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        at = option.end()
    return found


def _iterations(text: str | None, mechanism: ScramMechanism) -> int:
    if text is None:
        return DEFAULT_ITERATIONS[mechanism]
    if not text.isascii() or not text.isdigit() or not MIN_ITERATIONS <= int(text[:10]) <= MAX_ITERATIONS:
        raise _wrong(f"iterations are {MIN_ITERATIONS} to {MAX_ITERATIONS}")
    return int(text)


def _salted(options: dict[str, str], mechanism: ScramMechanism, salt: bytes, iterations: int) -> bytes:
    ways = [key for key in ("password", "passwordfile", "saltedpassword") if key in options]
    if len(ways) != 1:
        raise _wrong("needs one of password, passwordfile and saltedpassword")
    if ways == ["saltedpassword"]:
        if "salt" not in options:
            raise _wrong("saltedpassword needs the salt, too")
        return _decoded("saltedpassword", options["saltedpassword"])
    password = options.get("password")
    if password is None:
        try:
            password = Path(options["passwordfile"]).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as failed:
            raise _wrong(f"passwordfile cannot be read: {failed}") from None
    if not password:
        raise _wrong("has an empty password")
    return salted_password(mechanism, password, salt, iterations)


def _decoded(key: str, text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except NoBase64Error:
        raise _wrong(f"{key} is no base64") from None


def _wrong(reason: str) -> WrongUsageError:
    return WrongUsageError(f"--add-scram: {reason}; for example 'SCRAM-SHA-512=[name=alice,passwordfile=/run/secret]'")
