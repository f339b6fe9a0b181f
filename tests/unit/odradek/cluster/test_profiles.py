"""Profiles in the user's configuration directory."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.cluster.profiles import HIDDEN, Profile, Profiles, configuration_directory
from odradek.terminal.errors import CommandError, WrongUsageError

SETTINGS = {"bootstrap.servers": "kafka:9092", "sasl.username": "me", "sasl.password": "a=b: #ü\\ \n"}


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    """A profile has the settings that it was given, in a file that nobody else may read."""
    profiles = Profiles(tmp_path)
    path = profiles.write(Profile("prod", SETTINGS))
    assert path.stat().st_mode & 0o777 == 0o600
    assert profiles.names() == ["prod"]
    assert profiles.read("prod").settings == SETTINGS
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_any_value_is_kept(tmp_path: Path, value: str) -> None:
    """Whatever characters a value has, it is the same when it is read again."""
    profiles = Profiles(tmp_path)
    profiles.write(Profile("prod", {"client.id": value}))
    assert profiles.read("prod").settings == {"client.id": value}


def test_secrets_are_not_shown() -> None:
    """Passwords, keys and log-ins are hidden, addresses are not."""
    shown = Profile(
        "prod",
        {
            **SETTINGS,
            "ssl.key.pem": "x",
            "ssl.key.password": "x",
            "sasl.oauthbearer.client.secret": "x",
            "sasl.oauthbearer.token.endpoint.url": "https://id",
        },
    ).shown()
    assert {key for key, value in shown.items() if value == HIDDEN} == {
        "sasl.password",
        "ssl.key.pem",
        "ssl.key.password",
        "sasl.oauthbearer.client.secret",
    }


def test_the_profile_in_use(tmp_path: Path) -> None:
    """One that exists can be chosen; it is in use no more when it is deleted or none is chosen."""
    profiles = Profiles(tmp_path)
    assert profiles.in_use() is None
    with pytest.raises(CommandError, match=r"there is no profile prod, there are none; `odradek profile set prod`"):
        profiles.use("prod")
    profiles.write(Profile("prod", SETTINGS))
    profiles.write(Profile("test", SETTINGS))
    profiles.use("prod")
    assert profiles.in_use() == "prod"
    with pytest.raises(CommandError, match="there are prod, test;"):
        profiles.use("prd")
    profiles.delete("prod")
    assert (profiles.in_use(), profiles.names()) == (None, ["test"])
    profiles.use("test")
    profiles.use(None)
    assert profiles.in_use() is None


@pytest.mark.parametrize("name", ["", "../prod", ".hidden", "a/b", "a" * 65])
def test_names_stay_in_the_directory(tmp_path: Path, name: str) -> None:
    """A name that could lead elsewhere is refused."""
    with pytest.raises(WrongUsageError, match="is no name of a profile"):
        Profiles(tmp_path).write(Profile(name, SETTINGS))


def test_where_the_configuration_is() -> None:
    """XDG_CONFIG_HOME if it is a whole path, else .config in the home directory."""
    assert configuration_directory({"XDG_CONFIG_HOME": "/etc/me", "HOME": "/home/me"}) == Path("/etc/me/odradek")
    assert configuration_directory({"XDG_CONFIG_HOME": "me", "HOME": "/home/me"}) == Path("/home/me/.config/odradek")
