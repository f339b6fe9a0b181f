"""Log lines of the broker: one per event in the life of the process or of a connection, never one per request at info.

Owns: the format (console on a terminal, JSON otherwise), the level, and the loggers that modules hold. Must not know:
what is logged.

Start-up time decides the shape: JSON lines are made here, of the standard library, since importing structlog costs a
tenth of the time to the first answer. Lines for people are structlog's, imported when the first of them is written, and
without rich, which it would load for tracebacks and which costs several times as much as the rest of it.
"""

import sys
import time
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    pass

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


Sink = Callable[[str, str, str, dict[str, object]], None]
"""Writes a line: level, logger, event, fields. Raises OSError where it cannot."""


class _Output:
    """Where lines go. Built in two steps, so that choosing the format at start imports nothing."""

    __slots__ = ("_sink", "as_json", "level", "stream")

    def __init__(self, level: int, stream: TextIO | None, as_json: bool | None) -> None:
        self.level = level
        self.stream = stream
        self.as_json = as_json
        self._sink: Sink | None = None

    def write(self, method: str, name: str, event: str, fields: dict[str, object]) -> None:
        """Write one line; a log that cannot be written (reader gone, disk full) must not stop the broker."""
        stream = self.stream or sys.stderr
        if stream.closed:
            return
        if self._sink is None:
            as_json = not stream.isatty() if self.as_json is None else self.as_json
            self._sink = _json_sink(stream) if as_json else _console_sink(stream)
        try:
            self._sink(method, name, event, fields)
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


def _json_sink(stream: TextIO) -> Sink:
    import json

    def write(level: str, name: str, event: str, fields: dict[str, object]) -> None:
        entry = {"logger": name, **fields}
        failed = entry.pop("exc_info", None)
        entry |= {"event": event, "level": level, "timestamp": _utc_now()}
        if failed:
            entry["exception"] = _traceback(failed)
        stream.write(json.dumps(entry, default=str) + "\n")
        stream.flush()

    return write


def _utc_now() -> str:
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{nanoseconds // 1000:06d}Z"


def _traceback(failed: object) -> str:
    """The text of an exception, or of the one that is being handled."""
    import traceback

    exception = failed if isinstance(failed, BaseException) else sys.exc_info()[1]
    return "".join(traceback.format_exception(exception)).rstrip("\n")


def _console_sink(stream: TextIO) -> Sink:
    without_rich = "rich" not in sys.modules
    if without_rich:
        sys.modules["rich"] = None  # type: ignore[assignment]  # None makes `import rich` fail at once, which structlog handles
    try:
        import structlog
        from structlog import dev, processors
    finally:
        if without_rich:
            del sys.modules["rich"]
    console = dev.ConsoleRenderer(
        colors=stream.isatty(), pad_event_to=40, sort_keys=False, exception_formatter=dev.plain_traceback
    )
    logger: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=[
            processors.add_log_level,
            processors.TimeStamper("%Y-%m-%d %H:%M:%S.%f", utc=False),
            _escape_control_characters,
            console,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(0),  # the level was checked before the call
    )
    return lambda level, name, event, fields: getattr(logger, level)(event, logger=name, **fields)


def _escape_control_characters(
    _logger: object, _method: str, fields: MutableMapping[str, object]
) -> MutableMapping[str, object]:
    """Keep what a client calls itself from moving the cursor or breaking lines in the operator's terminal."""
    for key, value in fields.items():
        if isinstance(value, str) and key != "exception" and not value.isprintable():
            fields[key] = value.encode("unicode_escape").decode("ascii")
    return fields
