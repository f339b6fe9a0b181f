"""Which cluster a command line means."""

from pathlib import Path

import pytest

from odradek.cli.target import ClusterArguments, ClusterTarget, cluster_arguments, cluster_target
from odradek.cluster.profiles import Profile, Profiles
from odradek.terminal.errors import CommandError, WrongUsageError

PROD = {"bootstrap.servers": "prod:9092", "sasl.password": "secret"}


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    """Two profiles, of which `prod` is in use."""
    found = Profiles(tmp_path)
    found.write(Profile("prod", PROD))
    found.write(Profile("test", {"bootstrap.servers": "test:9092"}))
    found.use("prod")
    return found


def test_the_closest_address_counts(profiles: Profiles) -> None:
    """The option, then settings, then a named profile, then the environment, then the profile in use."""
    environment = {"ODRADEK_BOOTSTRAP": "env:1"}
    given = ClusterArguments("option:1", profile="test", settings=["bootstrap.servers=setting:1"])
    for expected, options, where in (
        ("option:1", given, environment),
        ("setting:1", ClusterArguments(profile="test", settings=["bootstrap.servers=setting:1"]), environment),
        ("test:9092", ClusterArguments(profile="test"), environment),
        ("test:9092", ClusterArguments(), {**environment, "ODRADEK_PROFILE": "test"}),
        ("env:1", ClusterArguments(), environment),
        ("prod:9092", ClusterArguments(), {}),
    ):
        assert cluster_target(options, where, profiles).bootstrap == expected
    profiles.use(None)
    assert cluster_target(ClusterArguments(), {}, profiles) == ClusterTarget("127.0.0.1:9092", {})


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (ClusterArguments("other:1"), {}),
        (ClusterArguments(settings=["bootstrap.servers=other:1"]), {}),
        (ClusterArguments(), {"ODRADEK_BOOTSTRAP": "other:1"}),
    ],
)
def test_passwords_of_the_profile_in_use_go_nowhere_else(
    profiles: Profiles, options: ClusterArguments, environment: dict[str, str]
) -> None:
    """Where another address is given, the profile that nobody named says nothing."""
    assert "sasl.password" not in cluster_target(options, environment, profiles).settings


def test_settings_go_over_those_of_the_profile(profiles: Profiles, tmp_path: Path) -> None:
    """-X counts more than the file, the file more than the profile."""
    file = tmp_path / "client.properties"
    file.write_text("sasl.password=of the file\nclient.id=file\n")
    found = cluster_target(
        ClusterArguments(command_config=file, settings=["client.id=x"], profile="prod"), {}, profiles
    )
    assert found == ("prod:9092", {**PROD, "sasl.password": "of the file", "client.id": "x"})


def test_what_cannot_be_understood(profiles: Profiles) -> None:
    """A profile that there is not and a setting that is none are named."""
    with pytest.raises(CommandError, match="there is no profile stage, there are prod, test; `odradek profile set"):
        cluster_target(ClusterArguments(profile="stage"), {}, profiles)
    with pytest.raises(WrongUsageError, match="-X 'x' is no NAME=VALUE"):
        cluster_target(ClusterArguments(settings=["x"]), {}, profiles)
    with pytest.raises(WrongUsageError, match=r"^-X: ssl.truststore.location: only stores of type PEM"):
        cluster_target(ClusterArguments(settings=["ssl.truststore.location=a.jks"]), {}, profiles)


def test_options_are_found_among_arguments() -> None:
    """What was not given says nothing."""
    given = {"bootstrap_server": "a:1", "command_config": None, "profile": "", "settings": None, "topic": "t"}
    assert cluster_arguments(given) == ClusterArguments("a:1")
