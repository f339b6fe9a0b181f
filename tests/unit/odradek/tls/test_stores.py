"""Key stores and trust stores of every format, and what is said of those that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from odradek.config.secret import Secret
from odradek.config.tls import VERSIONS, ClientAuth, KeyStore, TlsSettings, TrustStore
from odradek.tls import jks
from odradek.tls.contexts import client_context, server_context
from odradek.tls.errors import TlsError
from odradek.tls.stores import read_key_store, read_trust_store
from tests.support.certificates import LOCAL, PASSWORD, Authority, Identity

AUTHORITY = Authority()
SERVER = AUTHORITY.issue("CN=localhost,O=Example", LOCAL)


def key_store(location: Path | None, kind: str = "PKCS12", password: str | None = PASSWORD) -> KeyStore:
    secret = None if password is None else Secret(password)
    return KeyStore(str(location), kind, secret, None, None, secret if kind == "PEM" else None)


def settings(store: KeyStore | None, trust: TrustStore | None = None) -> TlsSettings:
    return TlsSettings(store, trust, ClientAuth.NONE, VERSIONS, (), True, "DEFAULT")


def formats(identity: Identity) -> dict[str, bytes]:
    return {
        "pem": (identity.key_pem + identity.pem).encode(),
        "locked": (identity.pem + identity.locked_key_pem).encode(),
        "p12": identity.pkcs12(),
        "jks": identity.jks(),
    }


@pytest.mark.parametrize("form", ["pem", "locked", "p12", "jks"])
@pytest.mark.parametrize("kind", ["PKCS12", "JKS", "PEM"])
def test_a_key_store_is_what_it_says_itself(tmp_path: Path, form: str, kind: str) -> None:
    """PEM with the key encrypted or not, PKCS12, JKS: whatever ssl.keystore.type says, as keytool mixes them up."""
    path = tmp_path / f"store.{form}"
    path.write_bytes(formats(SERVER)[form])
    store = KeyStore(str(path), kind, Secret(PASSWORD), None, None, Secret(PASSWORD))
    loaded = server_context(settings(store))
    assert loaded.certificate is not None
    assert loaded.certificate.subject == "CN=localhost,O=Example"
    assert len(loaded.certificate.alternative_names) == len(LOCAL)


def test_a_key_in_the_settings_themselves_may_stand_in_one_line(tmp_path: Path) -> None:
    """ssl.keystore.key and .certificate.chain as PEM (KIP-651), also without line breaks."""
    for key, chain in ((SERVER.key_pem, SERVER.pem), (" ".join(SERVER.key_pem.split("\n")), _one_line(SERVER.pem))):
        store = KeyStore(None, "PEM", None, Secret(key), chain, None)
        assert server_context(settings(store)).certificate is not None


def test_trust_stores_of_every_format_hold_the_same_authority(tmp_path: Path) -> None:
    """PEM in a file or in the settings, PKCS12 as Java writes it, JKS."""
    contents = {"a.pem": AUTHORITY.pem.encode(), "a.p12": AUTHORITY.pkcs12(), "a.jks": AUTHORITY.jks()}
    found = [read_trust_store(TrustStore(None, "PEM", None, _one_line(AUTHORITY.pem)))]
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
        found.append(read_trust_store(TrustStore(str(tmp_path / name), "JKS", Secret(PASSWORD), None)))
    assert {text.replace("\n", "") for text in found} == {AUTHORITY.pem.replace("\n", "")}
    assert client_context(settings(None, TrustStore(str(tmp_path / "a.jks"), "JKS", None, None))).context.get_ca_certs()


@pytest.mark.parametrize(
    ("form", "password", "problem"),
    [
        ("p12", "wrong", "or the password is wrong"),
        ("jks", "wrong", "the password is wrong"),
        ("locked", "wrong", "is the password right"),
        ("locked", None, "ssl.key.password is missing"),
    ],
)
def test_a_wrong_password_is_said_and_not_shown(tmp_path: Path, form: str, password: str | None, problem: str) -> None:
    """The file is named, the password is not."""
    path = tmp_path / "store"
    path.write_bytes(formats(SERVER)[form])
    secret = None if password is None else Secret(password)
    with pytest.raises(TlsError, match=problem) as caught:
        server_context(settings(KeyStore(str(path), "JKS", secret, None, None, secret)))
    assert str(path) in str(caught.value)
    assert password is None or f"{password}'" not in str(caught.value)


def test_a_key_that_is_not_the_certificates_is_refused(tmp_path: Path) -> None:
    other = AUTHORITY.issue()
    store = KeyStore(None, "PEM", None, Secret(other.key_pem), SERVER.pem, None)
    with pytest.raises(TlsError, match="the key does not belong to the certificate"):
        server_context(settings(store))


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 100, b"-----BEGIN NOTHING-----", AUTHORITY.pem.encode()],
    ids=["nothing", "zeros", "no kind of PEM", "certificates alone"],
)
def test_what_is_no_key_store_is_refused(tmp_path: Path, data: bytes) -> None:
    """Nothing, noise, PEM of something else, a certificate without key."""
    (tmp_path / "store").write_bytes(data)
    with pytest.raises(TlsError):
        read_key_store(key_store(tmp_path / "store"))


def test_a_damaged_jks_is_refused_wherever_it_is_damaged() -> None:
    """No byte changed and no end too early leads to anything but TlsError; without a password nothing else protects."""
    whole = SERVER.jks()
    for place in range(0, len(whole), 7):
        with pytest.raises(TlsError):
            jks.read_jks(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :], PASSWORD)
        for password in (PASSWORD, None):
            try:
                jks.read_jks(whole[:place] + b"\0" * 20, password)
            except TlsError:
                continue


def test_the_chain_of_a_pkcs12_store_is_put_in_order(tmp_path: Path) -> None:
    """Its own certificate first, then each behind the one that it has signed."""
    (tmp_path / "store").write_bytes(SERVER.pkcs12())
    assert read_key_store(key_store(tmp_path / "store")).chain.replace("\n", "") == SERVER.pem.replace("\n", "")


def test_secrets_do_not_show_in_what_is_printed() -> None:
    """Settings and key material can stand in a log line by mistake."""
    store = KeyStore(None, "PEM", Secret("hush"), Secret(SERVER.key_pem), SERVER.pem, Secret("hush"))
    shown = f"{settings(store)} {read_key_store(store)!r}"
    assert "hush" not in shown
    assert SERVER.key_pem.split("\n")[1] not in shown


def test_suites_are_named_as_java_names_them(tmp_path: Path) -> None:
    """Only safe ones are taken; a version for which there is none is not spoken."""
    store = KeyStore(None, "PEM", None, Secret(SERVER.key_pem), SERVER.pem, None)

    def versions(*suites: str) -> tuple[str, str]:
        context = server_context(settings(store)._replace(cipher_suites=suites)).context
        return context.minimum_version.name, context.maximum_version.name

    assert versions("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384") == ("TLSv1_2", "TLSv1_2")
    assert versions("TLS_AES_256_GCM_SHA384") == ("TLSv1_3", "TLSv1_3")
    assert versions("TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256") == ("TLSv1_2", "TLSv1_3")
    for unsafe in ("TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_RC4_128_SHA", "ALL", "TLS_RSA_WITH_NULL_SHA256"):
        with pytest.raises(TlsError, match=unsafe):
            versions(unsafe)


def _one_line(pem: str) -> str:
    return " ".join(pem.split("\n"))
