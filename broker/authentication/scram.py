"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), the server's side.

Owns: the two tokens of a client and what is said to them. As Kafka's `ScramSaslServer`: no channel binding, names with
=2C and =3D, extensions that are not known are passed over. Otherwise than there, a user that does not exist is given a
salt like anybody else, and refused with the proof: strangers do not learn who is a user. A delegation token is a user
that says `tokenauth=true` (KIP-48). The server only makes a few hashes; PBKDF2 is the client's.
"""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import b64decode, b64encode
from binascii import Error as NoBase64Error
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from odradek.broker.authentication.exchange import Authenticated, AuthenticationError, Step
from odradek.broker.runtime.context import KafkaPrincipal
from odradek.broker.runtime.deferred import Deferred
from odradek.protocol.scram import MIN_ITERATIONS, ScramCredential, ScramMechanism, is_proof, server_signature

TOKEN_EXTENSION: Final = "tokenauth"
_OTHER: Final = "Authentication failed: Client requested an authorization id that is different from username"

_NAME = r"(?:[^=,\x00]|=2C|=3D)+"
_VALUE = r"[^,\x00]+"
_PRINTABLE = r"[\x21-\x2B\x2D-\x7E]+"
_EXTENSIONS = rf"(?P<extensions>(?:,[A-Za-z]+={_VALUE})*)"
_FIRST = re.compile(
    rf"(?P<gs2>n,(?:a=(?P<authzid>{_NAME}))?,)(?P<bare>(?:m={_VALUE},)?n=(?P<name>{_NAME}),r=(?P<nonce>{_PRINTABLE})"
    rf"{_EXTENSIONS})"
)
_FINAL = re.compile(
    rf"(?P<bare>c=(?P<binding>[A-Za-z0-9/+=]+),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS}),p=(?P<proof>{_VALUE})"
)

MAX_TOKEN_BYTES: Final = 8192
"""Names and nonces are a fraction of that."""
_FAKE_SALT_KEY: Final = secrets.token_bytes(32)
"""So that the salt of somebody who is no user is the same each time."""


class ScramUser(NamedTuple):
    """Whom a name stands for, and what proves it."""

    principal: KafkaPrincipal
    credential: ScramCredential
    expires_ms: int | None = None
    by_token: bool = False


FindScramUser = Callable[[str, ScramMechanism, bool], "ScramUser | Deferred[ScramUser | None] | None"]
"""Returns the user of a name, or with True the delegation token of an id, which may take longer; None where there is
none."""


class ScramExchange:
    """One attempt."""

    def __init__(self, mechanism: ScramMechanism, find: FindScramUser) -> None:
        self._mechanism = mechanism
        self._find = find
        self._found: ScramUser | None = None
        self._gs2 = ""
        self._nonce = ""
        self._begin = ""
        """The first messages of both sides, once they are there."""
        self._credential: ScramCredential
        self.user = ""

    def evaluate(self, token: bytes) -> Step | Deferred[Step | AuthenticationError]:
        """Take the client's first message, or its final one."""
        try:
            text = token.decode()
        except UnicodeDecodeError:
            raise AuthenticationError("a token is not UTF-8") from None
        if len(token) > MAX_TOKEN_BYTES:
            raise AuthenticationError(f"a token has more than {MAX_TOKEN_BYTES} bytes")
        return self._final(text) if self._begin else self._first(text)

    def _first(self, text: str) -> Step | Deferred[Step | AuthenticationError]:
        first = _FIRST.fullmatch(text)
        if first is None:
            raise AuthenticationError("the first token is no first message of SCRAM without channel binding")
        self.user = name = _plain_name(first["name"])
        extensions = dict(one.split("=", 1) for one in first["extensions"].split(",")[1:])
        found = self._find(name, self._mechanism, extensions.get(TOKEN_EXTENSION, "").lower() == "true")
        if not isinstance(found, Deferred):
            return self._challenge(first, found)
        return found.then(partial(self._challenge_later, first))

    def _challenge_later(self, first: re.Match[str], found: ScramUser | None) -> Step | AuthenticationError:
        try:
            return self._challenge(first, found)
        except AuthenticationError as refused:
            return refused

    def _challenge(self, first: re.Match[str], found: ScramUser | None) -> Step:
        self._found, name = found, self.user
        authorization_id = _plain_name(first["authzid"] or "")
        if found is not None and authorization_id and authorization_id != name:
            raise AuthenticationError(_OTHER, _OTHER)
        self._credential = _like_one(name, self._mechanism) if self._found is None else self._found.credential
        self._gs2 = first["gs2"]
        self._nonce = first["nonce"] + secrets.token_urlsafe(24)
        salt = b64encode(self._credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._credential.iterations}"
        self._begin = f"{first['bare']},{answer}"
        return Step(answer.encode())

    def _final(self, text: str) -> Step:
        final = _FINAL.fullmatch(text)
        if final is None:
            raise AuthenticationError("the second token is no final message of SCRAM")
        if not hmac.compare_digest(final["nonce"].encode(), self._nonce.encode()):
            raise AuthenticationError("the final message has another nonce")
        if final["binding"] not in ("biws", b64encode(self._gs2.encode()).decode()):
            raise AuthenticationError("the final message is bound to a channel, or to another beginning")
        try:
            proof = b64decode(final["proof"], validate=True)
        except NoBase64Error:
            raise AuthenticationError("the proof is no base64") from None
        auth_message = f"{self._begin},{final['bare']}".encode()
        is_proved = is_proof(self._mechanism, self._credential, auth_message, proof)
        if self._found is None:
            raise AuthenticationError("no such user")
        if not is_proved:
            raise AuthenticationError("wrong password")
        signature = server_signature(self._mechanism, self._credential.server_key, auth_message)
        principal, _, expires_ms, by_token = self._found
        return Step(b"v=" + b64encode(signature), Authenticated(principal, expires_ms, by_token))


def _plain_name(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _like_one(name: str, mechanism: ScramMechanism) -> ScramCredential:
    """Return what nobody can prove to know, with a salt that is always the same."""
    salt = hmac.digest(_FAKE_SALT_KEY, f"{mechanism.sasl_name}:{name}".encode(), mechanism.hash_name)
    return ScramCredential(salt[:24], secrets.token_bytes(32), b"", MIN_ITERATIONS)
