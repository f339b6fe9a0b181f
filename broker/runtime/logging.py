"""Log lines of the broker: one per event in the life of the process or of a connection, never one per request at info.

Owns: the format (console on a terminal, JSON otherwise), the level, and the loggers that modules hold. Must not know:
what is logged.

Start-up time decides the shape: structlog is imported when the first line is written, not when a module asks for a
logger, and without rich, which it would load for tracebacks that nobody sees in a service's log and which costs
several times as much as the rest of structlog.
"""

import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import structlog

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""Level names that `configure_logging` takes, least important first."""

_DEBUG, _INFO, _WARNING, _ERROR = LEVELS.values()


class Logger:
    """A named source of log lines; cheap to make, cheap to call below the level in force."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def debug(self, event: str, **fields: object) -> None:
        """Log what only somebody who searches for a fault wants to see."""
        if _output.level <= _DEBUG:
            _output.write("debug", self.name, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """Log an event in the life of the process."""
        if _output.level <= _INFO:
            _output.write("info", self.name, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log what an operator may have to look at."""
        if _output.level <= _WARNING:
            _output.write("warning", self.name, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log a failure that was contained; `exc_info` may carry the exception."""
        _output.write("error", self.name, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """Log a failure together with the exception being handled."""
        _output.write("error", self.name, event, {"exc_info": True, **fields})


class _Output:
    """Where lines go. Built in two steps, so that choosing the format at start does not import structlog."""

    __slots__ = ("_sink", "as_json", "level", "stream")

    def __init__(self, level: int, stream: TextIO | None, as_json: bool | None) -> None:
        self.level = level
        self.stream = stream
        self.as_json = as_json
        self._sink: structlog.typing.FilteringBoundLogger | None = None

    def write(self, method: str, name: str, event: str, fields: dict[str, object]) -> None:
        """Write one line; a log that cannot be written (reader gone, disk full) must not stop the broker."""
        stream = self.stream or sys.stderr
        if stream.closed:
            return
        if self._sink is None:
            self._sink = _build_sink(stream, not stream.isatty() if self.as_json is None else self.as_json)
        try:
            getattr(self._sink, method)(event, logger=name, **fields)
        except OSError:
            return


_output = _Output(_INFO, None, None)


def configure_logging(level: str = "info", stream: TextIO | None = None, as_json: bool | None = None) -> None:
    """Choose level and format for the whole process.

    `stream` is standard error unless given; `as_json` follows the stream unless given: console style on a terminal,
    JSON otherwise.
    Raises ValueError for a level that is not in `LEVELS`.
    """
    global _output  # noqa: PLW0603 -- the log of a process is process-wide by nature
    if level not in LEVELS:
        raise ValueError(f"log level {level!r} is not one of {', '.join(LEVELS)}")
    _output = _Output(LEVELS[level], stream, as_json)


def set_level(level: str) -> None:
    """Write only lines of this level and above from now on; raises KeyError for one that is not in `LEVELS`."""
    _output.level = LEVELS[level]


def current_level() -> str:
    """Return the name of the level in force."""
    return next(name for name, number in LEVELS.items() if number == _output.level)


def get_logger(name: str) -> Logger:
    """Return the logger of one part of the broker; imports and configures nothing."""
    return Logger(name)


def _build_sink(stream: TextIO, as_json: bool) -> "structlog.typing.FilteringBoundLogger":
    without_rich = "rich" not in sys.modules
    if without_rich:
        sys.modules["rich"] = None  # type: ignore[assignment]  # None makes `import rich` fail at once, which structlog handles
    try:
        import structlog
        from structlog import dev, processors
    finally:
        if without_rich:
            del sys.modules["rich"]
    chain: list[structlog.typing.Processor] = [processors.add_log_level]
    if as_json:
        chain += [
            processors.TimeStamper("iso", utc=True),
            processors.format_exc_info,
            processors.JSONRenderer(default=str),
        ]
    else:
        console = dev.ConsoleRenderer(
            colors=stream.isatty(), pad_event_to=40, sort_keys=False, exception_formatter=dev.plain_traceback
        )
        chain += [processors.TimeStamper("%Y-%m-%d %H:%M:%S.%f", utc=False), _escape_control_characters, console]
    logger: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=chain,
        wrapper_class=structlog.make_filtering_bound_logger(0),  # the level was checked before the call
    )
    return logger


def _escape_control_characters(
    _logger: object, _method: str, fields: MutableMapping[str, object]
) -> MutableMapping[str, object]:
    """Keep what a client calls itself from moving the cursor or breaking lines in the operator's terminal."""
    for key, value in fields.items():
        if isinstance(value, str) and key != "exception" and not value.isprintable():
            fields[key] = value.encode("unicode_escape").decode("ascii")
    return fields
