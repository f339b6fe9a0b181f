"""A `pipeline.store.Store` in memory that crashes when told to, and lets others run between any two of its steps."""

from __future__ import annotations

from collections.abc import Callable


class Crash(BaseException):
    """The process is gone. Not an Exception, so that nothing takes it for a failed operation."""


def nothing() -> None:
    """What happens between two steps, where nothing does."""


class MemoryStore:
    """Files by their paths, one process' view of them.

    Raises Crash before the k-th change (counted from 0) and in each one that follows. `between` is called before each
    operation, also those that only look. With `copies` a file is renamed as in S3: copied, then removed.
    """

    def __init__(
        self,
        contents: dict[str, bytes] | None = None,
        crash_at: int | None = None,
        between: Callable[[], None] = nothing,
        copies: bool = False,
    ) -> None:
        self.contents = contents if contents is not None else {}
        self._left = crash_at
        self._between = between
        self._copies = copies

    def read(self, path: str) -> bytes | None:
        self._between()
        return self.contents.get(path)

    def create(self, path: str, data: bytes) -> bool:
        self._between()
        if path in self.contents:
            return False
        self._change()
        self.contents[path] = data
        return True

    def exists(self, path: str) -> bool:
        self._between()
        return path in self.contents or any(name.startswith(f"{path}/") for name in self.contents)

    def files(self, path: str) -> list[str]:
        self._between()
        return sorted(name[len(path) + 1 :] for name in self.contents if name.startswith(f"{path}/"))

    def rename(self, source: str, target: str) -> bool:
        self._between()
        if source not in self.contents:
            return False
        assert self.contents.get(target) in (None, self.contents[source]), f"{target} is another file"
        self._change()
        self.contents[target] = self.contents[source]
        if self._copies:
            self._between()
            self._change()
        self.contents.pop(source, None)
        return True

    def remove(self, path: str) -> None:
        for name in [name for name in self.contents if name == path or name.startswith(f"{path}/")]:
            self._between()
            self._change()
            self.contents.pop(name, None)

    def _change(self) -> None:
        if self._left is not None:
            if self._left <= 0:
                raise Crash
            self._left -= 1
