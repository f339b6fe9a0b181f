"""`odradek profile`, and options before the command."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from odradek.cli.app import run
from tests.support.documents import check_documents


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration directory of the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("ODRADEK_BOOTSTRAP", "ODRADEK_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "odradek"


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    output = capsys.readouterr().out
    check_documents(arguments, output)
    found: dict[str, object] = json.loads(output)
    return found


def test_a_profile_from_first_to_last(capsys: pytest.CaptureFixture[str], configuration: Path) -> None:
    """Kept, changed, chosen, shown without its secrets, deleted."""
    assert run(["profile", "list"]) == 0
    assert "no profiles yet" in capsys.readouterr().err
    kept = _json(capsys, "profile", "set", "prod", "-b", "kafka:9092", "-X", "sasl.password=x", "-X", "client.id=a")
    shown = {"bootstrap.servers": "kafka:9092", "sasl.password": "(secret)", "client.id": "a"}
    file = str(configuration / "profiles" / "prod.properties")
    assert kept == {"name": "prod", "in_use": False, "settings": shown, "file": file}
    assert _json(capsys, "profile", "use", "prod") == {"in_use": "prod"}
    changed = _json(capsys, "profile", "set", "prod", "-X", "client.id=b", "--remove", "sasl.password")
    assert changed["settings"] == {"bootstrap.servers": "kafka:9092", "client.id": "b"}
    assert _json(capsys, "profile", "show", "prod")["in_use"] is True
    assert _json(capsys, "profile", "list") == {"profiles": [_json(capsys, "profile", "show", "prod")]}
    assert run(["profile", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["*", "prod", "kafka:9092"]
    assert _json(capsys, "profile", "use", "--none") == {"in_use": None}
    assert _json(capsys, "profile", "delete", "prod") == {"deleted": ["prod"]}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["profile", "set", "prod"], "nothing to keep"),
        (["profile", "set", "prod", "-X", "a=b"], "profile prod would not say where its cluster is"),
        (["profile", "set", "prod", "-b", "kafka:x"], "'kafka:x' is no address to connect to"),
        (["profile", "set", "prod", "-b", "kafka:1", "--remove", "x"], "profile prod has no x"),
        (["profile", "use"], "give either the name of a profile or --none"),
        (["profile", "show", "prod"], "there is no profile prod"),
    ],
)
def test_what_cannot_be_kept(capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    """The error says what is missing, and nothing is kept."""
    assert run(arguments) != 0
    assert sentence in capsys.readouterr().err
    assert run(["profile", "list"]) == 0
    assert capsys.readouterr().out == ""


def test_options_may_stand_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """They are the command's own, which count more where both are given."""
    assert run(["--json", "-b", "kafka:1", "-X", "client.id=a", "profile", "set", "one"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"] == {"bootstrap.servers": "kafka:1", "client.id": "a"}
    assert run(["--json", "-b", "kafka:1", "-X", "a=1", "profile", "set", "two", "-b", "kafka:2", "-X", "a=2"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"] == {"bootstrap.servers": "kafka:2", "a": "2"}


def test_a_variable_that_counts_more_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has chosen a profile learns that this shell goes elsewhere all the same."""
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "other:9092")
    assert run(["profile", "set", "prod", "-b", "kafka:9092"]) == 0
    assert run(["profile", "use", "prod"]) == 0
    assert capsys.readouterr().err == "ODRADEK_BOOTSTRAP is set to other:9092 here, and counts more\n"


@pytest.mark.parametrize("line", ["odradek profile use p", "odradek topics list --profile p", "odradek --profile p"])
def test_names_of_profiles_are_completed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Wherever one may stand."""
    for name in ("prod", "play", "staging"):
        assert run(["profile", "set", name, "-b", "kafka:9092"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("_ODRADEK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    with suppress(SystemExit):
        run([])
    assert capsys.readouterr().out.split() == ["play", "prod"]
