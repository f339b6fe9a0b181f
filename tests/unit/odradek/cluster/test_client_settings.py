"""The file of client settings."""

from pathlib import Path

import pytest

from odradek.cluster.client_settings import read_client_settings, refusal
from odradek.terminal.errors import WrongUsageError


def _read(directory: Path, text: str) -> dict[str, str]:
    path = directory / "client.properties"
    path.write_text(text)
    return read_client_settings(path)


def test_settings_keep_their_names(tmp_path: Path) -> None:
    """The file is a properties file as Kafka reads it."""
    text = "# mine\nsecurity.protocol = SASL_SSL\nsasl.mechanism:PLAIN\n"
    assert _read(tmp_path, text) == {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}


SECURITY = "org.apache.kafka.common.security"


@pytest.mark.parametrize(
    "login",
    [
        f'{SECURITY}.plain.PlainLoginModule required username="me" password="a\\\\"b=;c";',
        f'{SECURITY}.scram.ScramLoginModule required \\\n  username="me" \\\n  password="a\\\\"b=;c" ;',
    ],
)
def test_user_and_password_of_java(tmp_path: Path, login: str) -> None:
    """Java's sasl.jaas.config becomes librdkafka's two settings."""
    found = _read(tmp_path, f"sasl.jaas.config={login}\n")
    assert found == {"sasl.username": "me", "sasl.password": 'a"b=;c'}


@pytest.mark.parametrize("login", ["x", "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;", ""])
def test_another_login_of_java_is_refused(tmp_path: Path, login: str) -> None:
    """The error names file and line."""
    with pytest.raises(
        WrongUsageError, match=r"client.properties:2: sasl.jaas.config: .*(set sasl.username|expected: the class)"
    ):
        _read(tmp_path, f"\nsasl.jaas.config={login}\n")


def test_refusals_in_words() -> None:
    """A setting that librdkafka does not know is named; anything else is told in its words."""
    assert refusal('No such configuration property: "x.y"').startswith("x.y is no setting of this Kafka client")
    assert refusal("sasl.username must be set") == "the client settings cannot be used: sasl.username must be set"
