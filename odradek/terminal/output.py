"""What a command prints: tables for people, one JSON document for programs, progress on standard error.

Colours and progress only on a terminal. Away from one a table is as wide as its content: nothing is folded or cut.
rich is imported where something is drawn with it: many commands end without a table, and few show progress.
"""

from __future__ import annotations

import io
import json
import select
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

UNBOUNDED_WIDTH = 1 << 16


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """Where a command prints; `json` says that a program reads it."""

    json: bool = False
    debug: bool = False

    def document(self, value: object) -> None:
        """Print a value as one JSON document; its dictionaries' order is that of the output."""
        self.text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print rows under their headings, aligned; a heading that begins with `>` makes its column right-aligned.

        None is shown as `-`; a `rich.text.Text` keeps its style on a terminal.
        """
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
        for column in columns:
            justify = "right" if column.startswith(">") else "left"
            table.add_column(column.removeprefix(">"), justify=justify, overflow="fold")  # type: ignore[arg-type]
        for row in rows:
            table.add_row(*(cell if isinstance(cell, Text) else Text(_shown(cell)) for cell in row))
        self.text(_rendered(table, sys.stdout))

    def heading(self, text: str) -> None:
        """Print a line that stands above a table."""
        from rich.text import Text

        self.text(_rendered(Text(text, style="bold"), sys.stdout))

    def line(self, text: str = "") -> None:
        """Print one line, as it is."""
        self.text(text + "\n")

    def text(self, text: str) -> None:
        """Print text as it is; what is no Unicode text in a name or a key is shown with replacement characters."""
        sys.stdout.write(text if text.isascii() else text.encode("utf-8", "replace").decode())
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Tell the person something that is no result: one line on standard error."""
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    def progress(self, *, in_bytes: bool = False) -> Progress:
        """Return a progress display on standard error, to be used in `with`; it shows nothing away from a terminal.

        `add_task(description, total=N)` and `update(task, completed=n)` are rich's; counts are bytes if `in_bytes`.
        """
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        amount: ProgressColumn = DownloadColumn(binary_units=True) if in_bytes else MofNCompleteColumn()
        console = Console(stderr=True)
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            amount,
            Remaining(),
            console=console,
            transient=True,
            redirect_stdout=False,  # what is printed may go to a file while the display is on a terminal
            disable=not console.is_terminal,
        )


def nobody_reads(stream: BinaryIO) -> bool:
    """Return whether what a stream writes to is a pipe or a socket whose reader has gone, as with `| head`."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))
    except (OSError, ValueError):  # no descriptor, or closed already
        return False


def _shown(cell: object) -> str:
    return "-" if cell is None else str(cell)


def _rendered(renderable: Table | Text, stream: TextIO) -> str:
    from rich.console import Console
    from rich.text import Text

    outer = Console(file=stream)
    inner = Console(
        file=io.StringIO(),
        force_terminal=outer.is_terminal,
        color_system=outer.color_system if outer.is_terminal else None,  # type: ignore[arg-type]
        no_color=outer.no_color,
        width=outer.width if outer.is_terminal else UNBOUNDED_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with inner.capture() as capture:
        inner.print(renderable, soft_wrap=isinstance(renderable, Text))
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())
