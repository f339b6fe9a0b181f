"""Tables and documents, away from a terminal."""

import io
import json
import re
import sys

import pytest
from rich.text import Text

from odradek.terminal.output import CommandOutput


def test_a_table_is_aligned_and_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns are as wide as their widest cell, numbers right-aligned, lines without blanks at the end."""
    long = "x" * 500
    CommandOutput().table(["NAME", ">COUNT", "REST"], [["a", 5, Text("[b]", "red")], [long, 1000, None]])
    pad = " " * 499
    assert capsys.readouterr().out.splitlines() == [
        "NAME" + " " * 496 + "  COUNT  REST",
        f"a{pad}      5  [b]",
        f"{long}   1000  -",
    ]


def test_a_document_keeps_order_and_letters(capsys: pytest.CaptureFixture[str]) -> None:
    """Fields stand as they were given, and letters are not escaped."""
    CommandOutput(json=True).document({"b": "ü", "a": [1]})
    shown = capsys.readouterr().out
    assert shown.startswith('{\n  "b": "ü"')
    assert json.loads(shown) == {"b": "ü", "a": [1]}


def test_no_progress_away_from_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard error stays empty for scripts."""
    with CommandOutput().progress() as progress:
        progress.update(progress.add_task("work", total=10), completed=5)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    """A terminal of 40 columns."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_a_table_that_is_too_wide_for_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows stand upright, with every value whole."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    for name, value in (("COLUMNS", "40"), ("NO_COLOR", "1"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    CommandOutput().table(["NAME", ">COUNT", "ID", ""], [["a" * 20, 5, "b" * 20, "###"], ["c", 6, "d", "#"]])
    assert re.sub("\x1b\\[[0-9;]*m", "", terminal.getvalue()).splitlines() == [
        f"NAME   {'a' * 20}",
        "COUNT  5",
        f"ID     {'b' * 20}",
        "",
        "NAME   c",
        "COUNT  6",
        "ID     d",
    ]


def test_a_terminal_without_the_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are drawn with others, letters are replaced, and JSON stays what it says."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    CommandOutput().line("\u2588\u2588\u2591 \u00fc \udcff")
    CommandOutput().document({"a": "\u00fc"})
    first, document = written.getvalue().split(b"\n", 1)
    assert first == b"##- ? ?"
    assert json.loads(document) == {"a": "\u00fc"}
