"""The settings of the authorizer: Kafka's names, and what is refused at start."""

import pytest

from odradek.config.authorization import AuthorizationSettings, read_authorization
from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def read(**given: str) -> AuthorizationSettings:
    """Return what is read, with `_` for `.` in the names."""
    values = {key.replace("_", "."): value for key, value in given.items()}
    return read_authorization(values, dict.fromkeys(values, "server.properties:1"))


def test_without_an_authorizer_everybody_may() -> None:
    """Which is Kafka's default; super users without one mean nothing."""
    assert read() == AuthorizationSettings()
    assert read(super_users="User:a") == AuthorizationSettings()


def test_super_users_are_divided_by_semicolons() -> None:
    """As names in certificates have commas."""
    found = read(authorizer_class_name=STANDARD, super_users=" User:a; User:CN=b,O=c;;")
    assert found.is_on
    assert found.super_users == {"User:a", "User:CN=b,O=c"}


@pytest.mark.parametrize(("text", "allows"), [("true", True), ("TRUE", True), ("yes", False), ("", False)])
def test_default_is_read_as_java_reads_it(text: str, allows: bool) -> None:
    """Only `true` is true."""
    found = read(authorizer_class_name=STANDARD, allow_everyone_if_no_acl_found=text)
    assert found.allow_without is allows


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("com.example.Other", "no authorizer that there is here"),
        ("kafka.security.authorizer.AclAuthorizer", "ZooKeeper"),
    ],
)
def test_other_authorizers_are_refused(name: str, reason: str) -> None:
    """A broker that let people do what that one refuses would be worse than none."""
    with pytest.raises(ConfigError, match=reason):
        read(authorizer_class_name=name)


def test_super_user_that_is_no_principal_is_refused() -> None:
    """It would be nobody, and whoever wrote it thinks that it is somebody."""
    with pytest.raises(ConfigError, match="'anna' is none"):
        read(authorizer_class_name=STANDARD, super_users="User:root;anna")


def test_keys_of_the_authorizer_are_known() -> None:
    """Kafka's tables do not have them; they are no misspelt keys."""
    given = [f"authorizer.class.name={STANDARD}", "super.users=User:a", "allow.everyone.if.no.acl.found=true"]
    settings = load_settings(None, [*given, "odradek.audit.log=audit.log"])
    assert settings.warnings == ()
    assert settings.authorization.audit_log == "audit.log"
    assert "super.users" in load_settings(None, ["super.user=User:a"]).warnings[0].message
