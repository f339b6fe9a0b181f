"""What a person sees of a running job: a line for each micro-batch, and on a terminal what happens right now."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, TextIO

from odradek.terminal.human import count_text, duration_text, plural
from odradek.terminal.output import CommandOutput

if TYPE_CHECKING:
    from odradek.pipeline.progress import BatchProgress

_TICK_S: Final = 0.5
_CLEAR: Final = "\r\x1b[K"
_WIDTH: Final = 79
_WAITING: Final = "waiting for records"


class JobDisplay:
    """Progress of one job on standard error. The line of now is only there on a terminal, and not beside JSON."""

    def __init__(
        self,
        output: CommandOutput,
        prints_results: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the output; `prints_results` says that the job writes to standard output, once it runs."""
        self._output = output
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._lively = not output.json and self._stream.isatty()
        self._silent_once_running = prints_results
        self._lock = Lock()
        self._doing = ""
        self._since = clock()
        self._last: BatchProgress | None = None

    def doing(self, what: str) -> None:
        """Say what is done from now on."""
        with self._lock:
            self._doing, self._since = what, self._clock()

    def running(self) -> None:
        """Say that the query runs."""
        self.doing("" if self._silent_once_running else _WAITING)
        self.tick()

    def working(self, number: int) -> None:
        """Say that a micro-batch is in work."""
        self.doing("" if self._silent_once_running else f"batch {number} in work")

    def finished(self, progress: BatchProgress) -> None:
        """Show a micro-batch that is finished."""
        if self._output.json:
            from odradek.pipeline.progress import as_dict

            self._output.note(json.dumps(as_dict(progress)))
            return
        lag = "" if progress.lag is None else f", {count_text(progress.lag)} behind"
        speed = f"{count_text(progress.rows_per_second)} records/s"
        rows = plural(progress.rows, "record")
        with self._lock:
            self._last, self._since = progress, self._clock()
            self._doing = "" if self._silent_once_running else _WAITING
            self._wipe()
            self._output.note(f"batch {progress.batch}: {rows} in {duration_text(progress.seconds)}, {speed}{lag}")

    def tick(self) -> None:
        """Draw the line of now again."""
        with self._lock:
            if not self._lively:
                return
            self._wipe()
            if self._doing:
                self._stream.write(self._line()[:_WIDTH])
                self._stream.flush()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Have the line drawn again and again meanwhile, and taken away afterwards."""
        if not self._lively:
            yield
            return
        ended = Event()

        def draw() -> None:
            while not ended.wait(_TICK_S):
                self.tick()

        thread = Thread(target=draw, name="job-display", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            with self._lock:
                self._wipe()

    def _line(self) -> str:
        line = f"{self._doing}, {duration_text(max(0.0, self._clock() - self._since))}"
        if self._last is None:
            return line
        behind = "" if self._last.lag is None else f", {count_text(self._last.lag)} behind"
        return f"after batch {self._last.batch} ({count_text(self._last.rows_per_second)} records/s{behind}): {line}"

    def _wipe(self) -> None:
        if self._lively:
            self._stream.write(_CLEAR)
            self._stream.flush()
