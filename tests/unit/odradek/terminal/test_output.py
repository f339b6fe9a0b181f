"""Tables and documents, away from a terminal."""

import json

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
