"""The audit log: a line for each event, as JSON, not too many of them, in a file that may be moved away."""

import json
import os
import stat
from pathlib import Path

import pytest

from odradek.broker.runtime import audit
from odradek.broker.runtime.audit import BURST, LOOK_AGAIN_S, PER_SECOND, AuditLog


class Clock:
    """A clock that stands still."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def lines(path: Path) -> list[dict[str, object]]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_are_json_that_only_the_owner_can_read(tmp_path: Path) -> None:
    """A name with a line break in it cannot make a line of its own."""
    path = tmp_path / "audit.log"
    log = AuditLog(str(path))
    log.write("refused", {"principal": "User:a\n{}", "resource": "Topic:LITERAL:ä"})
    log.close()
    (line,) = lines(path)
    assert line["event"] == "refused"
    assert line["principal"] == "User:a\n{}"
    assert str(line["timestamp"]).endswith("Z")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_flood_is_counted_and_told_when_it_is_over(tmp_path: Path) -> None:
    """A client that is refused a million times fills no disk."""
    path, clock = tmp_path / "audit.log", Clock()
    log = AuditLog(str(path), clock)
    for _ in range(BURST + 500):
        log.write("refused", {})
    assert len(lines(path)) == BURST
    clock.now = 10 / PER_SECOND
    log.write("refused", {})
    assert lines(path)[BURST] == {"timestamp": lines(path)[BURST]["timestamp"], "event": "lines left out", "count": 500}
    assert len(lines(path)) == BURST + 2
    log.close()


def test_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    """As logrotate does; it is looked for from time to time."""
    path, clock = tmp_path / "audit.log", Clock()
    log = AuditLog(str(path), clock)
    log.write("one", {})
    path.rename(tmp_path / "audit.log.1")
    log.write("two", {})
    clock.now = LOOK_AGAIN_S
    log.write("three", {})
    assert [line["event"] for line in lines(tmp_path / "audit.log.1")] == ["one", "two"]
    assert [line["event"] for line in lines(path)] == ["three"]
    log.close()


def test_without_a_file_changes_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be too many for the broker's own log; with one, everything is."""
    path = tmp_path / "audit.log"
    monkeypatch.setattr(audit, "_current", AuditLog())
    assert not audit.audit_log().has_file
    audit.changed("User:a", "h", "L", "CreateTopics", [{"topic": "t"}])
    monkeypatch.setattr(audit, "_current", AuditLog(str(path)))
    audit.changed("User:a", "h", "L", "CreateTopics", [{"topic": "t"}])
    audit.refused("User:a", "h", "Fetch", "READ", "Topic:LITERAL:t", "DefaultDeny")
    audit.failed_authentication("h", "L", "PLAIN", "no such user", "User:b")
    assert [line["event"] for line in lines(path)] == ["changed", "refused", "authentication failed"]
    audit.audit_log().close()
