"""What a configuration leaves open, and what it does not."""

from pathlib import Path

import pytest

from odradek.config.exposure import Danger, find_exposures, find_open_listeners, find_readable
from odradek.config.loading import load_settings

STANDARD = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SCRAM = "sasl.enabled.mechanisms=SCRAM-SHA-512"
CLOSED = [
    "listeners=SASL_SSL://:9092",
    SCRAM,
    STANDARD,
    "super.users=User:admin",
    "odradek.audit.log=/var/log/odradek-audit.log",
]


def subjects(*overrides: str) -> list[str]:
    return [one.subject for one in find_exposures(load_settings(None, overrides))]


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        (["listeners=PLAINTEXT://:9092"], "no encryption and no authentication: everybody who reaches it"),
        (["listeners=PLAINTEXT://0.0.0.0:9092"], "no encryption and no authentication"),
        (["listeners=SSL://:9092"], "no authentication: everybody who reaches it"),
        (
            ["listeners=SASL_PLAINTEXT://:9092", "sasl.enabled.mechanisms=SCRAM-SHA-256"],
            "no encryption: everybody on the way",
        ),
    ],
)
def test_a_listener_for_other_machines_is_open_without_both(overrides: list[str], problem: str) -> None:
    """Encryption and authentication; the sentence says which is missing and what that means."""
    (found,) = find_open_listeners(load_settings(None, overrides))
    assert problem in found.problem
    assert found.danger is Danger.OPEN


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["listeners=PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9093"],
        ["listeners=PLAINTEXT://localhost:9092"],
        ["listeners=SSL://:9092", "ssl.client.auth=required"],
        ["listeners=SASL_SSL://:9092", SCRAM],
    ],
)
def test_what_is_for_this_machine_or_has_both_is_not_spoken_of(overrides: list[str]) -> None:
    assert find_open_listeners(load_settings(None, overrides)) == []


def test_a_closed_configuration_has_nothing_open() -> None:
    assert subjects(*CLOSED) == []
    assert subjects(*CLOSED, "odradek.http.listener=127.0.0.1:9404") == []


@pytest.mark.parametrize(
    ("more", "subject"),
    [
        ("authorizer.class.name=", "authorizer.class.name"),
        ("allow.everyone.if.no.acl.found=true", "allow.everyone.if.no.acl.found"),
        ("odradek.audit.log=", "odradek.audit.log"),
        ("ssl.endpoint.identification.algorithm=", "listener SASL_SSL://:9092"),
        ("odradek.http.listener=:9404", "odradek.http.listener"),
    ],
)
def test_each_thing_that_is_weak_is_named(more: str, subject: str) -> None:
    assert subjects(*CLOSED, more) == [subject]


def test_nobody_who_is_unknown_should_do_everything() -> None:
    """User:ANONYMOUS among the super users, and a listener on which one is that."""
    text = "listeners=SASL_SSL://:9092,PLAINTEXT://127.0.0.1:9093"
    assert subjects(*CLOSED, "super.users=User:admin;User:ANONYMOUS") == []
    assert "super.users" in subjects(*CLOSED, "super.users=User:admin;User:ANONYMOUS", text)


def test_files_with_secrets_that_others_can_read_are_named(tmp_path: Path) -> None:
    """The configuration, if a password stands in it, and the key store."""
    store, file = tmp_path / "server.pem", tmp_path / "server.properties"
    store.touch()
    file.write_text(f"ssl.keystore.location={store}\nssl.key.password=hush\n")
    for mode, named in ((0o600, []), (0o640, []), (0o644, [str(file), str(store)])):
        store.chmod(mode)
        file.chmod(mode)
        assert [one.subject for one in find_readable(load_settings(str(file)), str(file))] == named
    file.write_text(
        f"ssl.keystore.location={store}\nconfig.providers=env\nssl.key.password=${{env:HOME}}\n"
        "config.providers.env.class=EnvVarConfigProvider\n"
    )
    assert [one.subject for one in find_readable(load_settings(str(file)), str(file))] == [str(store)]


def test_files_that_secrets_are_taken_from_are_named(tmp_path: Path) -> None:
    """Those that providers read, and the keys of a Kerberos service."""
    secrets, folder, keytab = tmp_path / "secrets.properties", tmp_path / "run", tmp_path / "kafka.keytab"
    file = tmp_path / "server.properties"
    folder.mkdir()
    secrets.write_text("key=hush\nca=PEM\n")
    (folder / "token").write_text("hush")
    keytab.touch()
    file.write_text(
        "config.providers=file,dir\nconfig.providers.file.class=FileConfigProvider\n"
        "config.providers.dir.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider\n"
        f"ssl.key.password=${{file:{secrets}:key}}\nssl.truststore.certificates=${{file:{tmp_path}/ca:ca}}\n"
        f"delegation.token.secret.key=${{dir:{folder}:token}}\n"
        "listener.name.sasl_ssl.gssapi.sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required"
        f' keyTab="{keytab}" principal="kafka/host@REALM";\n'
    )
    (tmp_path / "ca").write_text("ca=PEM\n")
    found = [secrets, folder / "token", keytab]
    for mode, named in ((0o600, []), (0o644, [str(one) for one in found])):
        for one in found:
            one.chmod(mode)
        file.chmod(0o600)
        said = [one.subject for one in find_readable(load_settings(str(file)), str(file))]
        assert sorted(said) == sorted(named)
