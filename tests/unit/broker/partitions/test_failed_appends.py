"""Appends that fail one after the other."""

import pytest

from odradek.broker.partitions import failed_appends
from odradek.broker.partitions.failed_appends import FailedAppends


class Lines:
    """Takes the place of a log."""

    def __init__(self) -> None:
        self.written: list[tuple[str, object]] = []

    def error(self, _event: str, **fields: object) -> None:
        """Keep what is wrong, and for how often."""
        self.written.append((str(fields["reason"]), fields["failures"]))

    def info(self, event: str, **fields: object) -> None:
        """Keep what is well again."""
        self.written.append((event, fields["failures"]))


def test_a_lasting_failure_is_told_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first time, at ten times as many, when the reason becomes another one, and when it is over."""
    lines = Lines()
    monkeypatch.setattr(failed_appends, "log", lines)
    failures = FailedAppends("t", 0)
    for _ in range(150):
        failures.failed("no space")
    assert lines.written == [("no space", 1), ("no space", 10), ("no space", 100)]
    failures.failed("no disk")
    failures.over()
    assert lines.written[3:] == [("no disk", 151), ("appends go well again", 151)]
