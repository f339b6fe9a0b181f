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
_FRAMEWORKS: Final = ("Py4J", "PySpark", "Spark", "Streaming", "Python")
_CONDITION: Final = re.compile(r"^(?:(?:\w+\.)+\w+: )?\s*(?:\[[A-Z0-9_.]+\]\s*)*")
_SQL_STATE: Final = re.compile(r"\s*SQLSTATE: \w+\s*")
_PLACE_IN_SQL: Final = re.compile(r"; line \d+,? pos \d+.*|\. \(line \d+, pos \d+\)")


def sentence(error: BaseException) -> str:
    """Return the sentence for a person out of what Spark says, without stack traces, plans and names of classes.

    An error in Python reaches the driver as text inside the text of Spark; its own message is the first of such lines.
    """
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error)
    for line in text.splitlines():
        if (found := _PYTHON_ERROR.match(line.strip())) and not found[1].startswith(_FRAMEWORKS):
            return _short(found[2])
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    plain = _PLACE_IN_SQL.sub("", _SQL_STATE.sub(" ", _CONDITION.sub("", first)))
    return _short(plain.strip().rstrip("."))


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SHOWN_CHARACTERS else f"{plain[:SHOWN_CHARACTERS]}…"
