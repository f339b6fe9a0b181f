"""The unit of a service: what systemd itself takes without a word, and what it must not misread."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.service.unit import MARK, ServiceUnit, UnitTextError, unit_text

SYSTEM = ServiceUnit(
    sys.executable, "/etc/odradek/server.properties", (), ("/var/lib/odradek",), account="root", group="root"
)
USER = ServiceUnit(sys.executable, None, ("log.dirs=/srv/x",), ("/srv/x",))
ODD = ServiceUnit(
    sys.executable,
    "/etc/a b/100%.properties",
    ("listeners=PLAINTEXT://:80", "sasl.jaas.config=x \"q\" \\ '$HOME' %h;"),
    ("/srv/a b", "/srv/%h"),
    account="root",
    group="root",
    low_ports=True,
)


def line(text: str, key: str) -> str:
    """Return the value of a key that stands there once."""
    [found] = [each.partition("=")[2] for each in text.splitlines() if each.startswith(f"{key}=")]
    return found


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", [SYSTEM, USER, ODD], ids=["system", "user", "odd"])
def test_systemd_finds_nothing_wrong(unit: ServiceUnit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`systemd-analyze verify` has nothing to say of any of them."""
    path = tmp_path / "odradek.service"
    path.write_text(unit_text(unit))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    command = ["systemd-analyze", *([] if unit.is_system else ["--user"]), "verify", "--man=no", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    ours = [each for each in done.stderr.splitlines() if "odradek" in each]
    assert (done.returncode, ours) == (0, [])


def test_the_broker_tells_when_it_serves_and_is_started_again() -> None:
    """Readiness and signs of life come from the broker, the start may take long, descriptors are many, the helper
    process is left to the broker."""
    for unit in (SYSTEM, USER):
        text = unit_text(unit)
        assert text.startswith(MARK + "\n")
        assert line(text, "Type") == "notify"
        assert line(text, "Restart") == "on-failure"
        assert line(text, "TimeoutStartSec") == "infinity"
        assert line(text, "KillMode") == "mixed"
        assert int(line(text, "LimitNOFILE")) >= 100_000
        assert int(line(text, "WatchdogSec")) > 0


def test_a_service_of_the_machine_writes_only_where_its_data_is() -> None:
    """Everything else is read-only, home directories are not seen, and no privilege is left."""
    text = unit_text(SYSTEM)
    assert line(text, "User") == "root"
    assert line(text, "ProtectSystem") == "strict"
    assert line(text, "ReadWritePaths") == line(text, "RequiresMountsFor") == "/var/lib/odradek"
    assert line(text, "ProtectHome") == "yes"
    assert line(text, "PrivateTmp") == "yes"
    assert line(text, "CapabilityBoundingSet") == ""
    assert "AmbientCapabilities" not in text
    assert line(text, "WantedBy") == "multi-user.target"


def test_what_is_needed_is_not_hidden() -> None:
    """An interpreter in a home directory stays readable, data below /tmp is the real /tmp, a port below 1024 opens."""
    home = ServiceUnit("/home/me/venv/bin/python", None, (), ("/tmp/data",), account="me", low_ports=True)
    text = unit_text(home)
    assert line(text, "ProtectHome") == "read-only"
    assert "PrivateTmp" not in text
    assert line(text, "CapabilityBoundingSet") == line(text, "AmbientCapabilities") == "CAP_NET_BIND_SERVICE"


def test_a_user_has_no_means_to_lock_a_service_in() -> None:
    """What needs root, or a user and a target of the machine, is left out."""
    text = unit_text(USER)
    for key in ("User=", "ProtectSystem", "ReadWritePaths", "CapabilityBoundingSet", "network-online"):
        assert key not in text
    assert line(text, "WantedBy") == "default.target"


def test_arguments_reach_the_broker_as_they_are() -> None:
    """Blanks, quotes, variables and specifiers of systemd stand for themselves."""
    text = unit_text(ODD)
    command = line(text, "ExecStart")
    assert '"/etc/a b/100%%.properties"' in command
    assert r'''"sasl.jaas.config=x \"q\" \\ '$$HOME' %%h;"''' in command
    assert line(text, "ReadWritePaths") == '"/srv/a b" /srv/%%h'


@pytest.mark.parametrize("text", ["a\nExecStartPre=/bin/rm", "a\x00", "a\x1b"])
def test_no_line_can_be_slipped_in(text: str) -> None:
    """A character that no unit can have is refused, wherever it stands."""
    for unit in (
        ServiceUnit(sys.executable, text, (), ("/x",)),
        ServiceUnit(sys.executable, None, (text,), ("/x",)),
        ServiceUnit(sys.executable, None, (), (text,), account="a"),
    ):
        with pytest.raises(UnitTextError, match="cannot stand in a unit"):
            unit_text(unit)
