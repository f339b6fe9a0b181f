"""How clients of a listener log in, as the settings have it."""

import pytest

from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings
from odradek.config.sasl import SaslSettings, read_login, read_sasl

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
PLAIN = f'listener.name.a.plain.sasl.jaas.config={MODULE} required username="b" password="bp" user_alice="x";'
ENABLED = "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256"
KERBEROS = "listener.name.a.gssapi.sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required"
OAUTH = "listener.name.a.oauthbearer."


def read(*overrides: str, protocol: str = "SASL_PLAINTEXT") -> SaslSettings:
    """Return the settings of listener A."""
    given = ("listeners=A://:0", f"listener.security.protocol.map=A:{protocol}", *overrides)
    return read_sasl(load_settings(None, given).of_listener("A"))


def test_users_of_plain_stand_in_the_entry_of_their_listener_and_mechanism() -> None:
    """As in Kafka's files; nothing shows a password."""
    settings = read(ENABLED, PLAIN)
    assert settings.mechanisms == ("PLAIN", "SCRAM-SHA-256")
    assert settings.plain_users == {"alice": "x"}
    assert (settings.max_receive_bytes, settings.failed_delay_ms) == (524288, 100)
    assert repr(settings) == "<SASL by PLAIN, SCRAM-SHA-256>"


def test_a_mechanism_of_a_listener_has_limits_of_its_own() -> None:
    """The longest prefix wins."""
    settings = read(
        ENABLED, PLAIN, "connections.max.reauth.ms=7000", "listener.name.a.plain.connections.max.reauth.ms=5000"
    )
    assert settings.max_reauth_ms == {"PLAIN": 5000, "SCRAM-SHA-256": 7000}
    assert read(ENABLED, "listener.name.a.sasl.enabled.mechanisms=SCRAM-SHA-512").mechanisms == ("SCRAM-SHA-512",)


def test_users_may_stand_in_a_file() -> None:
    """For all listeners or for one."""
    assert read(ENABLED, "odradek.sasl.users.file=/u").plain_users_file == "/u"
    assert read(ENABLED, PLAIN, "listener.name.a.odradek.sasl.users.file=/v").plain_users_file == "/v"
    warnings = load_settings(None, ["odradek.sasl.users.file=/u"]).warnings
    assert not warnings


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ((), "by GSSAPI .*which is Kafka's default.*Krb5LoginModule with keyTab.*set sasl.enabled.mechanisms to"),
        (("sasl.enabled.mechanisms=PLAIN,GSSAPI", PLAIN), "GSSAPI"),
        (("sasl.enabled.mechanisms=GSSAPI", f'{KERBEROS} keyTab="/k";'), "listener A has no Kerberos principal"),
        (
            (
                "sasl.enabled.mechanisms=GSSAPI",
                "sasl.kerberos.service.name=kafka",
                f'{KERBEROS} keyTab="/k" serviceName="other";',
            ),
            "another serviceName, other",
        ),
        (("sasl.enabled.mechanisms=GSSAPI", PLAIN.replace("a.plain", "a.gssapi")), "expected Krb5LoginModule"),
        (("sasl.enabled.mechanisms=SCRAM-SHA-1",), "SCRAM-SHA-1 is no SASL mechanism"),
        (("sasl.enabled.mechanisms=PLAIN",), "nobody could log in by PLAIN"),
        (("sasl.enabled.mechanisms=PLAIN", PLAIN.replace("PlainLogin", "ScramLogin")), "expected PlainLoginModule"),
        (("sasl.enabled.mechanisms=PLAIN", PLAIN.rstrip(";")), "semicolon"),
        (("sasl.enabled.mechanisms=OAUTHBEARER",), "tokens of listener A could not be checked"),
        (
            ("sasl.enabled.mechanisms=OAUTHBEARER", f"{OAUTH}sasl.oauthbearer.jwks.endpoint.url=ftp://x"),
            "expected an http",
        ),
        ((ENABLED, PLAIN, "listener.name.a.plain.sasl.server.callback.handler.class=com.example.Ldap"), "Java class"),
    ],
)
def test_what_lets_nobody_in_or_everybody_is_refused_at_the_start(overrides: tuple[str, ...], reason: str) -> None:
    """With a sentence that says what to do, and no password in it."""
    with pytest.raises(ConfigError, match=reason) as caught:
        read(*overrides)
    assert '"x"' not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "principal"),
    [
        ('keyTab="/k" principal="kafka/h@R" useKeyTab=true storeKey=true', "kafka/h@R"),
        ('keyTab="file:///k" principal="*"', None),
        ("keyTab='/k'", None),
    ],
)
def test_the_key_of_a_kerberos_service_is_in_the_keytab_of_its_entry(options: str, principal: str | None) -> None:
    """As Java's login module names it; without a principal any of the service's name."""
    rules = "sasl.kerberos.principal.to.local.rules=RULE:[2:$1],DEFAULT"
    settings = read(
        "sasl.enabled.mechanisms=GSSAPI", "sasl.kerberos.service.name=kafka", rules, f"{KERBEROS} {options};"
    )
    assert settings.kerberos == ("/k", principal, "kafka", ("RULE:[2:$1]", "DEFAULT"))


def test_a_provider_of_tokens_is_read_from_kafkas_keys() -> None:
    """With Kafka's own callback handler, which is understood."""
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    settings = read(
        "sasl.enabled.mechanisms=OAUTHBEARER",
        f"{OAUTH}sasl.server.callback.handler.class={handler}",
        f"{OAUTH}sasl.oauthbearer.jwks.endpoint.url=file:///keys.json",
        f"{OAUTH}sasl.oauthbearer.expected.audience=a,b",
        "sasl.oauthbearer.clock.skew.seconds=5",
    )
    assert settings.oauthbearer is not None
    assert settings.oauthbearer.jwks_endpoint_url == "file:///keys.json"
    assert settings.oauthbearer.expected_audience == ("a", "b")
    assert (settings.oauthbearer.clock_skew_seconds, settings.oauthbearer.sub_claim_name) == (5, "sub")


def test_a_node_logs_in_elsewhere_by_the_entry_of_the_mechanism() -> None:
    """username and password of it; without them, or by a mechanism that is not known, it does not start."""
    given = ["listeners=A://:0", "listener.security.protocol.map=A:SASL_PLAINTEXT", ENABLED, PLAIN]
    key = "sasl.mechanism.inter.broker.protocol"
    login = read_login(load_settings(None, [*given, f"{key}=PLAIN"]).of_listener("A"), key)
    assert (login.mechanism, login.username, login.password) == ("PLAIN", "b", "bp")
    assert "bp" not in repr(login)
    with pytest.raises(ConfigError, match="expected one of PLAIN"):
        read_login(load_settings(None, given).of_listener("A"), key)
    with pytest.raises(ConfigError, match=r"needs username and password in listener.name.a.scram-sha-256.sasl.jaas"):
        read_login(load_settings(None, [*given, f"{key}=SCRAM-SHA-256"]).of_listener("A"), key)


def test_what_is_hidden_stays_so_where_another_part_stands_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a secret that refers to a provider shows neither what it refers to nor what stands beside it."""
    monkeypatch.setenv("WHO", "alice")
    provider = (
        "config.providers=e",
        "config.providers.e.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    )
    login = 'listener.name.a.plain.sasl.jaas.config=PlainLoginModule required username="${e:WHO}" password="hush"'
    with pytest.raises(ConfigError, match="semicolon") as caught:
        read(ENABLED, PLAIN, login, *provider)
    assert "hush" not in str(caught.value)
