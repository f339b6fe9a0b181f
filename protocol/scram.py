"""SCRAM (RFC 5802, RFC 7677): what a server keeps of a password, and what both sides prove with it.

Pure functions on bytes, for the broker, for the command that makes users, and for a broker that is the client of
another one. As in Kafka a password is its UTF-8 bytes, without SASLprep. Must not know: requests, users, where
credentials are kept.
"""

from __future__ import annotations

import hashlib
import hmac

from odradek.protocol.scram_values import (
    MAX_ITERATIONS,
    MECHANISM_BY_NAME,
    MIN_ITERATIONS,
    ScramCredential,
    ScramMechanism,
)

__all__ = [
    "MAX_ITERATIONS",
    "MECHANISM_BY_NAME",
    "MIN_ITERATIONS",
    "ScramCredential",
    "ScramMechanism",
    "client_key",
    "client_proof",
    "credential_of",
    "is_proof",
    "salted_password",
    "server_key",
    "server_signature",
]


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Return SaltedPassword: milliseconds of work for some thousand iterations, so not on an event loop."""
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def credential_of(mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """Return what a server keeps of a salted password."""
    stored_key = hashlib.new(mechanism.hash_name, client_key(mechanism, salted)).digest()
    return ScramCredential(salt, stored_key, server_key(mechanism, salted), iterations)


def client_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """Return ClientKey."""
    return hmac.digest(salted, b"Client Key", mechanism.hash_name)


def server_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """Return ServerKey."""
    return hmac.digest(salted, b"Server Key", mechanism.hash_name)


def client_proof(mechanism: ScramMechanism, salted: bytes, auth_message: bytes) -> bytes:
    """Return ClientProof: ClientKey XOR the signature that StoredKey makes of the exchange."""
    key = client_key(mechanism, salted)
    stored_key = hashlib.new(mechanism.hash_name, key).digest()
    return _xor(key, hmac.digest(stored_key, auth_message, mechanism.hash_name))


def is_proof(mechanism: ScramMechanism, credential: ScramCredential, auth_message: bytes, proof: bytes) -> bool:
    """Tell, in constant time, whether a proof comes from somebody who knows the password."""
    signature = hmac.digest(credential.stored_key, auth_message, mechanism.hash_name)
    if len(proof) != len(signature):
        return False
    key = hashlib.new(mechanism.hash_name, _xor(proof, signature)).digest()
    return hmac.compare_digest(key, credential.stored_key)


def server_signature(mechanism: ScramMechanism, key: bytes, auth_message: bytes) -> bytes:
    """Return ServerSignature, by which a client knows that the server has its credential."""
    return hmac.digest(key, auth_message, mechanism.hash_name)


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
