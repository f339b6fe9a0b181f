"""What a person sees of a running job."""

from io import StringIO

import pytest

from odradek.commands.pipeline_display import JobDisplay
from odradek.pipeline.progress import BatchProgress
from odradek.terminal.output import CommandOutput

BATCH = BatchProgress(batch=7, rows=1200, seconds=2.0, rows_per_second=600.0, lag=30)


class Terminal(StringIO):
    """What a terminal has been told."""

    def isatty(self) -> bool:
        """Say yes."""
        return True

    def now(self) -> str:
        """Return the line that stands there."""
        return self.getvalue().rpartition("\r\x1b[K")[2]


def test_a_terminal_has_a_line_of_now() -> None:
    """It says what is done, for how long, and how fast the last micro-batch was; nothing of it stays."""
    terminal, now = Terminal(), [0.0]
    display = JobDisplay(CommandOutput(), stream=terminal, clock=lambda: now[0])
    display.doing("starting Spark (local)")
    now[0] = 3.0
    display.tick()
    assert terminal.now() == "starting Spark (local), 3.00 s"
    display.running()
    assert terminal.now() == "waiting for records, 0.00 s"
    display.working(7)
    display.tick()
    assert terminal.now() == "batch 7 in work, 0.00 s"
    display.finished(BATCH)
    assert terminal.now() == ""
    now[0] = 5.0
    display.tick()
    assert terminal.now() == "after batch 7 (600 records/s, 30 behind): waiting for records, 2.00 s"
    with display.shown():
        pass
    assert terminal.now() == ""


@pytest.mark.parametrize("json", [False, True])
def test_a_file_has_lines_of_batches_alone(json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Away from a terminal, and beside JSON, there is one line for each micro-batch."""
    display = JobDisplay(CommandOutput(json=json), stream=Terminal() if json else StringIO())
    display.doing("starting Spark")
    with display.shown():
        display.running()
        display.tick()
        display.finished(BATCH)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith('{"batch": 7' if json else "batch 7: 1,200 records in 2.00 s, 600 records/s, 30 behind")


def test_results_are_not_mixed_with_the_line_of_now() -> None:
    """A job that writes to the terminal itself has no such line once it runs."""
    terminal = Terminal()
    display = JobDisplay(CommandOutput(), prints_results=True, stream=terminal)
    display.running()
    display.working(0)
    display.tick()
    assert terminal.now() == ""
