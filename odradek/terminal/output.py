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

from odradek.terminal.layout import GAP, LEAST, TableLayout, fit

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

UNBOUNDED_WIDTH = 1 << 16
_IN_ASCII = str.maketrans({**dict.fromkeys("█▉▊▋▌▍▎▏", "#"), "░": "-", "·": ".", "…": "~", "–": "-", "→": ">"})
"""For pictures on a terminal without their letters."""


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """Where a command prints; `json` says that a program reads it."""

    json: bool = False
    debug: bool = False

    def document(self, value: object) -> None:
        """Print a value as one JSON document; its dictionaries' order is that of the output."""
        self.text(json.dumps(value, indent=2, ensure_ascii=not _takes_all_letters(sys.stdout)) + "\n")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print rows under their headings, aligned; a heading that begins with `>` makes its column right-aligned.

        None is shown as `-`; a `rich.text.Text` keeps its style on a terminal.
        """
        from rich.console import Console
        from rich.text import Text

        headings = [each.removeprefix(">") for each in columns]
        cells = [[each if isinstance(each, Text) else Text(_shown(each)) for each in row] for row in rows]
        widths = [
            max([len(headings[number]), *(row[number].cell_len for row in cells)]) for number in range(len(columns))
        ]
        outer = Console(file=sys.stdout)
        layout = fit(headings, widths, outer.width if outer.is_terminal else UNBOUNDED_WIDTH)
        draw = _upright if layout.is_upright else _table
        self.text(_rendered(draw(columns, cells, layout), sys.stdout))

    def heading(self, text: str) -> None:
        """Print a line that stands above a table."""
        from rich.text import Text

        self.text(_rendered(Text(text, style="bold"), sys.stdout))

    def line(self, text: str = "") -> None:
        """Print one line, as it is."""
        self.text(text + "\n")

    def text(self, text: str) -> None:
        """Print text as it is, with replacement characters for what is no Unicode or has no letter on a terminal.

        Names and keys may hold any bytes.
        """
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()
            if not _takes_all_letters(sys.stdout):
                encoding = sys.stdout.encoding
                text = text.translate(_IN_ASCII).encode(encoding, "replace").decode(encoding)
        sys.stdout.write(text)
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


def _takes_all_letters(stream: TextIO) -> bool:
    return (stream.encoding or "utf-8").lower().replace("_", "-").startswith("utf")


def _table(columns: Sequence[str], rows: Sequence[Sequence[Text]], layout: TableLayout) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", show_edge=False)
    for number in layout.columns:
        justify = "right" if columns[number].startswith(">") else "left"
        table.add_column(
            columns[number].removeprefix(">"),
            justify=justify,  # type: ignore[arg-type]
            overflow="fold",
            no_wrap=number not in layout.folded,
            min_width=LEAST if number in layout.folded else None,
        )
    for row in rows:
        table.add_row(*(row[number] for number in layout.columns))
    return table


def _upright(columns: Sequence[str], rows: Sequence[Sequence[Text]], layout: TableLayout) -> Text:
    from rich.text import Text

    headings = {number: columns[number].removeprefix(">") for number in layout.columns}
    widest = max(map(len, headings.values())) + GAP
    shown = [
        Text("\n").join(
            Text.assemble((headings[number].ljust(widest), "bold"), row[number]) for number in layout.columns
        )
        for row in rows
    ]
    return Text("\n\n").join(shown)


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
