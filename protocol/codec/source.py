"""Python source under construction: indented lines, the objects they refer to, and the function they become."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class FunctionSource:
    """The source of one generated function."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._names: dict[str, object] = {}
        self._name_of: dict[object, str] = {}

    def line(self, text: str) -> None:
        """Append one line at the current indentation."""
        self._lines.append(" " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent what is added inside under a line that ends in a colon."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def provide(self, name: str, value: object) -> str:
        """Make an object known to the source under a name."""
        self._names[name] = value
        return name

    def constant(self, prefix: str, key: object, value: object) -> str:
        """Make an object known under a name of our choice; the same key gives the same name again."""
        known = self._name_of.get((prefix, key))
        if known is None:
            known = self._name_of[prefix, key] = self.provide(f"{prefix}{len(self._name_of)}", value)
        return known

    @property
    def text(self) -> str:
        """The source so far."""
        return "\n".join(self._lines) + "\n"

    def build(self, function: str, title: str) -> object:
        """Compile the source and return the function of that name; `title` stands for the file in tracebacks."""
        exec(compile(self.text, f"<{title}>", "exec"), self._names)  # noqa: S102 - made of schemas in the code
        return self._names[function]
