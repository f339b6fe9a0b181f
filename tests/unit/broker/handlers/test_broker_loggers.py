"""Levels of loggers as configs; each code is what Apache Kafka 4.3 answered to the same change."""

import io
import json
from collections.abc import Iterator

import pytest

from odradek.broker.handlers.broker_loggers import change_loggers, level_of_root
from odradek.broker.runtime import logging
from odradek.config.alter import AlterConfigOp, ConfigChange
from odradek.protocol.errors import ErrorCode, KafkaError

SET, DELETE, APPEND, SUBTRACT = AlterConfigOp
NODE = 1


@pytest.fixture(autouse=True)
def _restore_defaults() -> Iterator[None]:
    yield
    logging.configure_logging()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (ConfigChange("no.such.logger", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("no.such.logger", DELETE, None), ErrorCode.INVALID_CONFIG),
        (ConfigChange("root", SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("root", SET, "info"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        (ConfigChange("root", APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        (ConfigChange("root", SUBTRACT, "INFO"), ErrorCode.INVALID_REQUEST),
        (ConfigChange("root", 9, "INFO"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_change_that_cannot_be_done_changes_nothing(change: ConfigChange, code: ErrorCode) -> None:
    """Whatever stands beside it."""
    with pytest.raises(KafkaError) as refused:
        change_loggers("1", [ConfigChange("root", SET, "DEBUG"), change], NODE)
    assert refused.value.code is code
    assert level_of_root() == "INFO"


@pytest.mark.parametrize("node", ["", "9", "x"])
def test_loggers_are_those_of_this_node(node: str) -> None:
    """INVALID_REQUEST for another, even where nothing is asked of it."""
    with pytest.raises(KafkaError) as refused:
        change_loggers(node, [], NODE)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_no_change_and_validation_alone_leave_the_level() -> None:
    """Both are answered without an error."""
    change_loggers("1", [], NODE)
    change_loggers("1", [ConfigChange("root", SET, "ERROR")], NODE, validate_only=True)
    assert level_of_root() == "INFO"


@pytest.mark.parametrize(
    ("level", "shown", "written"),
    [
        ("TRACE", "DEBUG", ["a", "b", "c", "d"]),
        ("DEBUG", "DEBUG", ["a", "b", "c", "d"]),
        ("INFO", "INFO", ["b", "c", "d"]),
        ("WARN", "WARN", ["c", "d"]),
        ("ERROR", "ERROR", ["d"]),
        ("FATAL", "ERROR", ["d"]),
    ],
)
def test_level_counts_at_once(level: str, shown: str, written: list[str]) -> None:
    """For every module of the broker; levels that there are not here are the nearest that there are."""
    stream = io.StringIO()
    logging.configure_logging(stream=stream)
    change_loggers("1", [ConfigChange("root", SET, level)], NODE)
    assert level_of_root() == shown
    logger = logging.get_logger("broker")
    for method, event in ((logger.debug, "a"), (logger.info, "b"), (logger.warning, "c"), (logger.error, "d")):
        method(event)
    events = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert [event for event in events if len(event) == 1] == written
