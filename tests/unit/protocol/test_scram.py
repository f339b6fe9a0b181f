"""What SCRAM keeps and proves, held against the example of RFC 7677."""

from base64 import b64decode, b64encode

import pytest

from odradek.protocol.scram import (
    ScramMechanism,
    client_proof,
    credential_of,
    is_proof,
    salted_password,
    server_signature,
)

SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
MESSAGE = (
    b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
)
SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def test_the_example_of_the_rfc() -> None:
    """RFC 7677, section 3: user "user", password "pencil"."""
    salted = salted_password(SHA_256, "pencil", SALT, 4096)
    proof = client_proof(SHA_256, salted, MESSAGE)
    assert b64encode(proof) == b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    credential = credential_of(SHA_256, salted, SALT, 4096)
    assert is_proof(SHA_256, credential, MESSAGE, proof)
    signature = server_signature(SHA_256, credential.server_key, MESSAGE)
    assert b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_only_the_password_makes_a_proof(mechanism: ScramMechanism) -> None:
    """Not another one, not another exchange, not a proof of another length."""
    salted = salted_password(mechanism, "p", SALT, 10)
    credential = credential_of(mechanism, salted, SALT, 10)
    proof = client_proof(mechanism, salted, MESSAGE)
    assert is_proof(mechanism, credential, MESSAGE, proof)
    assert not is_proof(mechanism, credential, MESSAGE + b"x", proof)
    other = client_proof(mechanism, salted_password(mechanism, "q", SALT, 10), MESSAGE)
    assert not is_proof(mechanism, credential, MESSAGE, other)
    assert not is_proof(mechanism, credential, MESSAGE, proof[:-1])
    assert not is_proof(mechanism, credential, MESSAGE, b"")


def test_no_representation_shows_keys() -> None:
    """Neither in a traceback nor in a log line."""
    credential = credential_of(SHA_512, b"salted", b"salt", 4096)
    assert repr(credential) == "<SCRAM credential of 4096 iterations>"
    assert (SHA_512.sasl_name, SHA_512.hash_name) == ("SCRAM-SHA-512", "sha512")
