"""Values that stand elsewhere: what a reference leads to, and what is said where it leads nowhere."""

from pathlib import Path

import pytest

from odradek.config.errors import ConfigError
from odradek.config.loading import load_settings

CLASS = "class=org.apache.kafka.common.config.provider."
FILE = ["config.providers=file", f"config.providers.file.{CLASS}FileConfigProvider"]
ENV = ["config.providers=env", f"config.providers.env.{CLASS}EnvVarConfigProvider"]
DIRECTORY = ["config.providers=dir", f"config.providers.dir.{CLASS}DirectoryConfigProvider"]


def rack(*overrides: str) -> str | None:
    return load_settings(None, overrides).broker_rack


def test_a_reference_leads_to_a_key_of_a_file(tmp_path: Path) -> None:
    """Several in one value, and among other text."""
    (tmp_path / "secrets").write_text("a=one\nb.c=two\n")
    text = f"broker.rack=x ${{file:{tmp_path}/secrets:a}}-${{file:{tmp_path}/secrets:b.c}} y"
    settings = load_settings(None, [*FILE, text])
    assert settings.broker_rack == "x one-two y"
    assert settings.warnings == ()


def test_a_reference_leads_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_TEST_RACK", "r1")
    assert rack(*ENV, "broker.rack=${env:ODRADEK_TEST_RACK}") == "r1"
    allowed = "config.providers.env.param.allowlist.pattern=OTHER_.*"
    with pytest.raises(ConfigError, match="allowlist"):
        rack(*ENV, allowed, "broker.rack=${env:ODRADEK_TEST_RACK}")


def test_a_reference_leads_to_a_file_of_a_directory(tmp_path: Path) -> None:
    """As secrets are mounted into containers."""
    (tmp_path / "rack").write_text("r2")
    assert rack(*DIRECTORY, f"broker.rack=${{dir:{tmp_path}:rack}}") == "r2"
    with pytest.raises(ConfigError, match="by its name"):
        rack(*DIRECTORY, f"broker.rack=${{dir:{tmp_path}:../rack}}")


def test_without_providers_nothing_is_a_reference() -> None:
    """As in Kafka; nor is it one to a provider that is not named."""
    assert rack("broker.rack=${env:HOME}") == "${env:HOME}"
    assert rack(*ENV, "broker.rack=${vault:a:b}") == "${vault:a:b}"


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ([*FILE, "broker.rack=${file:/nothing/here:a}"], r"broker\.rack: \$\{file:/nothing/here:a\} leads nowhere"),
        ([*ENV, "broker.rack=${env:ODRADEK_TEST_NOT_THERE}"], "no such variable"),
        (["config.providers=file"], "file.class is missing"),
        (["config.providers=file", "config.providers.file.class=com.example.Vault"], "expected one of"),
        ([*FILE, "config.providers.file.param.allowed.paths=/srv", "broker.rack=${file:/etc/x:a}"], r"allowed\.paths"),
        ([*ENV, "config.providers.env.param.allowlist.pattern=("], "regular expression"),
    ],
)
def test_a_reference_that_leads_nowhere_keeps_the_broker_from_starting(overrides: list[str], problem: str) -> None:
    """It would be taken for the value."""
    with pytest.raises(ConfigError, match=problem):
        load_settings(None, overrides)


def test_what_a_reference_leads_to_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value is shown as it stands in the file."""
    monkeypatch.setenv("ODRADEK_TEST_SECRET", "hush")
    with pytest.raises(ConfigError, match=r"num\.partitions=\$\{env:ODRADEK_TEST_SECRET\}: ") as caught:
        load_settings(None, [*ENV, "num.partitions=${env:ODRADEK_TEST_SECRET}"])
    assert "hush" not in str(caught.value)


def test_a_link_does_not_lead_out_of_the_allowed_paths(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secrets").write_text("a=1\n")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secrets")
    allowed = f"config.providers.file.param.allowed.paths={tmp_path}/in"
    with pytest.raises(ConfigError, match=r"allowed\.paths"):
        rack(*FILE, allowed, f"broker.rack=${{file:{tmp_path}/in/link:a}}")
