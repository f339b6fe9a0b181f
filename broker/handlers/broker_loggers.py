"""The broker's loggers as configs: IncrementalAlterConfigs changes their levels while it runs (KIP-412).

There is one logger, `root`. A change lasts until the next start and is no metadata. Codes follow Kafka
(`RuntimeLoggerManager`).
"""

from collections.abc import Sequence
from typing import Final

from odradek.broker.controller.configs import check_node
from odradek.broker.runtime.logging import current_level, get_logger, set_level
from odradek.config.alter import AlterConfigOp, ConfigChange
from odradek.protocol.errors import ErrorCode, KafkaError

ROOT_LOGGER: Final = "root"
_LEVELS: Final = {
    "TRACE": "debug",
    "DEBUG": "debug",
    "INFO": "info",
    "WARN": "warning",
    "ERROR": "error",
    "FATAL": "error",
}
"""Kafka's levels, and what is written at each of them here."""

logger = get_logger("configs")


def level_of_root() -> str:
    """Return the level in force, in Kafka's words."""
    level = current_level()
    return "WARN" if level == "warning" else level.upper()


def change_loggers(node: str, changes: Sequence[ConfigChange], node_id: int, *, validate_only: bool = False) -> None:
    """Set levels of the node named; raise KafkaError where it is not this one or one of the changes cannot be done."""
    check_node(node, node_id)
    for change in changes:
        _check(change)
    if not validate_only:
        for change in changes:
            set_level(_LEVELS[change.value or ""])
            logger.info("log level changed", logger_name=change.name, level=change.value)


def _check(change: ConfigChange) -> None:
    if change.operation in (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A logger has one level: APPEND and SUBTRACT are not possible.")
    if change.operation not in (AlterConfigOp.SET, AlterConfigOp.DELETE):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"There is no operation number {change.operation}.")
    if change.name != ROOT_LOGGER:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {change.name} does not exist; the only one is root.")
    if change.operation == AlterConfigOp.DELETE:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The log level of the root logger cannot be removed.")
    if change.value not in _LEVELS:
        levels = ", ".join(_LEVELS)
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{change.value} is no log level; the levels are {levels}.")
