"""The ssl.* keys of one listener: which go together, which are refused, which count for one listener alone."""

import pytest

from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings
from odradek.config.tls import ClientAuth, TlsSettings, read_tls

PEM = ("ssl.keystore.type=PEM", "ssl.keystore.location=/server.pem")
INLINE = ("ssl.keystore.type=PEM", "ssl.keystore.key=KEY", "ssl.keystore.certificate.chain=CHAIN")


def tls(*overrides: str, protocol: str = "SSL") -> TlsSettings:
    return read_tls(load_settings(None, overrides).of_listener("SSL"), protocol)


def test_what_is_not_given_has_kafkas_default() -> None:
    """No key, what the system trusts, both versions of TLS, no certificates of clients, names are checked."""
    given = tls()
    assert (given.key_store, given.trust_store, given.client_auth) == (None, None, ClientAuth.NONE)
    assert (given.enabled_protocols, given.cipher_suites) == (("TLSv1.2", "TLSv1.3"), ())
    assert given.checks_host_name
    assert given.principal_mapping_rules == "DEFAULT"


def test_stores_are_read_with_their_passwords() -> None:
    given = tls(
        "ssl.keystore.location=/k.jks",
        "ssl.keystore.password=a",
        "ssl.key.password=b",
        "ssl.truststore.location=/t.p12",
        "ssl.truststore.type=pkcs12",
        "ssl.truststore.password=c",
    )
    assert given.key_store is not None
    assert given.trust_store is not None
    secrets = (given.key_store.password, given.key_store.key_password, given.trust_store.password)
    assert [one.reveal() for one in secrets if one is not None] == ["a", "b", "c"]
    assert (given.key_store.type, given.trust_store.type) == ("JKS", "PKCS12")


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ((*PEM, "ssl.keystore.password=x"), "ssl.keystore.password"),
        (("ssl.keystore.location=/k.jks",), "ssl.keystore.location"),
        (("ssl.keystore.password=x",), "ssl.keystore.password"),
        ((*INLINE, "ssl.keystore.location=/server.pem"), "ssl.keystore.key"),
        ((*INLINE, "ssl.keystore.type=JKS"), "ssl.keystore.key"),
        (INLINE[:2], "ssl.keystore.key"),
        ((INLINE[2],), "ssl.keystore.certificate.chain"),
        ((*INLINE, "ssl.keystore.password=x"), "ssl.keystore.password"),
        (("ssl.truststore.password=x",), "ssl.truststore.password"),
        (("ssl.truststore.certificates=X",), "ssl.truststore.certificates"),
        (("ssl.truststore.type=BKS",), "ssl.truststore.type"),
        (("ssl.enabled.protocols=TLSv1.1,TLSv1.2",), "ssl.enabled.protocols"),
        (("ssl.endpoint.identification.algorithm=LDAPS",), "ssl.endpoint.identification.algorithm"),
    ],
)
def test_what_does_not_go_together_is_refused(overrides: tuple[str, ...], key: str) -> None:
    """As in Kafka's DefaultSslEngineFactory; old versions of TLS are refused in addition."""
    with pytest.raises(ConfigError) as caught:
        tls(*overrides)
    assert caught.value.key == key


def test_a_listener_inherits_key_by_key() -> None:
    """Inline PEM for one listener beside a store for all: both are given, as seen on Apache Kafka 4.3."""
    own = [f"listener.name.ssl.{one}" for one in INLINE]
    with pytest.raises(ConfigError, match=r"listener\.name\.ssl\.ssl\.keystore\.key"):
        tls(*own, "ssl.keystore.location=/server.pem")
    assert tls(*own).key_store is not None


def test_where_clients_log_in_only_the_listeners_own_key_asks_for_certificates() -> None:
    """SASL_SSL passes over the general ssl.client.auth, as Kafka's ChannelBuilders do."""
    required = "ssl.client.auth=required"
    assert tls(required).client_auth is ClientAuth.REQUIRED
    assert tls(required, protocol="SASL_SSL").client_auth is ClientAuth.NONE
    assert tls(f"listener.name.ssl.{required}", protocol="SASL_SSL").client_auth is ClientAuth.REQUIRED


def test_an_empty_algorithm_switches_the_check_of_names_off() -> None:
    assert not tls("ssl.endpoint.identification.algorithm=").checks_host_name
