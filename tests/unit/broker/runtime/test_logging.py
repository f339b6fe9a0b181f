"""The broker's log lines: format, level, safety, and what they may cost at start."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from odradek.broker.runtime import logging


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class BrokenPipe(io.StringIO):
    """A stream whose reader has gone away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.fixture(autouse=True)
def _restore_defaults() -> Iterator[None]:
    yield
    logging.configure_logging()


def test_a_pipe_gets_one_json_object_per_line() -> None:
    """Away from a terminal every line is a JSON object with time, level, logger, event and the fields given."""
    stream = io.StringIO()
    logging.configure_logging(stream=stream)
    logging.get_logger("broker.network").warning("closed connection", peer="127.0.0.1:5", reason="frame\ntoo big")
    [line] = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert entry["event"] == "closed connection"
    assert (entry["level"], entry["logger"]) == ("warning", "broker.network")
    assert (entry["peer"], entry["reason"]) == ("127.0.0.1:5", "frame\ntoo big")
    assert entry["timestamp"].endswith("Z")


def test_a_terminal_gets_console_style() -> None:
    """On a terminal a line is for people: the event in words, fields as key=value, no JSON."""
    stream = Terminal()
    logging.configure_logging(stream=stream)
    logging.get_logger("broker").info("ready", port=9092)
    [line] = stream.getvalue().splitlines()
    assert "ready" in line
    assert "9092" in line
    assert not line.startswith("{")


def test_console_escapes_control_characters() -> None:
    """A client's name cannot move the operator's cursor or forge a second line."""
    stream = io.StringIO()
    logging.configure_logging(stream=stream, as_json=False)
    logging.get_logger("broker").info("hello", client_id="\x1b[2Jevil\nready")
    text = stream.getvalue()
    assert "\x1b[2J" not in text
    assert len(text.splitlines()) == 1


def test_lines_below_the_level_are_not_written() -> None:
    """The level given is the least important one that is written."""
    stream = io.StringIO()
    logging.configure_logging("warning", stream=stream)
    logger = logging.get_logger("broker")
    logger.debug("a")
    logger.info("b")
    logger.warning("c")
    logger.error("d")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["c", "d"]


def test_exception_is_part_of_the_line() -> None:
    """An exception being handled is written into the JSON object, so that one event stays one line."""
    stream = io.StringIO()
    logging.configure_logging(stream=stream)
    try:
        raise RuntimeError("no space")
    except RuntimeError:
        logging.get_logger("storage").exception("write failed", path="/data")
    [line] = stream.getvalue().splitlines()
    assert "RuntimeError: no space" in json.loads(line)["exception"]


def test_values_that_json_lacks_are_written_as_text() -> None:
    """Any value can be a field: what JSON does not know is written as its text."""
    stream = io.StringIO()
    logging.configure_logging(stream=stream)
    logging.get_logger("broker").info("x", value={1, 2}.__class__)
    assert "set" in json.loads(stream.getvalue())["value"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_log_that_cannot_be_written_is_dropped(as_json: bool) -> None:
    """A reader that went away, or a closed stream, costs lines but never an exception in the broker."""
    logging.configure_logging(stream=BrokenPipe(), as_json=as_json)
    logging.get_logger("broker").error("lost")
    closed = io.StringIO()
    closed.close()
    logging.configure_logging(stream=closed, as_json=as_json)
    logging.get_logger("broker").error("lost")


def test_unknown_level_is_refused() -> None:
    """A level outside the table is an error that lists the table."""
    with pytest.raises(ValueError, match="debug, info, warning, error"):
        logging.configure_logging("loud")


def test_imports_no_structlog_before_the_first_line_for_people_and_rich_never() -> None:
    """Getting a logger and a JSON line cost neither; a line for people imports structlog but not rich, which stays
    importable."""
    program = """
import sys
from odradek.broker.runtime import logging
logging.configure_logging("info")
logger = logging.get_logger("x")
logger.debug("nothing")
logger.info("first")
assert "structlog" not in sys.modules
logging.configure_logging("info", as_json=False)
logger.info("second")
assert "structlog" in sys.modules
assert not [name for name in sys.modules if name.split(".")[0] == "rich"]
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stderr.splitlines()[0])["event"] == "first"
