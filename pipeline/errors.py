"""Errors for the person who runs a job."""

from __future__ import annotations

import re
from typing import Final

SHOWN_CHARACTERS: Final = 600


class PipelineError(Exception):
    """A job cannot start, or cannot go on: one sentence that says why and what to do."""


class WrongOptionError(PipelineError):
    """What was asked for cannot be meant."""


_PYTHON_ERROR: Final = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception)): (.+)$")
_CONDITION: Final = re.compile(r"^\s*(?:\[[A-Z0-9_.]+\]\s*)+")
_SQL_STATE: Final = re.compile(r"\s*SQLSTATE: \w+\s*")
_STACK: Final = re.compile(r"\bTraceback \(most recent call last\)|\n\s+at [\w.$]+\(|\nJVM stacktrace|\n== SQL")


def sentence(error: BaseException) -> str:
    """Return the sentence for a person out of what Spark says, without stack traces and names of classes.

    An error in Python reaches the driver as text inside the text of Spark; its own message is the innermost one.
    """
    text = str(error)
    for line in text.splitlines():
        if found := _PYTHON_ERROR.match(line.strip()):
            name, message = found.groups()
            if not name.startswith(("Py4J", "PySpark", "Spark", "Streaming")):
                return _short(message)
    return _short(_STACK.split(text)[0] or type(error).__name__)


def _short(text: str) -> str:
    plain = " ".join(_SQL_STATE.sub(" ", _CONDITION.sub("", text)).split())
    return plain if len(plain) <= SHOWN_CHARACTERS else f"{plain[:SHOWN_CHARACTERS]}…"
