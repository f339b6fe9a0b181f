"""What a module logs, kept for a test to look at."""

from dataclasses import dataclass, field
from typing import NamedTuple


class LogLine(NamedTuple):
    """One line."""

    level: str
    event: str
    fields: dict[str, object]


@dataclass
class LogLines:
    """Stands in for a module's logger."""

    lines: list[LogLine] = field(default_factory=list)

    def info(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(LogLine("info", event, fields))

    def warning(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(LogLine("warning", event, fields))

    def error(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(LogLine("error", event, fields))

    def exception(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(LogLine("error", event, fields))
