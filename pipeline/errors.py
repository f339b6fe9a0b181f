"""Errors for the person who runs a job."""

from __future__ import annotations

import re
from typing import Final

SHOWN_CHARACTERS: Final = 600


class PipelineError(Exception):
    """A job cannot start, or cannot go on: one sentence that says why and what to do."""


class WrongOptionError(PipelineError):
    """What was asked for cannot be meant."""


class SlowWorkerError(PipelineError):
    """A process of Python that Spark has started did not answer within the 10 s that Spark allows."""


_PYTHON_ERROR: Final = re.compile(r"^\s*((?:\w+\.)*)(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_OURS: Final = "pyspark_odradek."
_FRAMEWORKS: Final = ("Py4J", "PySpark", "Spark", "Streaming", "Python")
_CONDITION: Final = re.compile(r"^(?:(?:\w+\.)+\w+: )?\s*(?:\[[A-Z0-9_.]+\]\s*)*")
_SQL_STATE: Final = re.compile(r"\s*SQLSTATE: \w+\s*")
_OF_QUERY: Final = re.compile(r"^Query (?:\S+ )?\[id = [^\]]*\] terminated with exception: ")
_NO_WORKER: Final = "Python worker failed to connect back"
_PLACE_IN_SQL: Final = re.compile(r"; line \d+,? pos \d+.*|\. \(line \d+, pos \d+\)")


def sentence(error: BaseException) -> str:
    """Return the sentence for a person out of what Spark says, without stack traces, plans and names of classes.

    An error in Python reaches the driver as text inside the text of Spark: a traceback with all errors that came before
    it. What the data source itself says was meant for a person; else the last one is taken.
    """
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error)
    errors = [found for found in _PYTHON_ERROR.findall(text) if not found[1].startswith(_FRAMEWORKS)]
    if errors:
        said = ([found for found in errors if found[0].startswith(_OURS)] or errors)[-1][2]
    else:
        said = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    plain = _OF_QUERY.sub("", _PLACE_IN_SQL.sub("", _SQL_STATE.sub(" ", _CONDITION.sub("", said))))
    if plain.startswith(_NO_WORKER):
        return "a Python worker of Spark did not start within 10 s: the machine has too much to do; start again"
    return _short(plain.strip().rstrip("."))


def pipeline_error(error: BaseException) -> PipelineError:
    """Return the error for a person out of one of Spark's."""
    return (SlowWorkerError if _NO_WORKER in str(error) else PipelineError)(sentence(error))


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SHOWN_CHARACTERS else f"{plain[:SHOWN_CHARACTERS]}…"
