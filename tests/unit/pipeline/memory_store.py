"""A `pipeline.store.Store` in memory that crashes when told to."""

from __future__ import annotations


class Crash(BaseException):
    """The process is gone. Not an Exception, so that nothing takes it for a failed operation."""


class MemoryStore:
    """Files by their paths; raises Crash before the k-th change (counted from 0) and in each one that follows."""

    def __init__(self, contents: dict[str, bytes] | None = None, crash_at: int | None = None) -> None:
        self.contents = contents if contents is not None else {}
        self._left = crash_at

    def read(self, path: str) -> bytes | None:
        return self.contents.get(path)

    def create(self, path: str, data: bytes) -> bool:
        if path in self.contents:
            return False
        self._change()
        self.contents[path] = data
        return True

    def exists(self, path: str) -> bool:
        return path in self.contents or any(name.startswith(f"{path}/") for name in self.contents)

    def files(self, path: str) -> list[str]:
        return sorted(name[len(path) + 1 :] for name in self.contents if name.startswith(f"{path}/"))

    def rename(self, source: str, target: str) -> None:
        assert target not in self.contents, f"{target} is there already"
        self._change()
        self.contents[target] = self.contents.pop(source)

    def remove(self, path: str) -> None:
        for name in [name for name in self.contents if name == path or name.startswith(f"{path}/")]:
            self._change()
            del self.contents[name]

    def _change(self) -> None:
        if self._left is not None:
            if self._left <= 0:
                raise Crash
            self._left -= 1
