"""The client's side of SASL: tokens by the RFCs, and servers that are none."""

from __future__ import annotations

import pytest

from odradek.protocol.sasl import ClientExchange, LoginRefusedError, OAuthBearerClient, ScramClient, exchange_of
from odradek.protocol.scram import ScramMechanism

NONCE = "rOprNGfwEbeRWgbNEkqO"
THEIRS = f"{NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
FIRST = f"r={THEIRS},s={SALT},i=4096"
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def _scram() -> ScramClient:
    return ScramClient(ScramMechanism.SCRAM_SHA_256, "user", "pencil", nonce=NONCE)


def test_the_exchange_of_rfc_7677() -> None:
    """Section 3 has every token of it."""
    client = _scram()
    assert client.first() == f"n,,n=user,r={NONCE}".encode()
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert client.answer(FIRST.encode()) == f"c=biws,r={THEIRS},p={proof}".encode()
    assert client.answer(SIGNATURE) is None


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (b"\xff", "no SCRAM"),
        (b"", "no SCRAM"),
        (f"r={NONCE},s={SALT},i=4096".encode(), "another nonce"),
        (f"r=other,s={SALT},i=4096".encode(), "another nonce"),
        (f"r={THEIRS},s={SALT},i=100".encode(), "100 iterations"),
        (f"r={THEIRS},s={SALT},i=999999999".encode(), "999999999 iterations"),
        (f"r={THEIRS},s=W,i=4096".encode(), "no base64"),
    ],
)
def test_a_server_that_begins_otherwise_is_told_nothing(token: bytes, said: str) -> None:
    """Neither a proof that could be guessed from, nor one that takes minutes to make."""
    with pytest.raises(LoginRefusedError, match=said):
        _scram().answer(token)


@pytest.mark.parametrize("token", [b"", b"e=other-error", b"v=AAAA", SIGNATURE[:-2] + b"8="])
def test_a_server_that_does_not_know_the_user_is_not_believed(token: bytes) -> None:
    """Whatever it says instead of its signature."""
    client = _scram()
    client.answer(FIRST.encode())
    with pytest.raises(LoginRefusedError, match="does not prove"):
        client.answer(token)


def test_marks_in_names_and_extensions() -> None:
    """A comma and an equals sign would end the name; a delegation token says that it is one (KIP-48)."""
    client = ScramClient(ScramMechanism.SCRAM_SHA_512, "a,b=c", "p", {"tokenauth": "true"}, "n")
    assert client.first() == b"n,,n=a=2Cb=3Dc,r=n,tokenauth=true"
    assert client.mechanism == "SCRAM-SHA-512"


def test_plain_says_both_at_once() -> None:
    """RFC 4616; the server's only token is empty."""
    client = exchange_of("PLAIN", "anna", "secret")
    assert client is not None
    assert client.first() == b"\0anna\0secret"
    assert client.answer(b"") is None


def test_a_token_that_is_refused_is_told_after_the_last_word() -> None:
    """RFC 7628: the client has to answer the refusal before the server ends the exchange."""
    client: ClientExchange = OAuthBearerClient("T", {"traceId": "7"})
    assert client.first() == b"n,,\x01auth=Bearer T\x01traceId=7\x01\x01"
    assert client.answer(b"") is None
    assert client.answer(b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(LoginRefusedError, match="invalid_token"):
        client.answer(b"x")


def test_other_mechanisms_do_not_go_by_a_password() -> None:
    """Such as GSSAPI."""
    assert exchange_of("GSSAPI", "u", "p") is None
