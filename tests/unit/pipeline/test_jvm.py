"""What is said when the JVM of Spark is gone."""

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext

from odradek.pipeline.jvm import JvmGoneError, jvm_errors


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of the JVM, which ends when its input does."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as jvm:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
        yield jvm


def test_a_jvm_that_was_killed_is_told_in_a_sentence(process: subprocess.Popen[bytes]) -> None:
    """Whatever comes of its end, the reason is that it ended."""
    process.kill()
    for failed in (
        Py4JNetworkError("x"),
        Py4JError("x"),
        ConnectionRefusedError("x"),
        RuntimeError("stopped SparkContext"),
    ):
        with pytest.raises(JvmGoneError, match="has ended by signal 9"), jvm_errors():
            raise failed


def test_errors_of_a_jvm_that_runs_stay_what_they_are(process: subprocess.Popen[bytes]) -> None:
    """Nothing is laid on it."""
    with pytest.raises(KeyError), jvm_errors():
        raise KeyError
