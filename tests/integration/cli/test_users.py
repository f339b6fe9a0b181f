"""`odradek users`: users of SCRAM in a cluster, and users of PLAIN in a file."""

import os
from pathlib import Path

import pytest

from odradek.protocol.scram_users import parse_users
from tests.integration.cli import Cli


def listed(cli: Cli, *arguments: str) -> dict[str, list[str]]:
    """Return the mechanisms of each user."""
    document = cli("users", "list", *arguments, "--json").json
    return {user["name"]: [one["mechanism"] for one in user["mechanisms"]] for user in document["users"]}


def test_a_user_comes_changes_and_goes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password comes from a variable, the terminal or another program; it is never on the command line."""
    monkeypatch.setenv("SECRET", "geheim")
    assert cli("users", "create", "ute", "--password-env", "SECRET").code == 0
    assert listed(cli)["ute"] == ["SCRAM-SHA-512"]
    again = cli("users", "create", "ute", stdin=b"x\n")
    assert again.code != 0
    assert "there is a user ute already" in again.error
    assert cli("users", "alter", "ute", "--mechanism", "scram-sha-256", stdin=b"x\n").code == 0
    assert listed(cli, "ute") == {"ute": ["SCRAM-SHA-256", "SCRAM-SHA-512"]}
    assert cli("users", "delete", "ute", "--mechanism", "SCRAM-SHA-512").code == 0
    assert listed(cli)["ute"] == ["SCRAM-SHA-256"]
    assert cli("users", "delete", "ute").code == 0
    assert "ute" not in listed(cli)
    for command in ("delete", "alter"):
        gone = cli("users", command, "ute", stdin=b"x\n")
        assert (gone.code != 0, "there is no user ute" in gone.error) == (True, True)


@pytest.mark.parametrize(
    ("arguments", "stdin", "sentence"),
    [
        (("--mechanism", "PLAIN"), b"x\n", "PLAIN is none of SCRAM-SHA-256, SCRAM-SHA-512"),
        ((), b"\n", "the password is empty"),
        ((), b"x" * 5000 + b"\n", "more than 4096 bytes"),
        (("--password-env", "NOWHERE"), b"", "there is no variable NOWHERE"),
        (("--password-file", "/nowhere/x"), b"", "cannot be read"),
        (("--password-file", "/x", "--password-env", "X"), b"", "either --password-file or --password-env"),
        (("--iterations", "100"), b"x\n", "4096<=x<=16384"),
    ],
)
def test_what_makes_no_user_is_refused(cli: Cli, arguments: tuple[str, ...], stdin: bytes, sentence: str) -> None:
    """Before anything is sent."""
    refused = cli("users", "create", "nina", *arguments, stdin=stdin)
    assert refused.code != 0
    assert sentence in " ".join(refused.error.split())
    assert "nina" not in listed(cli)


def test_users_in_a_file_need_no_cluster(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has hashes, is its owner's alone, and keeps its rights where it is changed."""
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", "127.0.0.1:1")
    path, secret = tmp_path / "users", tmp_path / "secret"
    secret.write_text("geheim\n")
    at = ("--file", str(path))
    assert cli("users", "create", "ute", *at, "--password-file", str(secret)).code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    assert cli("users", "create", "max", *at, stdin=b"x\n").code == 0
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(listed(cli, *at)) == ["max", "ute"]
    before = parse_users(path.read_bytes(), "f")["ute"]
    assert cli("users", "alter", "ute", *at, stdin=b"other\n").code == 0
    assert parse_users(path.read_bytes(), "f")["ute"] != before
    assert cli("users", "delete", "max", *at).code == 0
    assert list(listed(cli, *at)) == ["ute"]
    assert b"geheim" not in path.read_bytes()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
    assert cli("users", "create", "a:b", *at, stdin=b"x\n").code != 0
    assert cli("users", "list", "nobody", *at).code != 0
    path.write_text("no line of a user\n")
    assert "users:1 is no line of a user" in cli("users", "list", *at).error
