"""One sentence for a person, out of what Spark says."""

import pytest

from odradek.pipeline.errors import SHOWN_CHARACTERS, sentence

CHAINED = """Traceback (most recent call last):
ConnectionRefusedError: [Errno 111] Connection refused
During handling of the above exception, another exception occurred:
pyspark_odradek.errors.ClusterError: no connection to the broker at a:1
UnboundLocalError: cannot access local variable 'reader'
"""
FROM_A_TASK = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted SQLSTATE: XXKST
Traceback (most recent call last):
  File "a.py", line 1, in read
    raise UnknownTopicError("x")
pyspark_odradek.errors.UnknownTopicError: there is no topic x; create it first
SQLSTATE: 38000
py4j.Py4JException: An exception was raised by the Python Proxy."""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CHAINED, "no connection to the broker at a:1"),
        (FROM_A_TASK, "there is no topic x; create it first"),
        ("[UNRESOLVED.X] No column `y`. SQLSTATE: 42703; line 1 pos 0;\n'Filter ('y = 1)\n+- a plan", "No column `y`"),
        ("java.io.IOException: Mkdirs failed\n\tat org.apache.X.y(X.scala:1)", "Mkdirs failed"),
        ("", "RuntimeError"),
    ],
)
def test_the_sentence_is_found(text: str, told: str) -> None:
    """The message of an error in Python wins; else it is the first line, without classes, states and plans."""
    assert sentence(RuntimeError(text)) == told


def test_a_long_sentence_is_cut() -> None:
    """What is shown has a bound."""
    assert len(sentence(RuntimeError("x" * 10_000))) == SHOWN_CHARACTERS + 1


def test_a_query_is_not_named_by_its_number() -> None:
    """Which query it was a person knows; that a worker was too slow has another reason than Spark names."""
    query = "Query archive [id = 4747f6cc, runId = 1148b4d2] terminated with exception: "
    assert sentence(Exception(f"{query}the disk is full")) == "the disk is full"
    assert "too much to do" in sentence(Exception(f"{query}Python worker failed to connect back"))
    unnamed = "[STREAM_FAILED] Query [id = 4, runId = 5] terminated with exception: the disk is full SQLSTATE: XXKST"
    assert sentence(Exception(unnamed)) == "the disk is full"
