"""Reading a Java properties file, with the line of every entry.

The format (escapes, continuation lines, Latin-1) is javaproperties' business; this module bounds the file's size, keeps
line numbers and turns every failure into ConfigError. It knows nothing of Kafka's keys.
"""

import sys
from importlib import machinery
from types import ModuleType
from typing import NamedTuple

from odradek.config.errors import ConfigError

MAX_FILE_BYTES = 4 << 20  # Kafka's own example has 7 KB; a file beyond this is something else


class Property(NamedTuple):
    """One entry of the file; `line` is where it starts, from 1."""

    key: str
    value: str
    line: int


def read_properties(path: str) -> list[Property]:
    """Return the entries of a file in order, repeated keys included; ConfigError when it cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read the file: {error.strerror or error}", origin=path) from None
    except ValueError:
        raise ConfigError(f"cannot read the file: {path!r} is no path") from None
    return parse_properties(data, path)


def parse_properties(data: bytes, name: str) -> list[Property]:
    """Return the entries of the content of a file called `name`; ConfigError when it is no properties file."""
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"is larger than {MAX_FILE_BYTES} bytes, so it is no properties file", origin=name)
    if b"\0" in data:
        raise ConfigError("contains a zero byte, so it is no properties file", origin=name)
    reading = _reader()
    entries: list[Property] = []
    line = 1
    try:
        for element in reading.parse(data):
            if isinstance(element, reading.KeyValue):
                entries.append(Property(element.key, element.value, line))
            line += _lines_in(element.source)
    except reading.InvalidUEscapeError as error:
        raise ConfigError(f"{error}; expected \\u and four hexadecimal digits", origin=f"{name}:{line}") from None
    return entries


def _lines_in(source: str) -> int:
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    return text.count("\n") + (not text.endswith("\n"))


def _reader() -> ModuleType:
    """Return javaproperties.reading without the rest of its package.

    The package's own __init__ also imports its XML side, and with it urllib, http and email: 20 ms of a start that has
    200.
    """
    package = "javaproperties"
    if package not in sys.modules:
        spec = machinery.PathFinder.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            shell = ModuleType(package)
            shell.__path__ = list(spec.submodule_search_locations)
            sys.modules[package] = shell
            try:
                from javaproperties import reading

                return reading
            finally:
                for name in [name for name in sys.modules if name.split(".")[0] == package]:
                    del sys.modules[name]
    from javaproperties import reading

    return reading
