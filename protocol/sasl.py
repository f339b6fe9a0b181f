"""SASL, the client's side: what a client says to prove who it is, and what it makes of the answers.

Pure: tokens in, tokens out. PLAIN (RFC 4616), SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), OAUTHBEARER
(RFC 7628), as Kafka's servers take them. For commands, the sources for Spark, and a broker that asks another one.
Must not know: requests, where secrets come from.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from base64 import b64decode, b64encode
from binascii import Error as NoBase64Error
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeAlias

from odradek.protocol.scram import (
    MECHANISM_BY_NAME,
    ScramMechanism,
    client_proof,
    salted_password,
    server_key,
    server_signature,
)

LEAST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 1_000_000
"""Of a server's: fewer would let it guess the password, more cost seconds."""
MAX_TOKEN_BYTES: Final = 64 * 1024
"""Of what a server says."""
_NONCE_BYTES: Final = 24
_SERVER_FIRST: Final = re.compile(
    r"r=(?P<nonce>[\x21-\x2B\x2D-\x7E]+),s=(?P<salt>[A-Za-z0-9/+=]+),i=(?P<count>\d{1,9})"
)
_SERVER_FINAL: Final = re.compile(r"v=(?P<signature>[A-Za-z0-9/+=]+)(?:,.*)?")


class LoginRefusedError(Exception):
    """The server refuses the client, or does not prove that it knows it; the message is a sentence without secrets."""


class ClientExchange(Protocol):
    """One attempt to authenticate."""

    mechanism: str
    """As SASL calls it."""

    def first(self) -> bytes:
        """Return the first token."""

    def answer(self, token: bytes) -> bytes | None:
        """Return the token that follows one of the server's, None where the client has nothing more to say.

        May take some ten milliseconds (SCRAM). Raises LoginRefusedError.
        """


MakeExchange: TypeAlias = Callable[[], ClientExchange]
"""Begins an attempt; it may ask somebody for a token first."""


class PlainClient:
    """Name and password as they are."""

    mechanism = "PLAIN"

    def __init__(self, user: str, password: str) -> None:
        self._token = b"\0".join((b"", user.encode(), password.encode()))

    def first(self) -> bytes:
        """Return user and password."""
        return self._token

    def answer(self, token: bytes) -> None:
        """There is nothing more to say."""


class ScramClient:
    """A proof that the password is known, without saying it, and a look whether the server knows it, too."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        user: str,
        password: str,
        extensions: Mapping[str, str] | None = None,
        nonce: str | None = None,
    ) -> None:
        """`extensions` are said with the user, such as tokenauth=true for a delegation token (KIP-48); the nonce is a
        random one unless it is given."""
        self.mechanism = mechanism.sasl_name
        self._kind = mechanism
        self._password = password
        said = "".join(f",{name}={value}" for name, value in (extensions or {}).items())
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._nonce = secrets.token_urlsafe(_NONCE_BYTES) if nonce is None else nonce
        self._bare = f"n={name},r={self._nonce}{said}"
        self._proven: bytes | None = None
        """What the server has to sign like, once the proof was given."""

    def first(self) -> bytes:
        """Return user and nonce."""
        return f"n,,{self._bare}".encode()

    def answer(self, token: bytes) -> bytes | None:
        """Return the proof, and then check the server's."""
        try:
            text = token[:MAX_TOKEN_BYTES].decode()
        except UnicodeDecodeError:
            raise LoginRefusedError("what the server says is no SCRAM") from None
        if self._proven is not None:
            self._check(text, self._proven)
            return None
        begin = _SERVER_FIRST.fullmatch(text)
        if begin is None or not begin["nonce"].startswith(self._nonce) or begin["nonce"] == self._nonce:
            raise LoginRefusedError("what the server says first is no SCRAM, or has another nonce")
        iterations = int(begin["count"])
        if not LEAST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise LoginRefusedError(
                f"the server wants {iterations} iterations; {LEAST_ITERATIONS} to {MOST_ITERATIONS} are made here"
            )
        salted = salted_password(self._kind, self._password, _from_base64(begin["salt"]), iterations)
        without_proof = f"c=biws,r={begin['nonce']}"
        said = f"{self._bare},{text},{without_proof}".encode()
        self._proven = server_signature(self._kind, server_key(self._kind, salted), said)
        return f"{without_proof},p={b64encode(client_proof(self._kind, salted, said)).decode()}".encode()

    def _check(self, text: str, expected: bytes) -> None:
        final = _SERVER_FINAL.fullmatch(text)
        if final is None or not hmac.compare_digest(_from_base64(final["signature"]), expected):
            raise LoginRefusedError("the server does not prove that it knows the user")


class OAuthBearerClient:
    """A token that somebody else gave out."""

    mechanism = "OAUTHBEARER"

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        said = "".join(f"{name}={value}\x01" for name, value in (extensions or {}).items())
        self._token = f"n,,\x01auth=Bearer {token}\x01{said}\x01".encode()
        self._refusal = ""

    def first(self) -> bytes:
        """Return the token."""
        return self._token

    def answer(self, token: bytes) -> bytes | None:
        """Return nothing where the token was taken; else what lets the server say that it was not."""
        if not token:
            return None
        if self._refusal:
            raise LoginRefusedError(self._refusal)
        try:
            status = json.loads(token[:MAX_TOKEN_BYTES]).get("status")
        except (ValueError, AttributeError, RecursionError):
            status = None
        self._refusal = f"the server does not take the token ({status if isinstance(status, str) else 'no reason'})"
        return b"\x01"


def exchange_of(mechanism: str, user: str, password: str) -> ClientExchange | None:
    """Return an attempt with a name and a password, None for a mechanism that does not go by these."""
    if mechanism == PlainClient.mechanism:
        return PlainClient(user, password)
    scram = MECHANISM_BY_NAME.get(mechanism)
    return None if scram is None else ScramClient(scram, user, password)


def _from_base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except NoBase64Error:
        raise LoginRefusedError("what the server says is no base64") from None
