"""`odradek secure`: what init makes is closed, and check says what is not."""

import json
import stat
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.config.loading import load_settings
from odradek.config.tls import read_tls
from odradek.tls.certificates import first_certificate, read_certificate
from odradek.tls.contexts import server_context


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, str]]]:
    """Run the command; return its exit code and what it found."""
    code = run(["secure", "check", "--json", *arguments])
    document = json.loads(capsys.readouterr().out)
    return code, document["findings"]


def test_what_init_makes_can_be_served_and_has_nothing_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The certificate is for the names that were given and for this machine; only its owner reads what is secret."""
    directory = tmp_path / "secure"
    assert run(["secure", "init", str(directory), "--host", "kafka.example.com", "--port", "9093", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bootstrap_server"] == "kafka.example.com:9093"
    settings = load_settings(str(directory / "server.properties"))
    assert settings.warnings == ()
    (listener,) = settings.listeners
    loaded = server_context(read_tls(settings.of_listener(listener.name), listener.protocol))
    assert loaded.certificate is not None
    assert len(loaded.certificate.alternative_names) == 4
    for file in document["files"]:
        mode = stat.S_IMODE(Path(file["file"]).stat().st_mode)
        assert mode == (0o600 if file["is_secret"] else 0o644)
    assert check(capsys, str(directory / "server.properties")) == (0, [])


def test_the_password_is_shown_to_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is in the files that need it, and each time another."""
    for name in "ab":
        assert run(["secure", "init", str(tmp_path / name)]) == 0
    shown = capsys.readouterr()
    secrets = {(tmp_path / name / "admin.secret").read_text() for name in "ab"}
    assert len(secrets) == 2
    assert not any(secret in shown.out + shown.err for secret in secrets)
    broker = (tmp_path / "a" / "server.properties").read_text()
    assert not any(secret in broker for secret in secrets)


def test_nothing_that_is_there_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key may be the only one."""
    (tmp_path / "ca.key").write_text("mine")
    assert run(["secure", "init", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "ca.key").read_text() == "mine"


def test_a_host_that_is_no_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["secure", "init", str(tmp_path / "new"), "--host", "kéfka"]) == 2
    assert "no name of a host" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_check_names_what_is_open_the_worst_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is for scripts: 1 where something is."""
    code, found = check(capsys, "--override", "listeners=PLAINTEXT://:9092")
    assert code == 1
    assert [(one["danger"], one["subject"]) for one in found] == [
        ("open", "listener PLAINTEXT://:9092"),
        ("weak", "authorizer.class.name"),
    ]


def test_check_opens_the_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A listener that could not speak TLS is found before a start."""
    code, found = check(
        capsys,
        "--override",
        "listeners=SSL://127.0.0.1:1",
        "--override",
        "ssl.keystore.type=PEM",
        "--override",
        f"ssl.keystore.location={tmp_path}/none.pem",
    )
    assert code == 1
    assert "cannot speak TLS" in found[0]["problem"]


def test_a_configuration_that_cannot_be_read_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["secure", "check", "--override", "listeners=x"]) == 2
    assert "listeners=x" in capsys.readouterr().err


def test_certificate_signs_keys_for_clients_and_renews_that_of_the_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the authority that init has made; a file that is there is only replaced where that is said."""
    directory = str(tmp_path / "secure")
    assert run(["secure", "init", directory, "--host", "kafka.example.com"]) == 0
    server = tmp_path / "secure" / "server.pem"
    before = server.read_text()
    assert run(["secure", "certificate", directory, "server", "--host", "kafka.example.com"]) == 2
    assert server.read_text() == before
    capsys.readouterr()
    renew = ["secure", "certificate", directory, "server", "--host", "kafka.example.com", "--replace", "--json"]
    assert run(renew) == 0
    assert json.loads(capsys.readouterr().out)["replaced"] is True
    assert server.read_text() != before
    assert stat.S_IMODE(server.stat().st_mode) == 0o600
    old, new = (read_certificate(first_certificate(text)) for text in (before, server.read_text()))
    assert (old.subject, old.alternative_names) == (new.subject, new.alternative_names)
    assert run(["secure", "certificate", directory, "anna"]) == 0
    anna = read_certificate(first_certificate((tmp_path / "secure" / "anna.pem").read_text()))
    assert (anna.subject, anna.alternative_names) == ("CN=anna", frozenset())


@pytest.mark.parametrize("name", ["../anna", "ca", ""])
def test_certificate_writes_nothing_beside_the_directory_nor_over_the_authority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    directory = tmp_path / "secure"
    assert run(["secure", "init", str(directory)]) == 0
    authority = (directory / "ca.pem").read_text()
    assert run(["secure", "certificate", str(directory), name, "--replace"]) == 2
    assert (directory / "ca.pem").read_text() == authority


def test_certificate_needs_an_authority(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence names the file that is missing."""
    assert run(["secure", "certificate", str(tmp_path), "anna"]) == 1
    assert "ca.key" in capsys.readouterr().err
