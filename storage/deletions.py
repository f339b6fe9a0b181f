"""Files and directories that are out of use and wait for their removal.

Kafka renames first (`.deleted`, `-delete`) and removes after a delay, so that readers that go by the name are not
surprised, and an operator has a minute to regret. Here readers hold open files; the delay is kept for the operator.
There is no clock in here: a delay begins when a scheduler asks for the first time what is due.
"""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.storage.files import FileSystem


class Doomed(NamedTuple):
    """A path to be removed."""

    path: str
    is_directory: bool


class PendingDeletions:
    """Paths to be removed, each when its time has come. What a crash leaves behind is found by its suffix later."""

    __slots__ = ("_added", "_fs", "_waiting")

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs
        self._added: list[tuple[Doomed, int]] = []
        self._waiting: list[tuple[Doomed, int]] = []  # with the time from which on it is due

    def __len__(self) -> int:
        return len(self._added) + len(self._waiting)

    def add_file(self, path: str, delay_ms: int) -> None:
        """Remove the file `delay_ms` after the next call of `take_due`, or later."""
        self._added.append((Doomed(path, False), delay_ms))

    def add_directory(self, path: str, delay_ms: int) -> None:
        """Remove the directory and all that is in it `delay_ms` after the next call of `take_due`, or later."""
        self._added.append((Doomed(path, True), delay_ms))

    def forget(self, directory: str) -> None:
        """Leave what is below a directory, which has failed, to the next start."""
        below = f"{directory}/"
        self._added = [added for added in self._added if not added[0].path.startswith(below)]
        self._waiting = [waiting for waiting in self._waiting if not waiting[0].path.startswith(below)]

    def moved(self, directory: str, target: str) -> None:
        """Find what is below a directory that has been renamed under its new name."""

        def follow(waiting: tuple[Doomed, int]) -> tuple[Doomed, int]:
            doomed, time_ms = waiting
            if not doomed.path.startswith(f"{directory}/"):
                return waiting
            return doomed._replace(path=target + doomed.path.removeprefix(directory)), time_ms

        self._added = list(map(follow, self._added))
        self._waiting = list(map(follow, self._waiting))

    def take_due(self, now_ms: int) -> list[Doomed]:
        """Take out the paths that are due, to be given to `remove`."""
        added, self._added = self._added, []
        self._waiting += [(doomed, now_ms + delay_ms) for doomed, delay_ms in added]
        due = [doomed for doomed, due_ms in self._waiting if due_ms <= now_ms]
        if due:
            self._waiting = [waiting for waiting in self._waiting if waiting[1] > now_ms]
        return due

    def remove(self, due: Iterable[Doomed]) -> None:
        """Remove files and directories, which need not exist; any thread may do so.

        What cannot be removed keeps nothing else from it, and is due again with the next look. Raises OSError for the
        first of them once all were tried.
        """
        problem: OSError | None = None
        for doomed in due:
            try:
                if doomed.is_directory:
                    self._fs.rmtree(doomed.path)
                else:
                    self._fs.unlink(doomed.path)
            except OSError as error:
                problem = problem or error
                self._added.append((doomed, 0))  # an append is safe from any thread; the owner takes it from there
        if problem is not None:
            raise problem
