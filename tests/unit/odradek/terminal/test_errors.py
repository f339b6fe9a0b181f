"""Errors in one sentence."""

import pytest

from odradek.terminal.errors import CommandError, WrongUsageError, report


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CommandError("it is gone; look elsewhere"), 1, "odradek: it is gone; look elsewhere\n"),
        (WrongUsageError("that is no number"), 2, "odradek: that is no number\n"),
        (FileNotFoundError(2, "No such file", "x.txt"), 1, "odradek: x.txt: No such file\n"),
        (
            UnicodeEncodeError("utf-8", "gr\udcfc", 2, 3, "surrogates not allowed"),
            1,
            "odradek: the terminal's encoding lacks a character that is needed here; LC_ALL=C.UTF-8 has all of them\n",
        ),
        (ValueError("a\nb"), 1, "odradek: unexpected ValueError: a b; --debug shows where\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_reports(error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on standard error, nothing on standard output, and the exit code for it."""
    assert report(error, debug=False) == code
    assert capsys.readouterr() == ("", said)


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """It comes before the sentence."""
    error = CommandError("no")
    error.__cause__ = KeyError("cause")
    assert report(error, debug=True) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("KeyError: 'cause'")
    assert shown.endswith("odradek: no\n")
