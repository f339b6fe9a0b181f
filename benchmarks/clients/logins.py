"""Log-ins by SCRAM, one connection after another, as lean as Python allows: the password is hashed once, since what the
client takes for that is not the broker's."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from benchmarks import wire
from benchmarks.clients.figures import Meter, Requests
from benchmarks.connection import Connection
from benchmarks.target import Endpoint

ITERATIONS = 4096
_HASH = "sha512"
_MECHANISM = "SCRAM-SHA-512"
_HANDSHAKE, _AUTHENTICATE = 17, 36
_DEADLINE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class LoginLoad:
    """Log-ins of a user at a listener that asks for them, for so many seconds."""

    endpoint: Endpoint
    user: str
    password: str
    seconds: float
    warmup_seconds: float
    stop: str
    """The path of a file that is made at the end, for those who watch meanwhile."""


def make_user(endpoint: Endpoint, user: str, password: str) -> None:
    """Give a user a password, at a listener that asks for none."""
    host, port = endpoint.address
    admin = AdminClient({"bootstrap.servers": f"{host}:{port}"})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
    changes = admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, info, password.encode())])
    changes[user].result(_DEADLINE_SECONDS)


def log_in(load: LoginLoad) -> Requests:
    """Connect, log in, check that the broker knows the password, too, close, and again."""
    keys: dict[bytes, bytes] = {}
    try:
        warmed = _repeat(load, keys, load.warmup_seconds)
        with Meter(load.endpoint.pid) as meter:
            count = _repeat(load, keys, load.seconds)
    finally:
        Path(load.stop).touch()
    return Requests(count, count + warmed, meter.elapsed, meter.broker_cpu, meter.client_cpu)


def _repeat(load: LoginLoad, keys: dict[bytes, bytes], seconds: float) -> int:
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        _one(load, keys)
        count += 1
    return count


def _one(load: LoginLoad, salted_by_salt: dict[bytes, bytes]) -> None:
    with Connection(load.endpoint.address) as connection:
        answer = connection.ask(wire.request(_HANDSHAKE, 1, wire.string(_MECHANISM)))
        _check(answer)
        bare = f"n={load.user},r={secrets.token_urlsafe(12)}"
        challenge = _say(connection, f"n,,{bare}".encode()).decode()
        parts = dict(part.split("=", 1) for part in challenge.split(","))
        salt = b64decode(parts["s"])
        salted = salted_by_salt.get(salt)
        if salted is None:
            salted = hashlib.pbkdf2_hmac(_HASH, load.password.encode(), salt, int(parts["i"]))
            salted_by_salt[salt] = salted
        without_proof = f"c=biws,r={parts['r']}"
        message = f"{bare},{challenge},{without_proof}".encode()
        key = hmac.digest(salted, b"Client Key", _HASH)
        signature = hmac.digest(hashlib.new(_HASH, key).digest(), message, _HASH)
        proof = b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        verdict = _say(connection, f"{without_proof},p={proof}".encode())
        expected = hmac.digest(hmac.digest(salted, b"Server Key", _HASH), message, _HASH)
        if verdict != b"v=" + b64encode(expected):
            raise wire.WireError("the broker has not proved that it knows the password")


def _say(connection: Connection, token: bytes) -> bytes:
    answer = connection.ask(wire.request(_AUTHENTICATE, 0, len(token).to_bytes(4, "big") + token))
    _check(answer)
    length = int.from_bytes(answer[6:8], "big", signed=True)  # of the error message, -1 for none
    begin = 8 + max(length, 0)
    size = int.from_bytes(answer[begin : begin + 4], "big")
    return bytes(answer[begin + 4 : begin + 4 + size])


def _check(answer: memoryview) -> None:
    code = int.from_bytes(answer[4:6], "big", signed=True)
    if code:
        raise wire.WireError("not let in", code)
